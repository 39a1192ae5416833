"""Trajectories → an X-Tree: coding, merging, statistics, slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.mine.mine_face import mine

__all__ = [
    "mine",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.mine.mine_face": ("mine",),
        },
    )
