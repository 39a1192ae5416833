"""An opened input → its format and its records: the detection order that avoids mistakes.

Magic bytes, then the encoding, then the mode, then the format. A first line that is a whole JSON object
decides line mode at once, so that a pipe flows; else the first 64 lines decide; only documents are held
whole. A file's name is never looked at.
"""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, Literal

from xskill.canon.formats import FORMATS
from xskill.canon.formats.format import Format
from xskill.canon.reading.json_text import parse, parse_many
from xskill.errors import BadRecord
from xskill.streams.lines import BOM, MAX_LINE
from xskill.streams.source import Input

MAX_DOCUMENT = 1 << 29
"""Longest JSON document that is held whole, in bytes (512 MiB); lines have no such bound on their number."""

_HEAD_LINES = 64
_HEAD_TEXT = 1 << 14
_UNKNOWN = (
    "no format that xskill knows (see `xskill canon --list-formats`); name one with --from, "
    "or map your own fields with --map action=PATH"
)

Mode = Literal["lines", "document", "text"]
Line = tuple[int, bytes]


@dataclass(slots=True)
class Log:
    """An input whose mode and format are known.

    ``lines`` yields the numbered raw lines of the modes ``lines`` and ``text`` (a blank one is empty);
    ``document`` holds the bytes of a document. ``stream`` stands behind the last line that ``lines`` gave.
    """

    mode: Mode
    format: Format
    lines: Iterator[Line]
    document: bytes = b""
    stream: io.BufferedReader[Any] | None = None


def open_log(source: Input, forced: Format | None = None) -> Log:
    """Decide mode and format of a text input.

    Args:
        forced: the format that ``--from`` or ``--map`` names; then only the mode is detected.

    Raises:
        BadRecord: no format claims the input, or nothing in it can be parsed.
    """
    stream = _utf8(source)
    lines = numbered(stream, source.name)
    head: list[Line] = []
    for line in lines:
        if line[1]:
            head.append(line)
            break
    if not head:
        return Log("lines", forced or FORMATS[0], iter(()))
    if forced is not None and forced.unit == "text":
        return Log("text", forced, chain(head, lines))
    first = head[0][1]
    if first[:1] == b"{":
        value = _quiet(first)
        if isinstance(value, dict):
            return _line_mode(value, head, lines, stream, forced, source)
    if first[:1] not in (b"{", b"["):
        _refuse_binary(first, source.name)
        text = _text_format(head, lines) if forced is None else None
        if text is not None:
            return Log("text", text, chain(head, lines))
    _more(head, lines, _HEAD_LINES)
    values = [_quiet(line) for _, line in head]
    whole = sum(isinstance(value, (dict, list)) for value in values)
    filled = sum(1 for _, line in head if line)
    if filled > 1 and whole * 2 >= filled and any(isinstance(value, dict) for value in values):
        fmt = forced or _vote([value for value in values if isinstance(value, dict)], source)
        return Log("lines", fmt, chain(head, lines), stream=stream)
    if first[:1] not in (b"{", b"["):
        raise unknown_format(source.name)
    return _document_mode(head, stream, forced, source)


def read_document(raw: bytes, fmt: Format) -> Iterator[tuple[int, Any, int] | BadRecord]:
    """The records of a document, or of several that follow one another: ``(number, value, nulled numbers)``.

    A list that is not itself one record is a list of records.
    """
    number = 0
    for value, nulled in _values(raw):
        if isinstance(value, BadRecord):
            yield value
            return
        if isinstance(value, list) and not (fmt.whole and fmt.detect(value)):
            for item in value:
                number += 1
                yield number, item, nulled
                nulled = 0
        else:
            number += 1
            yield number, value, nulled


def detect_value(value: Any) -> Format | None:
    """The first format whose test holds for a parsed JSON value (of a list: for it, or for most of its items)."""
    for fmt in FORMATS:
        if fmt.unit in ("record", "stream") and fmt.detect(value):
            return fmt
    if isinstance(value, list):
        return _majority(value[:_HEAD_LINES])
    return None


def unknown_format(name: str) -> BadRecord:
    """The error for an input that no format claims."""
    return BadRecord(_UNKNOWN, file=name)


