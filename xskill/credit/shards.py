"""A large file of rollouts credited by several processes, with the same bytes as by one.

Questions do not touch each other, so each process takes a part of the file, cut where the question changes. This
is an optimisation of the plain case only: as soon as anything is unusual (a bad record, a question in two parts, a
system without fork) :func:`credit_in_parts` gives up, and the caller does it in one process, which also knows how
to explain errors.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

import msgspec

from xskill.credit.methods import Config, Credits, run_method
from xskill.credit.output import credited_lines, per_step
from xskill.errors import XskillError
from xskill.process.child import ChildDied, ChildProcess, may_fork, open_child
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.load import read_part
from xskill.rollouts.original_records import Originals
from xskill.streams.run import Run
from xskill.streams.source import Input

LEAST_BYTES = 32 << 20
"""Smaller files are not worth a second process."""
_LOOK = 10_000
"""Lines that are looked at to find where a question ends."""
_AHEAD = 0.1
"""What the first process does more than each other: it starts before them, and shares no memory that it must copy."""


class _Question(msgspec.Struct):
    question_id: str


@dataclass(frozen=True, slots=True)
class PartSummary:
    """What one part of the file holds, or several together."""

    config: dict[str, Any]
    stats: dict[str, Any]
    questions: list[str]
    arrays: list[str]
    """Columns that the part would write; a part without ``logprob_new`` has no residuals."""


def can_be_parted(files: list[str], config: Config) -> bool:
    """Whether the method looks at each question alone, and the input is one file that a process can enter anywhere."""
    if not may_fork() or len(files) != 1 or files[0] == "-":
        return False
    if config.across_questions:
        return False
    return os.path.isfile(files[0]) and os.path.getsize(files[0]) >= LEAST_BYTES


def credit_in_parts(
    name: str, config: Config, reward_from: Any, jobs: int, begin: Callable[[Credits], Callable[[bytes], None]]
) -> PartSummary | None:
    """Credit a file in ``jobs`` processes.

    Args:
        name: a file for which :func:`can_be_parted` holds.
        config: of the credit run.
        reward_from: see :class:`xskill.rollouts.gather.Gather`.
        jobs: processes, this one included.
        begin: gets credits whose ``stats`` are those of all parts, once all is computed; gives what writes bytes.

    Returns:
        What all parts hold together; None, with nothing written, when one process should do it.
    """
    cuts = cut(name, jobs)
    if cuts is None:
        return None
    with _workers(name, config, reward_from, cuts[1:]) as workers:
        try:
            rollouts, originals, credits = _credit(name, config, reward_from, cuts[0])
        except XskillError:
            return None
        parts = [_part_of(rollouts, credits), *(worker.part() for worker in workers)]
        merged = _merge([part for part in parts if part is not None])
        if any(part is None for part in parts) or merged is None:
            return None
        write = begin(replace(credits, stats=merged.stats))
        for line in credited_lines(rollouts, originals, credits):
            write(line)
        for worker in workers:
            worker.copy(write)
    return merged


def cut(name: str, jobs: int) -> list[tuple[int, int]] | None:
    """Byte ranges of about equal size that begin where the question changes; None when there are no such places."""
    size = os.path.getsize(name)
    starts = [0]
    with open(name, "rb") as file:
        if file.read(1) not in (b"{", b" ", b"\n"):
            return None  # compressed, Parquet, or no JSON lines
        for part in range(1, jobs):
            start = _next_question(file, max(starts[-1], int(size * (part + _AHEAD) / (jobs + _AHEAD))))
            if start is not None and start > starts[-1]:
                starts.append(start)
    return list(zip(starts, [*starts[1:], size], strict=True)) if len(starts) > 1 else None


def _next_question(file: IO[bytes], offset: int) -> int | None:
    file.seek(offset)
    file.readline()
    before: str | None = None
    for _ in range(_LOOK):
        at = file.tell()
        try:
            question = msgspec.json.decode(file.readline(), type=_Question).question_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if before is not None and question != before:
            return at
        before = question
    return None


def _credit(name: str, config: Config, reward_from: Any, span: tuple[int, int]) -> tuple[Rollouts, Originals, Credits]:
    rollouts, trie, originals = read_part(
        partial(_open_part, name, *span),
        Run("credit", quiet=True),
        reward_from=reward_from,
        hold_texts=config.needs_texts,
    )
    return rollouts, originals, run_method(rollouts, trie, config)


def _open_part(name: str, start: int, stop: int) -> Input:
    file = open(name, "rb", buffering=0)  # noqa: SIM115 - closed with the part
    return Input(name, "text", io.BufferedReader(_Span(file, start, stop), 1 << 18), None, lambda: 0, None)


class _Span(io.RawIOBase):
    """The bytes of a file from ``start`` to ``stop``."""

    def __init__(self, file: Any, start: int, stop: int) -> None:
        self._file = file
        self._left = stop - start
        file.seek(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= n
        return n

    def close(self) -> None:
        self._file.close()
        super().close()


def _work(
    _: Iterator[Any], credit: Callable[[], tuple[Rollouts, Originals, Credits]], lines: IO[bytes]
) -> Iterator[PartSummary]:
    """In a child: credit one part, say what it holds, then write its lines to a temporary file."""
    rollouts, originals, credits = credit()
    yield _part_of(rollouts, credits)
    for line in credited_lines(rollouts, originals, credits):
        lines.write(line + b"\n")
    lines.flush()


@dataclass(frozen=True, slots=True)
class _PartWorker:
    """A child that credits one part, and the temporary file to which it writes: it may not wait for its turn."""

    child: ChildProcess
    lines: IO[bytes]

    def part(self) -> PartSummary | None:
        """What the part holds; None when the child gave up."""
        try:
            part: PartSummary = next(self.child)
        except Exception:  # whatever it is, one process meets it again and explains it
            return None
        return part

    def copy(self, write: Callable[[bytes], None]) -> None:
        """Write the child's lines on, when it has finished."""
        try:
            for _ in self.child:
                pass
        except (ChildDied, OSError):
            raise XskillError("a process that wrote a part of the output failed (disk full?)") from None
        self.lines.seek(0)
        shutil.copyfileobj(self.lines, _Lines(write), 1 << 20)


