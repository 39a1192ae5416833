"""One input, or one batch of its lines → encoded trajectories: what a worker process does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import orjson

from xskill.canon.assemble import Assembler
from xskill.canon.detect import Line, Log, detect_value, open_log, read_document, unknown_format
from xskill.canon.formats.format import Format
from xskill.canon.formats.xskill_records import NAME as OWN
from xskill.canon.loss import Loss
from xskill.canon.passthrough import pass_on, read_own
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.json_text import parse
from xskill.errors import BadRecord
from xskill.records import Trajectory, encode
from xskill.streams.source import Input

Event = bytes | BadRecord
"""An encoded trajectory, or a record that could not be read."""

to_json = msgspec.json.Encoder().encode

_NOT_A_RECORD = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError)


@dataclass(slots=True)
class Converter:
    """Reads with a format and assembles; one lives as long as its process."""

    assembler: Assembler
    name: str = "-"
    """The input as the user wrote it, for errors."""
    losses: dict[str, Loss] | None = None
    """Gets what records lose, by format; None = not measured."""

    def lines(self, fmt: Format, lines: Iterable[Line], place: Place) -> Iterator[Event]:
        """Records of lines, each on its own."""
        if self.losses is not None:
            yield from self._measured_lines(fmt, lines, place)
            return
        own = fmt.name == OWN
        suspects = self.assembler.redactor.suspects
        fast = fmt.fast() if fmt.fast is not None else None
        for number, raw in lines:
            if not raw:
                continue
            place.number = number
            try:
                if own:
                    record = read_own(raw, self.assembler, place.tally)
                    if record is not None:
                        yield encode(record)
                    continue
                clean = not suspects(raw)
                episode = fast(raw, place) if fast is not None else None
                if episode is not None:
                    if self.assembler.complete(episode, fmt.name, place, clean=clean):
                        yield to_json(episode)
                    continue
                value, nulled = parse(raw)
                place.tally.numbers += nulled
                yield from self._episodes(fmt, value, place, clean=clean)
            except BadRecord as error:
                yield error.at(self.name, number, raw=raw)

    def log(self, log: Log, place: Place) -> Iterator[Event]:
        """Everything in an input."""
        fmt = log.format
        if log.mode == "text":
            text = (line.decode("utf-8", "replace") for _, line in log.lines)
            yield from self._guarded(fmt, text, place)
        elif fmt.unit == "stream":
            values = _document_values(log.document, fmt, place) if log.mode == "document" else None
            values = values or _line_values(log.lines, place, self.name)
            yield from self._stream(fmt, values, place)
        elif log.mode == "document":
            for record in read_document(log.document, fmt):
                if isinstance(record, BadRecord):
                    yield record.at(self.name)
                    continue
                place.number, value, nulled = record
                place.tally.numbers += nulled
                yield from self.value(fmt, value, place)
        else:
            yield from self.lines(fmt, log.lines, place)

    def value(self, fmt: Format, value: Any, place: Place) -> Iterator[Event]:
        """One parsed record."""
        if self.losses is not None:
            yield from self._measured(fmt, value, self._plain().value(fmt, value, place))
            return
        if fmt.name == OWN:
            number = place.number
            for event in self.lines(fmt, [(number, orjson.dumps(value))], place):
                if isinstance(event, BadRecord):
                    event.line, event.path = None, f"[{number - 1}]" + (f".{event.path}" if event.path else "")
                yield event
            return
        try:
            yield from self._episodes(fmt, value, place)
        except BadRecord as error:
            yield _in_document(error, place).at(self.name, raw=_as_line(value))

    def table(self, rows: Iterator[dict[str, Any] | BadRecord], place: Place, forced: Format | None) -> Iterator[Event]:
        """Rows of a Parquet table."""
        fmt = forced
        if fmt is not None and fmt.unit == "stream":
            yield from self._stream(fmt, _good_rows(rows, place), place)
            return
        for number, row in enumerate(rows, 1):
            if isinstance(row, BadRecord):
                yield row
                continue
            if fmt is None:
                fmt = detect_value(row)
                if fmt is None:
                    raise unknown_format(self.name)
            place.number = number
            yield from self.value(fmt, row, place)

    def _stream(self, fmt: Format, values: Iterator[tuple[int, Any]], place: Place) -> Iterator[Event]:
        """Records that only together make episodes."""
        if self.losses is None:
            yield from self._guarded(fmt, values, place)
            return
        seen: list[Any] = []
        kept = ((number, seen.append(value) or value) for number, value in values)  # type: ignore[func-returns-value]
        yield from self._measured(fmt, seen, self._guarded(fmt, kept, place))

    def _measured_lines(self, fmt: Format, lines: Iterable[Line], place: Place) -> Iterator[Event]:
        plain = self._plain()
        for number, raw in lines:
            try:
                value = parse(raw)[0] if raw else None
            except BadRecord:
                value = None
            yield from self._measured(fmt, value, plain.lines(fmt, [(number, raw)], place))

    def _measured(self, fmt: Format, source: Any, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events on and compare them with the source that they come from."""
        assert self.losses is not None
        made: list[bytes] = []
        for event in events:
            if isinstance(event, bytes):
                made.append(event)
            yield event
        if source is not None and fmt.name != OWN:
            self.losses.setdefault(fmt.name, Loss()).compare(source, made)

    def _plain(self) -> Converter:
        """The same without measuring."""
        return Converter(self.assembler, self.name)

    def whole(self, fmt: Format, thing: Any, place: Place) -> Iterator[Event]:
        """A folder or an archive."""
        yield from self._guarded(fmt, thing, place)

    def _guarded(self, fmt: Format, given: Any, place: Place) -> Iterator[Event]:
        try:
            for event in self._episodes(fmt, given, place):
                yield from self._drain(place.bad)
                yield event
        except BadRecord as error:
            place.bad.append(error)
        yield from self._drain(place.bad)

    def _episodes(self, fmt: Format, given: Any, place: Place, *, clean: bool = False) -> Iterator[Event]:
        for episode in _read(fmt, given, place):
            try:
                if isinstance(episode, Trajectory):
                    record = pass_on(episode, self.assembler, place.tally)
                    if record is not None:
                        yield encode(record)
                elif self.assembler.complete(episode, fmt.name, place, clean=clean):
                    yield to_json(episode)
            except RecursionError:
                raise BadRecord("nested too deeply") from None

    def _drain(self, bad: list[BadRecord]) -> Iterator[Event]:
        while bad:
            yield bad.pop(0).at(self.name)


