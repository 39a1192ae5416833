"""The validation gate: may a candidate bank replace the current one? Policies and paired statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.gate.gate_face import decide

__all__ = [
    "decide",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.gate.gate_face": ("decide",),
        },
    )
