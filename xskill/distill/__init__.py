"""Experience → skills: evidence, routines, lessons, edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.distill.distill_face import compare, distill, propose

__all__ = [
    "compare",
    "distill",
    "propose",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.distill.distill_face": (
                "compare",
                "distill",
                "propose",
            ),
        },
    )
