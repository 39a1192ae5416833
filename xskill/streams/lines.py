"""Lines of a byte stream, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from xskill.errors import BadRecord
from xskill.streams.source import Input

MAX_LINE = 256 << 20
"""Longest line that is held, in bytes (256 MiB)."""

BOM = b"\xef\xbb\xbf"


def iter_lines(source: Input, *, document: bool = False) -> Iterator[tuple[int, bytes]]:
    r"""Yield ``(line number from 1, line without its end)``; blank lines are skipped, but counted.

    Lines end at ``\n`` alone (a ``\r`` before it is dropped): U+2028 and its like stay inside strings.
    A UTF-8 byte order mark in front of a line is dropped. An empty JSON list at the start holds no record.

    Args:
        source: where they are read.
        document: whether they may be those of one JSON value.

    Raises:
        BadRecord: a line longer than :data:`MAX_LINE`, bytes that are no text at all, or the lines of one JSON value.
    """
    refuse_binary(source)
    readline = source.stream.readline
    number, first = 0, True
    while line := readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise BadRecord(f"a line longer than {MAX_LINE >> 20} MiB", file=source.name, line=number)
        source.unended = line[-1] != 0x0A
        line = line.strip()
        if line.startswith(BOM):
            line = line[len(BOM) :].lstrip()
        if line and not (first and line == b"[]"):
            if first and not document and not source.unended and line in (b"{", b"["):
                raise BadRecord(_many_lines(line, source), file=source.name, line=number)
            first = False
            yield number, line


def _many_lines(first: bytes, source: Input) -> str:
    from xskill.records.names import many_lines

    return many_lines(first + source.stream.peek(1 << 16))


def refuse_binary(source: Input) -> None:
    """A binary file would only give one strange JSON error after the other.

    Raises:
        BadRecord: it is one, or text in another encoding.
    """
    if source.container == "zip":
        raise BadRecord("a ZIP archive; `xskill canon` reads those it knows", file=source.name, byte=0)
    head = source.stream.peek(1024)[:1024]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadRecord("UTF-16 text; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)", file=source.name, byte=0)
    at = next((i for i, byte in enumerate(head) if byte < 9 or 13 < byte < 27), None)
    if at is not None and not head.lstrip().startswith((b"{", b"[", BOM + b"{")):
        raise BadRecord("a binary file; expected JSON lines or Parquet", file=source.name, byte=at)
