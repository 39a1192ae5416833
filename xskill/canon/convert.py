"""The records of one input, or of one batch of its lines → encoded trajectories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from xskill.canon.accounts.report import Loss
from xskill.canon.assemble import Assembler
from xskill.canon.detect import Log
from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.json_text import parse
from xskill.canon.reading.raw_lines import Line, LongLine
from xskill.errors import BadRecord
from xskill.records import Trajectory
from xskill.streams.source import Input

Event = bytes | BadRecord
"""An encoded trajectory, or a record that could not be read."""

_NOT_A_RECORD = (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError)


@dataclass(slots=True)
class Converter:
    """Reads records with their format and has them assembled."""

    assembler: Assembler
    name: str = "-"
    """The input as the user wrote it, for errors."""
    losses: dict[str, Loss] | None = None
    """Gets what records lose, by format; None = not measured."""

    def log(self, log: Log, place: Place) -> Iterator[Event]:
        """Everything in an input."""
        fmt = log.format
        if log.mode == "whole":
            yield from self._together(fmt, log.whole, place)
        elif fmt.unit == "stream":
            numbered = _parsed(log.lines, place, self.name) if log.mode == "lines" else _good(log, place)
            if not self._measures(fmt):
                yield from self._together(fmt, numbered, place)
                return
            values: list[Any] = []
            yield from self._measured(fmt, values, self._together(fmt, _noted(numbered, values), place))
        elif log.mode == "lines":
            yield from self.lines(fmt, log.lines, place)
        else:
            for record in log.values:
                if isinstance(record, BadRecord):
                    yield record.at(self.name)
                    continue
                place.number, value, nulled = record
                place.tally.numbers += nulled
                events = self._value(fmt, value, place)
                yield from self._measured(fmt, value, events) if self._measures(fmt) else events

    def lines(self, fmt: Format, lines: Iterable[Line], place: Place) -> Iterator[Event]:
        """Records of lines, each on its own."""
        if not self._measures(fmt):
            yield from self._lines(fmt, lines, place)
            return
        for line in lines:
            try:
                value = parse(line[1])[0] if line[1] else None
            except BadRecord:
                value = None
            yield from self._measured(fmt, value, self._lines(fmt, [line], place))

    def _lines(self, fmt: Format, lines: Iterable[Line], place: Place) -> Iterator[Event]:
        suspects, encoded = self.assembler.redactor.suspects, self.assembler.encoded
        fast = fmt.fast() if fmt.fast is not None else None
        for number, raw in lines:
            if not raw:
                continue
            place.number = number
            try:
                clean = not suspects(raw)
                episode = fast(raw, place) if fast is not None else None
                if episode is not None:
                    line = encoded(episode, fmt.name, place, clean=clean)
                    if line is not None:
                        yield line
                    continue
                value, nulled = parse(raw)
                place.tally.numbers += nulled
                yield from self._read(fmt, value, place, clean=clean)
            except BadRecord as error:
                yield _of_line(error, raw).at(self.name, number, raw=raw)

    def _value(self, fmt: Format, value: Any, place: Place) -> Iterator[Event]:
        """One parsed record of a document or a table."""
        try:
            yield from self._read(fmt, value, place)
        except BadRecord as error:
            if place.number > 1 or error.path.startswith("["):  # a single record needs no index
                error.path = f"[{place.number - 1}]" + (f".{error.path}" if error.path else "")
            yield error.at(self.name, raw=_as_line(value))

    def _together(self, fmt: Format, records: Any, place: Place) -> Iterator[Event]:
        """Records that only together make episodes; bad ones among them are left out by the reader."""
        try:
            for line in self._read(fmt, records, place):
                yield from self._left_out(place)
                yield line
        except BadRecord as error:
            place.bad.append(error)
        yield from self._left_out(place)

    def _left_out(self, place: Place) -> Iterator[Event]:
        while place.bad:
            yield place.bad.pop(0).at(self.name)

    def _read(self, fmt: Format, record: Any, place: Place, *, clean: bool = False) -> Iterator[bytes]:
        """What the format reads in a record (or in all of them), assembled."""
        for episode in _episodes(fmt, record, place):
            line = self.assembler.encoded(episode, fmt.name, place, clean=clean)
            if line is not None:
                yield line

    def _measures(self, fmt: Format) -> bool:
        return self.losses is not None and not fmt.passes

    def _measured(self, fmt: Format, source: Any, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events on and compare them with the source that they come from."""
        assert self.losses is not None
        lines: list[bytes] = []
        for event in events:
            if isinstance(event, bytes):
                lines.append(event)
            yield event
        if source is not None:
            self.losses.setdefault(fmt.name, Loss()).compare(source, lines)


def _episodes(fmt: Format, record: Any, place: Place) -> Iterator[RawEpisode | Trajectory]:
    """The reader's episodes; a field of a kind that it did not expect is a bad record, not a crash."""
    try:
        yield from fmt.read(record, place)
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


def _parsed(lines: Iterable[Line], place: Place, name: str) -> Iterator[tuple[int, Any]]:
    """Lines, parsed; one that cannot be is put aside."""
    for number, raw in lines:
        if not raw:
            continue
        try:
            value, nulled = parse(raw)
        except BadRecord as error:
            place.bad.append(_of_line(error, raw).at(name, number, raw=raw))
            continue
        place.tally.numbers += nulled
        yield number, value


def _of_line(error: BadRecord, raw: bytes) -> BadRecord:
    """What is wrong with a line: the beginning of one that is too long is no JSON for that reason."""
    return raw.error() if isinstance(raw, LongLine) else error


def _good(log: Log, place: Place) -> Iterator[tuple[int, Any]]:
    """The records of a document or a table; bad ones are put aside."""
    for record in log.values:
        if isinstance(record, BadRecord):
            place.bad.append(record)
            continue
        number, value, nulled = record
        place.tally.numbers += nulled
        yield number, value


def _noted(numbered: Iterator[tuple[int, Any]], values: list[Any]) -> Iterator[tuple[int, Any]]:
    """The same records, each of which is also put into ``values``."""
    for number, value in numbered:
        values.append(value)
        yield number, value


def _as_line(value: Any) -> bytes | None:
    """A record of a document as a line of its own, for the rejects file."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):  # a depth that only the reader takes
        return None
