"""A log whose head does not decide: its records may come after lines of another program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.reading.json_text import parse
from xskill.canon.reading.raw_lines import Line
from xskill.errors import BadRecord

MAX_BYTES = 1 << 24
MAX_LINES = 100_000
"""How far is looked: the smaller of the two."""
WINDOW = 64
"""Lines, from the first record on, of which half have to be records."""


def more_lines(head: list[Line], lines: Iterator[Line]) -> None:
    """Put further lines into ``head``, up to the bound."""
    size = sum(len(line) for _, line in head)
    while size < MAX_BYTES and len(head) < MAX_LINES and (line := next(lines, None)) is not None:
        head.append(line)
        size += len(line[1]) + 1


def first_records(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The objects in the first window of lines of which half are objects; none where there is no such window."""
    filled = [line for _, line in lines if line]
    values: list[dict[str, Any]] = []
    start = 0
    for at, line in enumerate(filled):
        if at < start or quiet(line) is None:
            continue
        window = filled[at : at + WINDOW]
        values = [value for value in map(quiet, window) if value is not None]
        if 2 * len(values) >= len(window):
            return values
        start = at + WINDOW
    return []


def quiet(line: bytes) -> dict[str, Any] | None:
    """The object that a line is."""
    if line[:1] != b"{":
        return None
    try:
        value = parse(line)[0]
    except BadRecord:
        return None
    return value if isinstance(value, dict) else None
