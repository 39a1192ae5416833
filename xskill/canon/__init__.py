"""Raw logs → trajectories: readers, canonical actions, outcomes, redaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.canon.canon_face import read

__all__ = [
    "read",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.canon.canon_face": ("read",),
        },
    )
