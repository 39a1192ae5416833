"""Decides whether a candidate bank may replace the current one: :func:`decide`; the rest is internal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.gate.gate_face import decide

__all__ = ["decide"]

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, {"xskill.gate.gate_face": ("decide",)})
