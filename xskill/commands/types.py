"""What a value on the command line is: a file that is read or written, or a number."""

from __future__ import annotations

import math

import typer


class File:
    """A file name, and what the command does with the file.

    ``input``: it is read. ``output``: the result, written atomically, so that it may replace an input. ``reference``:
    it is read too, but the result is something else, and must not replace it. ``side``: whatever else is written
    (rejects, reports); it must not be a file that the command reads or writes otherwise.
    """

    __name__ = "file"

    def __init__(self, role: str) -> None:
        self.role = role

    def __call__(self, path: str) -> str:
        return path


INPUT, REFERENCE, OUTPUT, SIDE = File("input"), File("reference"), File("output"), File("side")


def finite(value: float | None) -> float | None:
    """Callback of every option that is a number: NaN and infinities are usage errors."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value
