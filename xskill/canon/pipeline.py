"""All inputs → one stream of trajectories, in order: the stage ``canon``.

:func:`convert_logs` is the entry, for the command as for Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass
from types import TracebackType

from xskill.canon.accounts.conservation import Claim
from xskill.canon.accounts.reject_limit import Limit
from xskill.canon.accounts.totals import Totals, empty_totals
from xskill.canon.assemble import Assembler
from xskill.canon.canon_options import CanonOptions, check_options
from xskill.canon.convert import Converter, Event, place_of
from xskill.canon.detect import Log, open_folder, open_log
from xskill.canon.formats.format import Format
from xskill.canon.inputs import STDIN, Walked, claimed, expanded, names_in
from xskill.canon.reading.episode import Place, SourceTally
from xskill.errors import BadData, BadRecord, NoInput, NoRecord
from xskill.records import Trajectory, decode
from xskill.streams.run import Run
from xskill.streams.source import Input, ensure_input, open_input


@dataclass(frozen=True, slots=True)
class Begin:
    """An input begins here; ``source`` is None for a folder."""

    name: str
    source: Input | None


@dataclass(frozen=True, slots=True)
class Missing:
    """An input that cannot be opened or read, or a folder that no format claims."""

    name: str
    error: NoInput


@dataclass(frozen=True, slots=True)
class Block:
    """Several trajectories at once, from a worker: encoded, with newlines between them."""

    count: int
    lines: bytes


Item = Event | Block | Begin | Missing | Claim


def convert_logs(
    paths: Sequence[str],
    *,
    format: str | None = None,
    map: str | None = None,
    profile: str | None = None,
    success_if: str | None = None,
    task_type: str | None = None,
    question_id: str | None = None,
    env: str | None = None,
    outcomes: str | None = None,
    outcomes_key: str | None = None,
    redact: str = "secrets",
    respond: bool = True,
    drop: Collection[str] = (),
    report: bool = False,
    jobs: int = 1,
    rejects: str | None = None,
    max_rejects: str | None = None,
    files_from: str | None = None,
    quiet: bool = True,
    run: Run | None = None,
) -> Conversion:
    """Turn logs into trajectories; each keyword is the command's option of that name.

    The result is used as a context manager, whose end ends the workers and writes the rejects. Nothing is read before
    its :meth:`Conversion.blocks`, or :meth:`Conversion.trajectories`, is iterated.

    Args:
        paths: names of files, and of folders of a folder format; none or ``-`` is stdin.
        respond: false leaves out messages to the user.
        report: measure what of each record is not carried over.
        jobs: worker processes; the output is the same for any number.
        rejects: file for bad records; without it the first one is raised.
        max_rejects: ``N`` or ``P%``: with more bad records than that the run ends.
        files_from: file with further names, one a line.
        quiet: no progress, no notes and no summary on stderr.
        run: counts and says what ``rejects`` and ``quiet`` would decide for a run of its own.

    Raises:
        UsageError: options that exclude one another, or a value that an option cannot take.
        BadData: the file of outcomes has none.
    """
    options = check_options(
        format=format,
        map=map,
        profile=profile,
        success_if=success_if,
        task_type=task_type,
        question_id=question_id,
        env=env,
        outcomes=outcomes,
        outcomes_key=outcomes_key,
        redact=redact,
        respond=respond,
        drop=drop,
        report=report,
    )
    names = [*paths, *names_in(files_from)] if files_from is not None else paths
    limit = Limit.parse(max_rejects) if max_rejects is not None else None
    run = Run("canon", quiet=quiet, rejects=rejects) if run is None else run
    return Conversion(names, options, jobs, run, limit)


class Conversion:
    """One run of the stage.

    Attributes:
        totals: what was counted; complete when the trajectories have been iterated over.
        run: how many records were read, kept and rejected.
    """

    def __init__(
        self, paths: Sequence[str], options: CanonOptions, jobs: int, run: Run, limit: Limit | None = None
    ) -> None:
        self.totals = empty_totals(options)
        self._paths = paths
        self._options = options
        self._jobs = jobs
        self.run = run
        self._limit = limit
        self._exits = ExitStack()
        self._items: Iterator[Item] = iter(())

    def __enter__(self) -> Conversion:
        with ExitStack() as exits:
            exits.enter_context(self.run)
            items = open_items(self._paths, self._options, self.totals, note=self.run.note, jobs=self._jobs)
            self._items = exits.enter_context(items)
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.__exit__(kind, error, trace)

    def trajectories(self) -> Iterator[Trajectory]:
        """The trajectories as records.

        Raises:
            XskillError: as :meth:`blocks`.
        """
        for block in self.blocks():
            for line in block.split(b"\n"):
                yield decode(line, Trajectory)

    def blocks(self) -> Iterator[bytes]:
        """The trajectories, encoded: one, or several with newlines between them. Counts, and keeps bad records aside.

        Raises:
            BadRecord: a record that cannot be read, when no rejects are kept.
            NoInput: an input that cannot be read, when it is the only one or no rejects are kept.
            NoRecord, BadData: no record at all, or no good one.
        """
        run = self.run
        source, before = None, 0
        claims: list[Claim] = []
        for item in self._items:
            if isinstance(item, (bytes, Block)):
                count, lines = (1, item) if isinstance(item, bytes) else (item.count, item.lines)
                run.read += count
                run.kept += count
                yield lines
                if source is not None:
                    run.progress(source)
            elif isinstance(item, BadRecord):
                run.read += 1
                item.file = STDIN if item.file == "-" else item.file
                run.bad(item)
                if self._limit is not None:
                    self._limit.check(run.rejected, run.read, item)
            elif isinstance(item, Missing):
                if not run.keeps_rejects or len(self._paths) < 2:
                    raise item.error
                run.unreadable(BadRecord(str(item.error).removeprefix(f"{item.name}: "), file=item.name))
            elif isinstance(item, Claim):
                claims.append(item)
            else:
                if source is not None:
                    run.end_input(source, run.read - before, _shown(source.name))
                source, before = item.source, run.read
                if source is not None:
                    run.start_input(source)
        if source is not None:
            run.end_input(source, run.read - before, _shown(source.name))
        if self._limit is not None:
            self._limit.check_all(run.rejected, run.read)
        self._check(claims)
        for part in self.totals.summary():
            run.set_summary(part)
        for sentence in self.totals.use.unused(self._options) if self.totals.counts.trajectories else ():
            run.note(sentence)

    def _check(self, claims: list[Claim]) -> None:
        """Say which inputs gave no step, and whether that is all there is.

        Raises:
            NoRecord, BadData: no record at all, or no good one; or content that was lost whole.
        """
        run, counts = self.run, self.totals.counts
        unclaimed = self.totals.unclaimed
        empty = [claim for claim in claims if claim.is_empty and claim.tally.skipped]
        sentences = [f"{claim.name}: no step in it: {claim.sentence()}" for claim in empty]
        if not counts.steps and self._options.respond and not run.rejected and any(c.lost_all for c in claims):
            raise BadData("; ".join(sentences))
        if not run.read and sentences:
            raise NoRecord("; ".join(f"{c.name}: no record in the input: {c.sentence()}" for c in empty))
        if not run.read and unclaimed:
            files = "the file" if unclaimed == 1 else f"any of the {unclaimed:,} files"
            raise NoRecord(f"{', '.join(self._paths)}: no format claims {files} in it")
        run.check_input()
        for claim, sentence in zip(empty, sentences, strict=True):
            if claim.lost_all:
                run.note(sentence)


def _shown(name: str) -> str:
    return STDIN if name == "-" else name


def open_items(
    paths: Sequence[str], options: CanonOptions, totals: Totals, *, note: Callable[[str], None], jobs: int = 1
) -> AbstractContextManager[Iterator[Item]]:
    """What the inputs hold, read by this process or by workers, which end with the ``with`` block.

    Raises:
        UsageError: no such format.
        TerminalInput: nothing is named and stdin is a terminal.
    """
    forced = options.chosen_format()
    ensure_input(paths)
    names = list(expanded(paths or ["-"], forced))
    if jobs == 1:
        return nullcontext(_read_here(names, forced, options, totals, note))
    from xskill.canon.parallel import open_items_of_workers

    return open_items_of_workers(names, forced, options, totals, note=note, workers=jobs)


def _read_here(
    names: Sequence[str],
    forced: Format | None,
    options: CanonOptions,
    totals: Totals,
    note: Callable[[str], None],
) -> Iterator[Item]:
    assembler = Assembler(options)
    for name in names:
        yield from read_input(name, forced, assembler, totals, note)
    totals.collect(assembler)


def read_input(
    name: str, forced: Format | None, assembler: Assembler, totals: Totals, note: Callable[[str], None]
) -> Iterator[Item]:
    """The trajectories (encoded) and bad records of one input; the profile is chosen anew for each."""
    totals.files += 1
    assembler.decided = {}
    try:
        if name != "-" and os.path.isdir(name):  # of a format that reads folders
            yield Begin(name, None)
            log = open_folder(name, forced)
            folder = log.whole.resolve()
            yield from read_log(log, name, Place(folder.name, folder.name, log.whole), assembler, totals)
            return
        with closing(open_input(name, note)) as source:
            log_ = None
            if isinstance(name, Walked):
                log_ = claimed(source, forced, totals)
                if log_ is None:
                    return
            yield Begin(name, source)
            yield from read_log(log_ or open_log(source, forced), name, place_of(source), assembler, totals)
    except BadRecord as error:
        yield error.at(name)
    except NoInput as error:
        yield Missing(name, error)


def read_log(log: Log, name: str, place: Place, assembler: Assembler, totals: Totals) -> Iterator[Item]:
    """Everything in an opened input, and at its end what was claimed and left out."""
    place.tally = SourceTally()
    counts = assembler.counts
    claim = Claim(
        STDIN if name == "-" else name,
        log.format.name,
        place.tally,
        counts.trajectories,
        counts.steps,
        counts.dropped.total(),
    )
    try:
        yield from Converter(assembler, name, totals.losses).log(log, place)
    finally:
        totals.tally(log.counted_as or log.format.name).add(place.tally)
    claim.episodes, claim.steps = counts.trajectories - claim.episodes, counts.steps - claim.steps
    claim.dropped = counts.dropped.total() - claim.dropped
    yield claim
