"""The records of rollouts as they came, so that they can be written again with something added.

Lines of a plain file are not held: they are read from it a second time. What comes from a pipe or out of a compressed
file is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from xskill.errors import BadData
from xskill.records import Trajectory, convert, encode
from xskill.streams.lines import iter_lines
from xskill.streams.source import Input

CREDIT_COLUMNS = (
    "advantage",
    "values",
    "credits",
    "targets",
    "target_ratios",
    "weights",
    "residuals",
    "losses",
    "sequence_ratio",
    "skipped",
)
"""Columns of a trajectory that credit adds, and replaces when they are there."""


class FileLines:
    """Lines of a file by number, in ascending order, read when they are asked for."""

    def __init__(self, path: str, reopen: Callable[[], Input]) -> None:
        self._path = path
        self._reopen = reopen
        self._state = _state(path)
        self._input: Input | None = None
        self._lines: Iterator[tuple[int, bytes]] = iter(())
        self._at = -1

    def __getitem__(self, number: int) -> bytes:
        if number <= self._at or self._at < 0:
            if _state(self._path) != self._state:
                raise BadData(f"{self._path}: the file changed while it was read")
            self.close()
            self._input = self._reopen()
            self._lines = iter_lines(self._input)
        for at, line in self._lines:
            if at == number:
                self._at = at
                return line
        raise BadData(f"{self._path}: the file became shorter while it was read")

    def close(self) -> None:
        """Close the file until the next line is asked for."""
        if self._input is not None:
            self._input.close()
        self._input, self._at = None, -1


def _state(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


@dataclass(slots=True)
class Originals:
    """The records, in order."""

    blocks: list[Any] = field(default_factory=list)
    """One an input or a part of one: a list of lines, :class:`FileLines`, or a polars frame."""
    order: list[tuple[int, int]] = field(default_factory=list)
    """Block of each trajectory, and its place there: index, line number or row."""
    credited: set[tuple[int, int]] = field(default_factory=set)
    """Those of ``order`` whose lines hold the columns of an earlier credit run."""

    def add_block(self, block: Any) -> int:
        """Begin a block; gives its index."""
        self.blocks.append(block)
        return len(self.blocks) - 1


def original_lines(originals: Originals, *, with_credits: bool = False) -> Iterator[bytes]:
    """The trajectories as they came, in order, as lines of JSON.

    Args:
        originals: what ``read_rollouts`` kept.
        with_credits: leave the columns of an earlier credit run in place.
    """
    try:
        for place in originals.order:
            block = originals.blocks[place[0]]
            if isinstance(block, (list, FileLines)):
                line = block[place[1]]
                yield without_credits(line) if not with_credits and place in originals.credited else line
            else:
                yield _row_as_line(block.row(place[1], named=True), with_credits)
    finally:
        for block in originals.blocks:
            if isinstance(block, FileLines):
                block.close()


def _row_as_line(cells: dict[str, Any], with_credits: bool) -> bytes:
    from xskill.streams.columns import unpack

    if not with_credits:
        cells = {name: cell for name, cell in cells.items() if name not in CREDIT_COLUMNS}
    return encode(convert(unpack(cells, Trajectory), Trajectory))


def without_credits(line: bytes) -> bytes:
    """A line of JSON without the columns of an earlier credit run."""
    value = msgspec.json.decode(line)
    return msgspec.json.encode({name: field for name, field in value.items() if name not in CREDIT_COLUMNS})
