"""What an X-Tree is for: tiling, instances, rewards, context cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.tree.context_cards import Card
    from xskill.tree.offline_instances import score
    from xskill.tree.prompts import PromptTemplate
    from xskill.tree.skill_bonus import SkillBonus
    from xskill.tree.tree_face import context, instances, load, reward, save, tile
    from xskill.tree.xtree import XTree

__all__ = [
    "Card",
    "PromptTemplate",
    "SkillBonus",
    "XTree",
    "context",
    "instances",
    "load",
    "reward",
    "save",
    "score",
    "tile",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.tree.context_cards": ("Card",),
            "xskill.tree.offline_instances": ("score",),
            "xskill.tree.prompts": ("PromptTemplate",),
            "xskill.tree.skill_bonus": ("SkillBonus",),
            "xskill.tree.tree_face": (
                "context",
                "instances",
                "load",
                "reward",
                "save",
                "tile",
            ),
            "xskill.tree.xtree": ("XTree",),
        },
    )
