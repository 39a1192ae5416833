"""Which format claims a value, the values of several lines, or the beginning of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.table import FORMATS
from xskill.canon.reading.raw_lines import Line

HEAD_LINES = 64
"""Records that are asked about."""
_HEAD_TEXT = 1 << 14


def detect_value(value: Any) -> Format | None:
    """The first format whose test holds for a parsed JSON value (of a list: for it, or for most of its items)."""
    for fmt in FORMATS.of_values():
        if fmt.detect(value):
            return fmt
    if isinstance(value, list):
        return majority(value[:HEAD_LINES])
    return None


def majority(values: Sequence[Any]) -> Format | None:
    """The format that most of those values have which have one; ties go to the earlier in the table."""
    votes: Counter[str] = Counter()
    for value in values:
        if isinstance(value, (dict, list)):
            fmt = next((fmt for fmt in FORMATS.of_values() if fmt.detect(value)), None)
            if fmt is not None:
                votes[fmt.name] += 1
    if not votes:
        return None
    most = max(votes.values())
    return next(fmt for fmt in FORMATS if votes[fmt.name] == most)


def text_format(head: list[Line], lines: Iterator[Line]) -> Format | None:
    """The text format that claims the first 16 KiB; ``head`` gets the lines that were looked at."""
    size = len(head[0][1])
    while size < _HEAD_TEXT:
        line = next(lines, None)
        if line is None:
            break
        head.append(line)
        size += len(line[1]) + 1
    text = b"\n".join(line for _, line in head)[:_HEAD_TEXT].decode("utf-8", "replace")
    return next((fmt for fmt in FORMATS.of_text() if fmt.detect(text)), None)


def holds_nothing(value: Any) -> bool:
    """A list of no records, as it is or under a name (``{"simulations": []}``)."""
    return value == [] or (isinstance(value, dict) and len(value) > 0 and all(item == [] for item in value.values()))