def _line_mode(
    value: dict[str, Any],
    head: list[Line],
    lines: Iterator[Line],
    stream: io.BufferedReader[Any],
    forced: Format | None,
    source: Input,
) -> Log:
    fmt = forced or detect_value(value)
    if fmt is None or (fmt.unit == "stream" and forced is None):
        _more(head, lines, _HEAD_LINES)
        values = [_quiet(line) for _, line in head]
        if all(map(_holds_nothing, values)):
            return Log("lines", FORMATS[0], iter(()))
        fmt = _vote(values, source)
    return Log("lines", fmt, chain(head, lines), stream=stream)


def _document_mode(head: list[Line], stream: BinaryIO, forced: Format | None, source: Input) -> Log:
    start = b"\n".join(line for _, line in head) + b"\n"
    raw = start + stream.read(max(0, MAX_DOCUMENT - len(start)) + 1)
    if len(raw) > MAX_DOCUMENT:
        raise BadRecord(
            f"a JSON document of more than {MAX_DOCUMENT >> 20} MiB; write one record a line", file=source.name
        )
    if forced is not None:
        return Log("document", forced, iter(()), raw)
    fmt: Format | None = None
    for value, _ in _values(raw):
        if isinstance(value, BadRecord):
            raise value.at(source.name)
        fmt = detect_value(value)
        if fmt is None and _holds_nothing(value):
            return Log("lines", FORMATS[0], iter(()))
        break
    if fmt is None:
        raise unknown_format(source.name)
    return Log("document", fmt, iter(()), raw)


def _values(raw: bytes) -> Iterator[tuple[Any, int]]:
    """The JSON values of a document; a :class:`BadRecord` stands for the rest that cannot be parsed."""
    try:
        yield parse(raw)
        return
    except BadRecord as error:
        first = error
    count = 0
    try:
        for value, nulled in parse_many(raw):
            count += 1
            yield value, nulled
    except BadRecord as error:
        yield (error if count else first), 0


def _holds_nothing(value: Any) -> bool:
    """A list of no records, as it is or under a name (``{"simulations": []}``)."""
    return value == [] or (isinstance(value, dict) and len(value) > 0 and all(item == [] for item in value.values()))


def _vote(values: Sequence[Any], source: Input) -> Format:
    fmt = _majority(values)
    if fmt is None:
        raise unknown_format(source.name)
    return fmt


def _majority(values: Sequence[Any]) -> Format | None:
    """The format that most of those values have which have one; ties go to the earlier in the table."""
    votes: Counter[str] = Counter()
    for value in values:
        if isinstance(value, (dict, list)):
            for fmt in FORMATS:
                if fmt.unit in ("record", "stream") and fmt.detect(value):
                    votes[fmt.name] += 1
                    break
    if not votes:
        return None
    most = max(votes.values())
    return next(fmt for fmt in FORMATS if votes[fmt.name] == most)


def _text_format(head: list[Line], lines: Iterator[Line]) -> Format | None:
    size = len(head[0][1])
    while size < _HEAD_TEXT:
        line = next(lines, None)
        if line is None:
            break
        head.append(line)
        size += len(line[1]) + 1
    text = b"\n".join(line for _, line in head)[:_HEAD_TEXT].decode("utf-8", "replace")
    return next((fmt for fmt in FORMATS if fmt.unit == "text" and fmt.detect(text)), None)


def _more(head: list[Line], lines: Iterator[Line], n: int) -> None:
    while len(head) < n:
        line = next(lines, None)
        if line is None:
            return
        head.append(line)


def _quiet(line: bytes) -> Any:
    try:
        return parse(line)[0]
    except BadRecord:
        return None


def numbered(stream: BinaryIO, name: str, number: int = 0) -> Iterator[Line]:
    r"""Lines without their ends, numbered from ``number`` + 1; ``\n`` alone ends a line, and a blank one is empty.

    Raises:
        BadRecord: a line longer than :data:`xskill.streams.lines.MAX_LINE`.
    """
    readline = stream.readline
    while line := readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise BadRecord(f"a line longer than {MAX_LINE >> 20} MiB", file=name, line=number)
        line = line.rstrip(b"\r\n")
        if line[:1] not in (b"{", b"["):
            if line.startswith(BOM):
                line = line[len(BOM) :]
            if line.isspace():
                line = b""
            elif line.lstrip()[:1] in (b"{", b"["):
                line = line.lstrip()
        yield number, line


def _refuse_binary(line: bytes, name: str) -> None:
    at = next((i for i, byte in enumerate(line[:1024]) if byte < 8 or 13 < byte < 27), None)
    if at is not None:
        raise BadRecord("a binary file that is no log xskill knows", file=name, byte=at)


def _utf8(source: Input) -> io.BufferedReader[Any]:
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
