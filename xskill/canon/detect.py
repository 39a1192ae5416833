"""An opened input → its format and its records: the detection order that avoids mistakes.

The container (text, Parquet, ZIP; a folder), then the encoding, then the mode, then the format. A first line that is a
whole JSON object decides line mode at once, so that a pipe flows; else the first 64 lines decide; only documents are
held whole. A file's name is never looked at.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

from xskill.canon.detection.claimed import HEAD_LINES, detect_value, holds_nothing, majority, text_format
from xskill.canon.detection.look_ahead import first_records, more_lines
from xskill.canon.detection.nearest import unknown_format
from xskill.canon.formats.format import Format, Unit
from xskill.canon.formats.table import FORMATS
from xskill.canon.reading.documents import NumberedValue, document_values, read_document
from xskill.canon.reading.json_text import parse
from xskill.canon.reading.raw_lines import Line, LongLine, numbered, refuse_binary, utf8_stream
from xskill.errors import BadRecord, NoInput, UsageError
from xskill.streams.source import Container, Input

MAX_DOCUMENT = 1 << 29
"""Longest JSON document that is held whole, in bytes (512 MiB); lines have no such bound on their number."""


_CONTAINERS: dict[Unit, tuple[Container, ...]] = {
    "record": ("text", "parquet"),
    "stream": ("text", "parquet"),
    "text": ("text",),
    "archive": ("zip",),
    "folder": (),
}
_KINDS: dict[Container, str] = {"text": "a file", "parquet": "a Parquet table", "zip": "a ZIP archive"}

Mode = Literal["lines", "values", "whole"]


@dataclass(slots=True)
class Log:
    """An input whose mode and format are known.

    By the mode, the records are ``lines`` (numbered raw lines; a blank one is empty), ``values`` (the parsed records of
    a document or a table, or what is wrong with one), or the reader takes the ``whole`` at once (lines of text, an
    archive, a folder). ``stream`` stands behind the last line that ``lines`` gave.
    """

    mode: Mode
    format: Format
    lines: Iterator[Line] = field(default_factory=lambda: iter(()))
    values: Iterator[NumberedValue | BadRecord] = field(default_factory=lambda: iter(()))
    whole: Any = None
    stream: io.BufferedReader[Any] | None = None
    is_claimed: bool = True
    """False of an input that holds no record: any format does."""
    counted_as: str = ""
    """Under which name the report counts what is left out, where it is not the format's."""


def open_log(source: Input, forced: Format | None = None) -> Log:
    """Decide mode and format of an input.

    Args:
        forced: the format that ``--from`` or ``--map`` names; then only the mode is detected.

    Raises:
        BadRecord: no format claims the input, or nothing in it can be parsed.
    """
    if forced is not None and source.container not in _CONTAINERS[forced.unit]:
        kind = "a folder" if forced.unit == "folder" else "a ZIP archive" if forced.unit == "archive" else "text"
        raise BadRecord(f"--from {forced.name} reads {kind}, this is {_KINDS[source.container]}", file=source.name)
    if source.container == "parquet":
        return _table(source, forced)
    if source.container == "zip":
        return _archive(source, forced)
    try:
        return _text(source, forced)
    except BadRecord as error:
        raise error.at(source.name) from None


def open_folder(name: str, forced: Format | None = None) -> Log:
    """The folder of a format that reads folders.

    Raises:
        NoInput: no format claims it.
        UsageError: the format that was asked for reads files.
    """
    path = Path(name)
    if forced is not None and forced.unit != "folder":
        raise UsageError(f"{name}: is a directory; --from {forced.name} reads files, name those in it")
    fmt = forced or next((fmt for fmt in FORMATS.of_folders() if fmt.detect(path)), None)
    if fmt is None:
        raise NoInput(f"{name}: is a directory that no format claims; name the files in it")
    return Log("whole", fmt, whole=path)


def _archive(source: Input, forced: Format | None) -> Log:
    from xskill.canon.reading.archive import open_archive

    archive = open_archive(source)
    fmt = forced or next((fmt for fmt in FORMATS.of_archives() if fmt.detect(archive)), None)
    if fmt is None:
        raise unknown_format(source.name)
    return Log("whole", fmt, whole=archive)