def _read(fmt: Format, given: Any, place: Place) -> Iterator[RawEpisode | Trajectory]:
    """The reader's episodes; a field of a kind that it did not expect is a bad record, not a crash."""
    try:
        yield from fmt.read(given, place)
    except _NOT_A_RECORD as error:
        if isinstance(error, RecursionError):
            raise BadRecord("nested too deeply") from None
        raise BadRecord(f"not what {fmt.name} logs hold: {type(error).__name__}: {str(error)[:200]}") from None


def place_of(source: Input) -> Place:
    """Where an input lies, without its folders: those never reach a record."""
    if source.name == "-":
        return Place(source.stem)
    path = Path(source.name)
    return Place(source.stem, path.name, path if os.path.isfile(source.name) else None)


def open_whole(source: Input, forced: Format | None) -> Log:
    """The same as :func:`open_log`, with the input's name in every error."""
    try:
        return open_log(source, forced)
    except BadRecord as error:
        raise error.at(source.name) from None


def _line_values(lines: Iterable[Line], place: Place, name: str) -> Iterator[tuple[int, Any]]:
    for number, raw in lines:
        if not raw:
            continue
        try:
            value, nulled = parse(raw)
        except BadRecord as error:
            place.bad.append(error.at(name, number, raw=raw))
            continue
        place.tally.numbers += nulled
        yield number, value


def _document_values(document: bytes, fmt: Format, place: Place) -> Iterator[tuple[int, Any]]:
    for record in read_document(document, fmt):
        if isinstance(record, BadRecord):
            place.bad.append(record)
            continue
        number, value, nulled = record
        place.tally.numbers += nulled
        yield number, value


def _good_rows(rows: Iterator[dict[str, Any] | BadRecord], place: Place) -> Iterator[tuple[int, Any]]:
    for number, row in enumerate(rows, 1):
        if isinstance(row, BadRecord):
            place.bad.append(row)
        else:
            yield number, row


def _as_line(value: Any) -> bytes | None:
    """A record of a document as a line of its own, for the rejects file."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a number or a depth that only the reader takes
        return None


def _in_document(error: BadRecord, place: Place) -> BadRecord:
    """Say which record of a document it is; a single one needs no index."""
    if place.number > 1 or error.path.startswith("["):
        error.path = f"[{place.number - 1}]" + (f".{error.path}" if error.path else "")
    return error
