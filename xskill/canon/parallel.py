"""``canon -j N``: the same stream from several processes, byte for byte.

Chunks of lines (and small files, and files in which a record is more than a line, whole) go to worker processes
and come back in order, as one block of lines each: this process looks into neither. The profile of an environment
is chosen from the first record in which it comes up: a worker that meets an undecided one says so, and its chunk
is done again when everything before it has been.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from xskill.canon.actions.profile import detect_profile
from xskill.canon.actions.step_tokens import Sample
from xskill.canon.assemble import Assembler, Undecided
from xskill.canon.convert import Converter, Event, open_whole, place_of
from xskill.canon.detect import Line, Log, numbered
from xskill.canon.formats import BY_NAME
from xskill.canon.formats.format import Format
from xskill.canon.pipeline import Begin, Item, Missing, Settings, Totals, collect, read_input
from xskill.canon.reading.chunks import Chunk, chunks_of_file, chunks_of_stream
from xskill.canon.reading.episode import Place
from xskill.errors import BadRecord, NoInput, XskillError
from xskill.process.pool import Call, Pool, open_pool
from xskill.streams.source import Input, ensure_input, open_input

_SMALL = 1 << 20
"""Size of the largest file that goes whole."""
_FIRST = 1 << 16
"""Bytes of lines that are done here, so that the usual environments are decided before the others start."""


@dataclass(frozen=True, slots=True)
class Block:
    """Several trajectories at once: encoded, with newlines between them."""

    count: int
    lines: bytes


@dataclass(slots=True)
class _Batch:
    """Whole lines of one input."""

    name: str
    stem: str
    file: str | None
    format: str | None
    """null = the format that ``--map`` describes."""
    chunk: Chunk
    decided: dict[str, str]


@dataclass(slots=True)
class _Done:
    """What a worker made of a batch or a file; ``undecided`` when it has to be done again."""

    events: list[Block | BadRecord | Missing] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    notes: list[str] = field(default_factory=list)
    undecided: tuple[str, list[Sample]] | None = None


_worker: dict[str, Any] = {}
"""Settings, forced format and assembler of this worker process."""


@contextlib.contextmanager
def open_logs_parallel(
    files: Sequence[str], settings: Settings, totals: Totals, *, note: Callable[[str], None], workers: int
) -> Iterator[Iterator[Item | Block]]:
    """As :func:`xskill.canon.pipeline.read_logs`, with worker processes, which end with the ``with`` block."""
    forced = settings.forced()
    ensure_input(files)
    with open_pool(workers, partial(_start, settings)) as pool:
        yield _Stream(pool, workers, settings, totals, note).read(files or ["-"], forced)


class _Stream:
    """Calls in flight, in the order of the input."""

    def __init__(
        self, pool: Pool, workers: int, settings: Settings, totals: Totals, note: Callable[[str], None]
    ) -> None:
        self.pool = pool
        self.room = 2 * workers + 1
        self.totals = totals
        self.note = note
        self.waiting: deque[tuple[_Batch | None, Call[_Done]] | Begin] = deque()
        self.assembler = Assembler(settings.choices)

    def read(self, files: Sequence[str], forced: Format | None) -> Iterator[Item | Block]:
        for name in files:
            yield from self._input(name, forced)
            yield from self._drain(self.room)
        yield from self._drain(0)

    def _input(self, name: str, forced: Format | None) -> Iterator[Item | Block]:
        """Queue the calls of one input; what is not a file of lines, or is stdin, is read here."""
        self.totals.files += 1
        if name != "-" and os.path.isdir(name):
            self._submit_file(name, None)
            return
        source = None
        try:
            source = open_input(name, self.note)
            small = source.size is not None and source.size <= _SMALL
            if name != "-" and (small or source.container != "text"):
                source.stream.close()
                self._submit_file(name, source)
            else:
                log = open_whole(source, forced)
                if log.mode == "lines" and log.format.unit == "record":
                    yield from self._lines(log, source, forced)
                elif name != "-":
                    source.stream.close()
                    self._submit_file(name, source)
                else:
                    yield from self._drain(0)
                    yield Begin(name, source)
                    yield from self._here(log, source)
        except BadRecord as error:
            yield from self._drain(0)
            if source is None:
                yield Begin(name, None)
            yield error.at(name)
        except NoInput as error:
            yield from self._drain(0)
            yield Missing(name, error)
        except XskillError:
            yield from self._drain(0)  # what came before the error has been promised
            raise
        finally:
            if source is not None:
                source.stream.close()

    def _lines(self, log: Log, source: Input, forced: Format | None) -> Iterator[Item | Block]:
        yield from self._drain(0)
        yield Begin(source.name, source)
        place = place_of(source)
        place.tally = self.totals.tally(log.format.name)
        decided: dict[str, str] = {}
        self.assembler.decided = decided
        first = _Taken(log.lines)
        yield from Converter(self.assembler, source.name, self.totals.losses).lines(log.format, first, place)
        collect(self.assembler, self.totals)
        name = None if forced is not None and forced.name not in BY_NAME else log.format.name
        for chunk in _chunks(log, source, first.number):
            batch = _Batch(source.name, place.stem, place.file, name, chunk, decided)
            self.waiting.append((batch, self.pool.submit(_do_lines, batch)))
            yield from self._drain(self.room)
        yield from self._drain(0)

    def _here(self, log: Log, source: Input) -> Iterator[Item | Block]:
        place = place_of(source)
        place.tally = self.totals.tally(log.format.name)
        self.assembler.decided = {}
        yield from Converter(self.assembler, source.name, self.totals.losses).log(log, place)
        collect(self.assembler, self.totals)

    def _submit_file(self, name: str, source: Input | None) -> None:
        self.waiting.append(Begin(name, source))
        self.waiting.append((None, self.pool.submit(_do_file, name)))

    def _drain(self, leave: int) -> Iterator[Item | Block]:
        """Give out what finished calls returned, in order, until ``leave`` are waiting."""
        while len(self.waiting) > leave:
            first = self.waiting.popleft()
            if isinstance(first, Begin):
                yield first
                continue
            batch, running = first
            done = self.pool.result(running)
            while done.undecided is not None and batch is not None:
                key, sample = done.undecided
                if key not in batch.decided:
                    batch.decided[key] = detect_profile(key or None, sample)
                done = self.pool.result(self.pool.submit(_do_lines, batch))
            self.totals.add(done.totals)
            for text in done.notes:
                self.note(text)
            yield from done.events


class _Taken:
    """The first lines of a log; ``number`` is that of the last one."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self.number = 0

    def __iter__(self) -> Iterator[Line]:
        size = 0
        while size < _FIRST and (line := next(self._lines, None)) is not None:
            self.number, size = line[0], size + len(line[1]) + 1
            yield line


