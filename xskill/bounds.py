"""Options of Python calls: the ranges that the command line has for them too, and signatures that spell them out."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from xskill.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
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


def spelled_out(options: type, source: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Show the keywords that ``**options`` stands for in a function's signature.

    A type checker reads them from ``Unpack[options]``; help, the documentation and :func:`inspect.signature` from here.

    Args:
        options: the TypedDict that names them.
        source: the function that they are passed on to, and that has their defaults; without it, these are all None.
    """
    if source is not None:
        passed_on = inspect.signature(source).parameters
        keywords = [passed_on[name] for name in options.__annotations__]
    else:
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__)
            for name, hint in options.__annotations__.items()
        ]

    def wrap(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=[*own, *keywords])  # type: ignore[attr-defined]
        return function

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
