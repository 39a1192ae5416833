"""SkillBanks: loading and saving, the skills that a task needs, and edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.bank.bank_face import Applied, apply, load, make, save
    from xskill.bank.candidate import Outcome
    from xskill.bank.retrieval import Hit, Index, index, retrieve
    from xskill.bank.skillbank import Bank

__all__ = [
    "Applied",
    "Bank",
    "Hit",
    "Index",
    "Outcome",
    "apply",
    "index",
    "load",
    "make",
    "retrieve",
    "save",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.bank.bank_face": (
                "Applied",
                "apply",
                "load",
                "make",
                "save",
            ),
            "xskill.bank.candidate": ("Outcome",),
            "xskill.bank.retrieval": (
                "Hit",
                "Index",
                "index",
                "retrieve",
            ),
            "xskill.bank.skillbank": ("Bank",),
        },
    )