def _table(source: Input, forced: Format | None) -> Log:
    """The rows of a Parquet table; the first good one decides the format."""
    from xskill.canon.reading.tables import read_table

    rows: Iterator[tuple[int, Any]] = enumerate(read_table(source), 1)
    head: list[tuple[int, Any]] = []
    fmt = forced
    while fmt is None and (row := next(rows, None)) is not None:
        head.append(row)
        if not isinstance(row[1], BadRecord):
            fmt = detect_value(row[1])
            if fmt is None:
                raise unknown_format(source.name, row[1])
    values = (row if isinstance(row, BadRecord) else (number, row, 0) for number, row in chain(head, rows))
    return Log("values", fmt or _first(), values=values, counted_as="" if forced else "parquet")


def _text(source: Input, forced: Format | None) -> Log:
    stream = utf8_stream(source)
    lines = numbered(stream)
    head: list[Line] = []
    for line in lines:
        if line[1]:
            head.append(line)
            break
    if not head:
        return Log("lines", forced or _first(), is_claimed=False)
    if forced is not None and forced.unit == "text":
        return Log("whole", forced, whole=_decoded(head, lines))
    first = head[0][1]
    if first[:1] == b"{":
        value = _quiet(first)
        if isinstance(value, dict):
            return _line_mode(value, head, lines, stream, forced, source)
    if first[:1] not in (b"{", b"["):
        refuse_binary(first, source.name)
        text = text_format(head, lines) if forced is None else None
        if text is not None:
            return Log("whole", text, whole=_decoded(head, lines))
    _more(head, lines, HEAD_LINES)
    values = [_quiet(line) for _, line in head]
    whole = sum(isinstance(value, (dict, list)) for value in values)
    filled = sum(1 for _, line in head if line)
    if filled > 1 and whole * 2 >= filled and any(isinstance(value, dict) for value in values):
        fmt = forced or _vote([value for value in values if isinstance(value, dict)], source)
        return Log("lines", fmt, chain(head, lines), stream=stream)
    if first[:1] not in (b"{", b"["):
        return _far(head, lines, stream, forced, source)
    return _document_mode(head, stream, forced, source)


def _far(
    head: list[Line],
    lines: Iterator[Line],
    stream: io.BufferedReader[Any],
    forced: Format | None,
    source: Input,
) -> Log:
    """Lines whose head is neither records nor a known text: records, or a text, that begin further on."""
    more_lines(head, lines)
    records = first_records(head)
    fmt = forced or majority(records)
    if fmt is not None and (records or forced is not None):
        return Log("lines", fmt, chain(head, lines), stream=stream)
    if forced is None and not records:
        text = b"\n".join(line for _, line in head).decode("utf-8", "replace")
        fmt = next((fmt for fmt in FORMATS.of_text() if fmt.detect(text)), None)
        if fmt is not None:
            return Log("whole", fmt, whole=_decoded(head, lines))
    raise unknown_format(source.name, records)


def _first() -> Format:
    """The format of a log without a record: any will do."""
    return next(iter(FORMATS))


def _decoded(head: list[Line], lines: Iterator[Line]) -> Iterator[str]:
    for number, line in chain(head, lines):
        if isinstance(line, LongLine):
            raise line.error(number)
        yield line.decode("utf-8", "replace")


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
        _more(head, lines, HEAD_LINES)
        values = [_quiet(line) for _, line in head]
        if all(map(holds_nothing, values)):
            return Log("lines", _first(), is_claimed=False)
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
        return Log("values", forced, values=read_document(raw, forced))
    fmt: Format | None = None
    for value, _ in document_values(raw):
        if isinstance(value, BadRecord):
            return _lines_after_all(raw, value, source)
        fmt = detect_value(value)
        if fmt is None and holds_nothing(value):
            return Log("lines", _first(), is_claimed=False)
        break
    if fmt is None:
        raise unknown_format(source.name, value)
    return Log("values", fmt, values=read_document(raw, fmt))


def _lines_after_all(raw: bytes, error: BadRecord, source: Input) -> Log:
    """What began as a document and is none: lines, when records stand in them."""
    stream = io.BufferedReader(io.BytesIO(raw), 1 << 16)
    head: list[Line] = []
    lines = numbered(stream)
    more_lines(head, lines)
    fmt = majority(first_records(head))
    if fmt is None:
        raise error.at(source.name)
    return Log("lines", fmt, chain(head, lines), stream=stream)


def _vote(values: Sequence[Any], source: Input) -> Format:
    fmt = majority(values)
    if fmt is None:
        raise unknown_format(source.name, values)
    return fmt


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
