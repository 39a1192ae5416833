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

from xskill.canon.accounts.conservation import Claim
from xskill.canon.accounts.totals import Totals, empty_totals
from xskill.canon.actions.profile import detect_profile
from xskill.canon.actions.step_tokens import Sample
from xskill.canon.assemble import Assembler, Undecided
from xskill.canon.canon_options import CanonOptions
from xskill.canon.convert import Converter, place_of
from xskill.canon.detect import Log, open_log
from xskill.canon.formats.format import Format
from xskill.canon.formats.table import FORMATS
from xskill.canon.inputs import STDIN, Walked, claimed
from xskill.canon.pipeline import Begin, Block, Item, Missing, read_input, read_log
from xskill.canon.reading.chunks import Chunk, chunks_of_file, chunks_of_stream
from xskill.canon.reading.episode import Place
from xskill.canon.reading.raw_lines import Line, numbered
from xskill.errors import BadRecord, NoInput, XskillError
from xskill.process.pool import Call, Pool, open_pool
from xskill.streams.source import Input, open_input

_SMALL = 1 << 20
"""Size of the largest file that goes whole."""
_FIRST = 1 << 16
"""Bytes of lines that are done here, so that the usual environments are decided before the others start."""


@dataclass(slots=True)
class _InputBatch:
    """Whole lines of one input."""

    name: str
    stem: str
    file: str | None
    format: str | None
    """null = the format that ``--from`` or ``--map`` names."""
    chunk: Chunk
    decided: dict[str, str]


@dataclass(slots=True)
class _Done:
    """What a worker made of a batch or a file; ``undecided`` when it has to be done again."""

    events: list[Item] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    notes: list[str] = field(default_factory=list)
    undecided: tuple[str, list[Sample]] | None = None


_worker: dict[str, Any] = {}
"""Options, forced format and assembler of this worker process."""


@contextlib.contextmanager
def open_items_of_workers(
    names: Sequence[str],
    forced: Format | None,
    options: CanonOptions,
    totals: Totals,
    *,
    note: Callable[[str], None],
    workers: int,
) -> Iterator[Iterator[Item]]:
    """As :func:`xskill.canon.pipeline.open_items`, with worker processes, which end with the ``with`` block."""
    with open_pool(workers, partial(_start, options)) as pool:
        yield _Stream(pool, workers, forced, options, totals, note).read(names)


class _Stream:
    """Calls in flight, in the order of the input."""

    def __init__(
        self,
        pool: Pool,
        workers: int,
        forced: Format | None,
        options: CanonOptions,
        totals: Totals,
        note: Callable[[str], None],
    ) -> None:
        self.pool = pool
        self.room = 2 * workers + 1
        self.forced = forced
        self.totals = totals
        self.note = note
        self.waiting: deque[tuple[_InputBatch | None, Call[_Done]] | Begin] = deque()
        self.assembler = Assembler(options)
        self.claim = Claim("", "")
        """Of the input whose batches of lines are in flight."""

    def read(self, names: Sequence[str]) -> Iterator[Item]:
        for name in names:
            yield from self._input(name)
            yield from self._drain(self.room)
        yield from self._drain(0)

    def _input(self, name: str) -> Iterator[Item]:
        """Queue the jobs of one input; what is not a file of lines, or is stdin, is read here."""
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
                log = (
                    claimed(source, self.forced, self.totals)
                    if isinstance(name, Walked)
                    else open_log(source, self.forced)
                )
                if log is None:
                    return
                if log.mode == "lines" and log.format.unit == "record":
                    yield from self._lines(log, source)
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

    def _lines(self, log: Log, source: Input) -> Iterator[Item]:
        yield from self._drain(0)
        yield Begin(source.name, source)
        claim = self.claim = Claim(STDIN if source.name == "-" else source.name, log.format.name)
        place = place_of(source)
        place.tally = claim.tally
        decided: dict[str, str] = {}
        self.assembler.decided = decided
        first: list[Line] = []
        lines = _first_lines(log.lines, first)
        yield from Converter(self.assembler, source.name, self.totals.losses).lines(log.format, lines, place)
        self.totals.tally(log.format.name).add(claim.tally)
        claim.add(self.assembler.counts)
        self.totals.collect(self.assembler)
        name = None if log.format is self.forced else log.format.name
        for chunk in _chunks(log, source, first[-1][0] if first else 0):
            batch = _InputBatch(source.name, place.stem, place.file, name, chunk, decided)
            self.waiting.append((batch, self.pool.submit(_do_lines, batch)))
            yield from self._drain(self.room)
        yield from self._drain(0)
        yield claim

    def _here(self, log: Log, source: Input) -> Iterator[Item]:
        self.assembler.decided = {}
        yield from read_log(log, source.name, place_of(source), self.assembler, self.totals)
        self.totals.collect(self.assembler)

    def _submit_file(self, name: str, source: Input | None) -> None:
        self.waiting.append(Begin(name, None if isinstance(name, Walked) else source))
        self.waiting.append((None, self.pool.submit(_do_file, name)))

    def _drain(self, leave: int) -> Iterator[Item]:
        """Give out finished jobs, in order, until ``leave`` are waiting."""
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
            if batch is not None:
                self.claim.add(done.totals.counts)
                self.claim.tally.add(done.totals.tally(self.claim.format))
            for text in done.notes:
                self.note(text)
            yield from done.events


