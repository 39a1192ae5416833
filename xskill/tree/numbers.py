"""Numbers as a person reads them; what is not known is a dash."""

from __future__ import annotations

UNKNOWN = "–"


def count(value: int | None) -> str:
    """``12,345``."""
    return UNKNOWN if value is None else f"{value:,}"


def percent(value: float | None) -> str:
    """``86%``; never rounded up to all, or down to none: 0.999 is ``>99%``, 0.001 ``<1%``."""
    if value is None:
        return UNKNOWN
    if 0.995 <= value < 1:
        return ">99%"
    if 0 < value < 0.005:
        return "<1%"
    return f"{value:.0%}"


def share(value: float | None) -> str:
    """``12.4%``: with a tenth, since the shares of routines are small."""
    return UNKNOWN if value is None else f"{value:.1%}"


def factor(value: float | None) -> str:
    """``1.07×``."""
    return UNKNOWN if value is None else f"{value:.2f}×"


def points(value: float | None) -> str:
    """``+12.3``: a difference of two shares, in percentage points."""
    return UNKNOWN if value is None else f"{100 * value:+.1f}"


def interval(low: float | None, high: float | None) -> str:
    """``[81%, 94%]``."""
    return UNKNOWN if low is None or high is None else f"[{percent(low)}, {percent(high)}]"


def p_value(value: float | None) -> str:
    """Three digits, or ``<0.001``."""
    if value is None:
        return UNKNOWN
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def plural(n: int, word: str) -> str:
    """``1 task type``, ``3 task types``."""
    return f"{n:,} {word}" + ("" if n == 1 else "s")
