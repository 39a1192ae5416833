"""The bytes of an input → numbered lines of UTF-8."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from xskill.errors import BadRecord
from xskill.streams.lines import BOM, MAX_LINE
from xskill.streams.source import Input

Line = tuple[int, bytes]
"""Number (from 1), and the bytes without the line's end."""


_KEPT = 1 << 12
"""Bytes that are kept of a line that is too long, to show which it was."""


class LongLine(bytes):
    """The beginning of a line that is too long to be held."""

    def error(self, number: int | None = None) -> BadRecord:
        """What is wrong with it."""
        return BadRecord(f"a line longer than {MAX_LINE >> 20} MiB", line=number)


def numbered(stream: BinaryIO, number: int = 0) -> Iterator[Line]:
    r"""Lines without their ends, numbered from ``number`` + 1; ``\n`` alone ends a line, and a blank one is empty.

    Of a line longer than :data:`xskill.streams.lines.MAX_LINE` the beginning comes, as a :class:`LongLine`: it costs
    itself alone.
    """
    readline = stream.readline
    while line := readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            start = LongLine(line[:_KEPT])
            while line and line[-1] != 0x0A:
                line = readline(1 << 20)
            yield number, start
            continue
        line = line.rstrip(b"\r\n")
        if line[:1] not in (b"{", b"["):
            if line.startswith(BOM):
                line = line[len(BOM) :]
            if line.isspace():
                line = b""
            elif line.lstrip()[:1] in (b"{", b"["):
                line = line.lstrip()
        yield number, line


def refuse_binary(line: bytes, name: str) -> None:
    """Refuse a first line with bytes that stand in no text.

    Raises:
        BadRecord: says where the first of them is.
    """
    at = next((i for i, byte in enumerate(line[:1024]) if byte < 8 or 13 < byte < 27), None)
    if at is not None:
        raise BadRecord("a binary file that is no log xskill knows", file=name, byte=at)


def utf8_stream(source: Input) -> io.BufferedReader[Any]:
    """The stream as UTF-8: a UTF-16 byte order mark makes it decoded on the way."""
    head = source.stream.peek(2)[:2]
    if head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return io.BufferedReader(_Transcoded(source.stream), 1 << 16)
    return source.stream


class _Transcoded(io.RawIOBase):
    """UTF-16 bytes as UTF-8."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._raw.read(1 << 14)
            self._ready = self._decoder.decode(data, final=not data).encode("utf-8", "replace")
            if not data:
                break
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n
