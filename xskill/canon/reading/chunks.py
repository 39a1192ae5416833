"""An input of lines, cut into chunks of whole lines; of a plain file only the places are told."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from xskill.errors import BadRecord
from xskill.streams.lines import MAX_LINE

SIZE = 1 << 20
"""Bytes that a chunk has, about."""
_BUFFER = 1 << 18
"""Bytes that are looked at together; they fit into a core's cache."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines: themselves, or where in a file they are."""

    before: int
    """Number of lines before these."""
    lines: bytes = b""
    path: str | None = None
    offset: int = 0
    size: int = 0

    def read(self) -> bytes:
        """The lines, with their ends."""
        if self.path is None:
            return self.lines
        with open(self.path, "rb", buffering=0) as file:
            return os.pread(file.fileno(), self.size, self.offset)


def chunks_of_file(path: str, before: int) -> Iterator[Chunk]:
    """Where a file's lines are, after the first ``before``.

    Of one that is too long only the beginning is a chunk, for the reader to tell.
    """
    with open(path, "rb") as file:
        for _ in range(before):
            file.readline()
        start = whole = end = file.tell()
        lines = 0  # from start to whole
        buffer = bytearray(_BUFFER)
        while n := file.readinto(buffer):
            if ends := buffer.count(b"\n", 0, n):
                lines, whole = lines + ends, end + buffer.rfind(b"\n", 0, n) + 1
            end += n
            if lines and end - start >= SIZE:
                yield Chunk(before, path=path, offset=start, size=whole - start)
                before, start, lines = before + lines, whole, 0
            if end - start > MAX_LINE:  # and no end of a line in it
                yield Chunk(before, path=path, offset=start, size=MAX_LINE + 1)
                before, end = before + 1, _end_of_line(file, end)
                start = whole = end
        if end > start:
            yield Chunk(before, path=path, offset=start, size=end - start)


def _end_of_line(file: BinaryIO, offset: int) -> int:
    """Where the line ends in which ``offset`` is; the file stands there then."""
    file.seek(offset)
    while (piece := file.readline(SIZE)) and piece[-1] != 0x0A:
        pass
    return file.tell()


def chunks_of_stream(stream: io.BufferedReader[Any], before: int) -> Iterator[Chunk]:
    """The rest of a stream, of which ``before`` lines have been read; of a line that is too long the beginning as well.

    Raises:
        BadRecord: damaged compression, after the last line before it.
    """
    pending = bytearray()
    whole = 0  # up to there these are whole lines
    try:
        while data := stream.read1(SIZE):
            end = data.rfind(b"\n") + 1
            whole = len(pending) + end if end else whole
            pending += data
            if whole and len(pending) >= SIZE:
                lines = bytes(pending[:whole])
                yield Chunk(before, lines)
                before += lines.count(b"\n")
                del pending[:whole]
                whole = 0
            if len(pending) - whole > MAX_LINE:
                if whole:
                    yield Chunk(before, bytes(pending[:whole]))
                    before += pending.count(b"\n", 0, whole)
                yield Chunk(before, bytes(pending[whole : whole + MAX_LINE + 1]))
                pending.clear()
                before, whole = before + 1, 0
                while (piece := stream.readline(SIZE)) and piece[-1] != 0x0A:
                    pass
    except BadRecord:
        if whole:
            yield Chunk(before, bytes(pending[:whole]))
        raise
    if pending:
        yield Chunk(before, bytes(pending))
