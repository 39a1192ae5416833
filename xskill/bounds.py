"""The ranges of numeric options in Python calls: those that the command line has for the same options."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from xskill.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
Bounds = tuple[float | None, float | None]
"""Least and largest value; None is no bound."""


def bounded(**bounds: Bounds) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function refuse keyword arguments out of range, NaN and infinities included.

    >>> @bounded(top=(0, None))
    ... def best(*, top: int = 3) -> int:
    ...     return top
    >>> best(top=-1)
    Traceback (most recent call last):
    xskill.errors.UsageError: --top -1: expected at least 0

    Args:
        bounds: name of a keyword-only parameter → its range. None as a value is always allowed.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, (low, high) in bounds.items():
                _check(name, kwargs.get(name), low, high)
            return function(*args, **kwargs)

        checked.bounds = bounds  # type: ignore[attr-defined]
        return checked

    return wrap


def _check(name: str, value: Any, low: float | None, high: float | None) -> None:
    if not isinstance(value, (int, float)):
        return
    option = f"--{name.replace('_', '-')} {value:g}"
    if not math.isfinite(value):
        raise UsageError(f"{option}: expected a finite number")
    if low is not None and value < low:
        raise UsageError(f"{option}: expected at least {low:g}")
    if high is not None and value > high:
        raise UsageError(f"{option}: expected at most {high:g}")