class _Lines:
    """A file that hands whole blocks of lines on, the last newline left to the writer."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._rest = b""

    def write(self, block: bytes) -> None:
        whole, newline, rest = block.rpartition(b"\n")
        if newline:
            self._write(self._rest + whole)
            self._rest = rest
        else:
            self._rest += rest


@contextmanager
def _workers(name: str, config: Config, reward_from: Any, spans: list[tuple[int, int]]) -> Iterator[list[_PartWorker]]:
    """A worker for each span of the file; they end with the block."""
    with ExitStack() as stack:
        workers: list[_PartWorker] = []
        for span in spans:
            lines = stack.enter_context(tempfile.TemporaryFile(buffering=1 << 20))
            child = stack.enter_context(open_child(_work, partial(_credit, name, config, reward_from, span), lines))
            workers.append(_PartWorker(child, lines))
        yield workers


def _part_of(rollouts: Rollouts, credits: Credits) -> PartSummary:
    return PartSummary(credits.config, credits.stats, rollouts.questions, list(per_step(rollouts, credits)))


def _merge(parts: list[PartSummary]) -> PartSummary | None:
    """Sums of the counts; None when a question is in two parts, or when parts would write different columns."""
    questions = [question for part in parts for question in part.questions]
    if len(set(questions)) < len(questions) or any(part.arrays != parts[0].arrays for part in parts):
        return None
    names = list(dict.fromkeys(name for part in parts for name in part.stats))
    stats = {name: sum(part.stats.get(name, 0) for part in parts) for name in names}
    return PartSummary(parts[0].config, stats, questions, parts[0].arrays)