def _first_lines(lines: Iterator[Line], taken: list[Line]) -> Iterator[Line]:
    """Lines of together at least :data:`_FIRST` bytes; each is put into ``taken`` as well."""
    size = 0
    while size < _FIRST and (line := next(lines, None)) is not None:
        taken.append(line)
        size += len(line[1]) + 1
        yield line


def _chunks(log: Log, source: Input, before: int) -> Iterator[Chunk]:
    if source.path is not None and log.stream is source.stream:
        return chunks_of_file(source.path, before)
    return chunks_of_stream(log.stream, before) if log.stream is not None else iter(())


def _start(options: CanonOptions) -> None:
    """Set up a worker process."""
    _worker["forced"] = options.chosen_format()
    _worker["options"] = options
    _worker["assembler"] = Assembler(options)


def _do_lines(batch: _InputBatch) -> _Done:
    done = _Done(totals=empty_totals(_worker["options"]))
    assembler: Assembler = _worker["assembler"]
    assembler.decided, assembler.may_decide = batch.decided, False
    fmt = FORMATS[batch.format] if batch.format is not None else _worker["forced"]
    place = Place(batch.stem, batch.file, tally=done.totals.tally(fmt.name))
    lines = numbered(io.BytesIO(batch.chunk.read()), batch.chunk.before)
    events = Converter(assembler, batch.name, done.totals.losses).lines(fmt, lines, place)
    try:
        done.events = _joined(events, batch.name)
    except Undecided as error:
        Totals().collect(assembler)
        return _Done(undecided=(error.key, error.sample))
    done.totals.collect(assembler)
    return done


def _do_file(name: str) -> _Done:
    done = _Done(totals=empty_totals(_worker["options"]))
    assembler: Assembler = _worker["assembler"]
    assembler.may_decide = True
    items = read_input(name, _worker["forced"], assembler, done.totals, done.notes.append)
    done.events = _joined((item for item in items if not isinstance(item, Begin)), name)
    done.totals.collect(assembler)
    done.totals.files = 0
    return done


def _joined(items: Iterator[Item], name: str) -> list[Item]:
    """The trajectories between bad records in one block each."""
    joined: list[Item] = []
    for kind, run in groupby(_with_last_error(items, name), key=type):
        alike: list[Any] = list(run)
        joined += [Block(len(alike), b"\n".join(alike))] if kind is bytes else alike
    return joined


def _with_last_error(items: Iterator[Item], name: str) -> Iterator[Item]:
    """The items; an error that ends them is the last one."""
    try:
        yield from items
    except BadRecord as error:
        yield error.at(name)