def _chunks(log: Log, source: Input, before: int) -> Iterator[Chunk]:
    if source.path is not None and log.stream is source.stream:
        return chunks_of_file(source.path, before)
    return chunks_of_stream(log.stream, before) if log.stream is not None else iter(())


def _start(settings: Settings) -> None:
    """Set up a worker process."""
    _worker["forced"] = settings.forced()
    _worker["settings"] = settings
    _worker["assembler"] = Assembler(settings.choices)


def _do_lines(batch: _Batch) -> _Done:
    done = _Done(totals=_worker["settings"].totals())
    assembler: Assembler = _worker["assembler"]
    assembler.decided, assembler.may_decide = batch.decided, False
    fmt = BY_NAME[batch.format] if batch.format is not None else _worker["forced"]
    place = Place(batch.stem, batch.file, tally=done.totals.tally(fmt.name))
    lines = numbered(io.BytesIO(batch.chunk.read()), batch.name, batch.chunk.before)
    try:
        done.events = _joined(Converter(assembler, batch.name, done.totals.losses).lines(fmt, lines, place), batch.name)
    except Undecided as error:
        collect(assembler, Totals())
        return _Done(undecided=(error.key, error.sample))
    collect(assembler, done.totals)
    return done


def _do_file(name: str) -> _Done:
    done = _Done(totals=_worker["settings"].totals())
    assembler: Assembler = _worker["assembler"]
    assembler.may_decide = True
    items = read_input(name, _worker["forced"], assembler, done.totals, done.notes.append)
    done.events = _joined((item for item in items if not isinstance(item, Begin)), name)
    collect(assembler, done.totals)
    done.totals.files = 0
    return done


def _joined(events: Iterator[Event | Missing], name: str) -> list[Block | BadRecord | Missing]:
    """The trajectories between bad records in one block each."""
    made: list[Block | BadRecord | Missing] = []
    for kind, run in groupby(_told(events, name), key=type):
        alike: list[Any] = list(run)
        made += [Block(len(alike), b"\n".join(alike))] if kind is bytes else alike
    return made


def _told(events: Iterator[Event | Missing], name: str) -> Iterator[Event | Missing]:
    try:
        yield from events
    except BadRecord as error:
        yield error.at(name)
