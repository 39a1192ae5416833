"""Turn-level credit: advantages, back-up, the bounded teacher, and the baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.credit.credit_face import Credited, credit

__all__ = [
    "Credited",
    "credit",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.credit.credit_face": (
                "Credited",
                "credit",
            ),
        },
    )
