"""Records to stdout or, atomically, to a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

from xskill.records import Record, encode
from xskill.streams.text_out import container_of, open_lines, replacing, write_text

__all__ = ["Writer", "container_of", "open_output", "replacing", "write_text"]


class Writer(Protocol):
    """Where a command sends its records."""

    def header(self, record: Record) -> None:
        """Write the header; once, before the first record."""

    def write(self, record: Record) -> None:
        """Write one record."""

    def write_line(self, line: bytes) -> None:
        """Write one record that is already JSON (without its newline)."""


@contextlib.contextmanager
def open_output(path: str | None, *, to: str | None = None, kind: type[Record]) -> Iterator[Writer]:
    """Open the output of a command.

    A file appears only when the block ends without an error (``.gz`` and ``.zst`` compress JSON lines);
    with ``path`` None or ``-`` the records go to stdout as they come.

    Args:
        path: the ``-o`` option.
        to: the ``--to`` option.
        kind: record type; fixes the columns of Parquet.
    """
    if container_of(path, to) == "parquet":
        from xskill.streams.parquet.writer import ParquetWriter

        with ParquetWriter(None if path == "-" else path, kind) as parquet:
            yield parquet
    else:
        with open_lines(path) as write_line:
            yield _JsonLines(write_line)


class _JsonLines:
    def __init__(self, write_line: Callable[[bytes], None]) -> None:
        self.write_line = write_line

    def header(self, record: Record) -> None:
        self.write_line(encode(record))

    def write(self, record: Record) -> None:
        self.write_line(encode(record))
