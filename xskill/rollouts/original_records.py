"""The records of rollouts as they came, so that they can be written again with something added.

Lines of a plain file are not held: they are read from it a second time. What comes from a pipe or out of a compressed
file is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from xskill.errors import BadData, BadRecord
from xskill.records import Trajectory, decode
from xskill.records.trajectories import CREDIT_COLUMNS
from xskill.streams.lines import iter_lines
from xskill.streams.source import Input


class FileLines:
    """Lines of a file that are read when they are asked for."""

    def __init__(self, path: str, reopen: Callable[[], Input]) -> None:
        self._path = path
        self._reopen = reopen
        self._state = _state(path)

    def take(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """The lines with these numbers, which ascend.

        Raises:
            BadData: the file is not what it was.
        """
        if _state(self._path) != self._state:
            raise BadData(f"{self._path}: the file changed while it was read")
        source = self._reopen()
        try:
            lines = iter_lines(source)
            for number in numbers:
                for at, line in lines:
                    if at == number:
                        yield line
                        break
                else:
                    raise BadData(f"{self._path}: the file became shorter while it was read")
        finally:
            source.close()


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


def original_lines(
    originals: Originals, places: Sequence[tuple[str, int]], *, with_credits: bool = False
) -> Iterator[bytes]:
    """The trajectories as they came, in order, as lines of JSON.

    Args:
        originals: what ``read_rollouts`` kept.
        places: input and line of each trajectory.
        with_credits: leave the columns of an earlier credit run in place.

    Raises:
        BadRecord: a row of a table breaks the contract in a column that trees and credit do not read.
    """
    lines = _lines(originals, with_credits)
    for place in places:
        try:
            line = next(lines)
        except BadRecord as error:
            raise error.at(*place) from None
        yield line


def whole(line: bytes, place: tuple[str, int]) -> Trajectory:
    """A trajectory with all its fields, of which trees and credit read but some.

    Raises:
        BadRecord: it breaks the contract in one of the others.
    """
    try:
        return decode(line, Trajectory)
    except BadRecord as error:
        raise error.at(*place) from None


def _lines(originals: Originals, with_credits: bool) -> Iterator[bytes]:
    for index, places in groupby(originals.order, itemgetter(0)):
        block = originals.blocks[index]
        numbers = [number for _, number in places]
        if isinstance(block, FileLines):
            lines = block.take(numbers)
        elif isinstance(block, list):
            lines = (block[number] for number in numbers)
        else:
            lines = _rows_as_lines(block, numbers, with_credits)
        if with_credits or not originals.credited:
            yield from lines
            continue
        for number, line in zip(numbers, lines, strict=True):
            yield without_credits(line) if (index, number) in originals.credited else line


def _rows_as_lines(frame: Any, numbers: Sequence[int], with_credits: bool) -> Iterator[bytes]:
    from xskill.streams.parquet.frames import records_of

    if not with_credits:
        frame = frame.drop(CREDIT_COLUMNS, strict=False)
    for row in records_of(frame if len(numbers) == frame.height else frame[numbers], Trajectory):
        if isinstance(row, BadRecord):
            raise row
        yield row[0]


def without_credits(line: bytes) -> bytes:
    """A line of JSON without the columns of an earlier credit run."""
    value = msgspec.json.decode(line)
    return msgspec.json.encode({name: field for name, field in value.items() if name not in CREDIT_COLUMNS})
