"""Rollouts in, credits out: the stage from its input files to its output.

Three ways lead to the same bytes. Parquet as our writer leaves it is read, credited and encoded in a child process,
columns at a time (:mod:`xskill.rollouts.read_apart`). A large file of JSON lines is shared among several processes
(:mod:`xskill.credit.shards`). Everything else is read record by record here, and that way alone explains what is
wrong with an input: where one of the others meets anything unusual it gives up before a byte is written.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from xskill.credit.methods import Config, Credits, run_method
from xskill.credit.output import (
    credited_lines,
    frame_bytes,
    header,
    in_blocks,
    table_frame,
    turn_lines,
    turn_rows,
    write_trajectories,
    write_turns,
)
from xskill.credit.sanity import SanityReport, check
from xskill.credit.shards import can_be_parted, credit_in_parts
from xskill.errors import XskillError
from xskill.process.child import ChildDied
from xskill.process.standard import to_stdout
from xskill.records import Trajectory, encode
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.load import read_rollouts
from xskill.rollouts.original_records import Originals
from xskill.rollouts.read_apart import Asked, open_work
from xskill.streams.run import Run
from xskill.streams.text_out import container_of, open_lines, replacing
from xskill.streams.write import open_output

if TYPE_CHECKING:
    from xskill.rollouts.read_parquet import Table

RewardFrom = Literal["reward", "success"]
_MOST_PROCESSES = 8
"""Of those that are used unasked."""


@dataclass(frozen=True, slots=True)
class Work:
    """A credit run from files to an output."""

    files: Sequence[str]
    """Empty or ``-`` is stdin."""
    config: Config
    reward_from: RewardFrom = "reward"
    per_turn: bool = False
    """One flat row a turn instead of the trajectories."""
    jobs: int | None = None
    """Processes for a large file; None is one a processor."""
    output: str | None = None
    to: str | None = None
    """``jsonl`` or ``parquet``; None goes by the ending of the output."""

    @property
    def parquet(self) -> bool:
        """Whether the output is Parquet."""
        return container_of(self.output, self.to) == "parquet"


def credit_files(work: Work, run: Run) -> None:
    """Credit the rollouts of all files and write them, in the fastest way that gives the right bytes.

    Raises:
        XskillError: see :func:`credit_rollouts`; the output cannot be written.
    """
    if not run.keeps_rejects and (_credit_table(work, run) or _credit_parts(work, run)):
        return
    rollouts, originals, credits = credit_rollouts(work, run)
    head = header(work.config, credits, reward_from=work.reward_from)
    if work.per_turn:
        write_turns(work.output, work.to, rollouts, credits, head)
    else:
        write_trajectories(work.output, work.to, rollouts, originals, credits, head)


def credit_rollouts(work: Work, run: Run) -> tuple[Rollouts, Originals, Credits]:
    """The rollouts of all files, record by record, their records as they came, and their credits.

    Raises:
        BadRecord: see :func:`xskill.rollouts.load.read_rollouts`.
        UsageError, BadData: see :func:`xskill.credit.methods.run_method`.
    """
    rollouts, trie, originals = read_rollouts(work.files, run, reward_from=work.reward_from, keep=not work.per_turn)
    credits = run_method(rollouts, trie, work.config)
    _say_counts(run, credits.stats)
    return rollouts, originals, credits


def check_files(files: Sequence[str], config: Config, reward_from: RewardFrom, run: Run) -> SanityReport:
    """Read the rollouts of all files and measure them: see :func:`xskill.credit.sanity.check`.

    Raises:
        BadRecord: see :func:`xskill.rollouts.load.read_rollouts`.
    """
    if not run.keeps_rejects:
        with open_work(partial(_check_table, config), Asked(files, reward_from)) as reports:
            if reports is not None:
                report = next(reports)
                run.read = run.kept = report.numbers["trajectories"]
                return report
    rollouts, trie, _ = read_rollouts(files, run, reward_from=reward_from)
    return check(rollouts, trie, config)


def _check_table(config: Config, table: Table) -> Iterator[SanityReport]:
    yield check(table.rollouts, table.trie, config)


def _credit_table(work: Work, run: Run) -> bool:
    """Credit Parquet files in a child; False, and nothing written, when that is not possible."""
    asked = Asked(work.files, work.reward_from, keep=not work.per_turn, hold_texts=work.config.needs_texts)
    with open_work(partial(_credited_table, work), asked) as messages:
        if messages is None:
            return False
        stats = next(messages)
        run.read = run.kept = stats["trajectories"]
        _say_counts(run, stats)
        with _open_blocks(work) as write:
            try:
                for block in messages:
                    write(block)
            except ChildDied as error:
                raise XskillError(f"the process that wrote the output {error}") from None
    return True


def _credited_table(work: Work, table: Table) -> Iterator[Any]:
    """In the child: the counts, then the output in blocks."""
    rollouts, originals = table.rollouts, table.originals
    credits = run_method(rollouts, table.trie, work.config)
    yield credits.stats
    head = header(work.config, credits, reward_from=work.reward_from)
    if work.parquet:
        yield frame_bytes(*table_frame(rollouts, originals, credits, table.actions, per_turn=work.per_turn), head)
    elif work.per_turn:
        yield from turn_lines(turn_rows(rollouts, credits, table.actions), head)
    else:
        yield encode(head)
        yield from in_blocks(credited_lines(rollouts, originals, credits))


@contextlib.contextmanager
def _open_blocks(work: Work) -> Iterator[Callable[[bytes], None]]:
    """What writes the output block by block: Parquet as it is, lines with a newline after each block."""
    if not work.parquet:
        with open_lines(work.output) as write_lines:
            yield write_lines
    elif work.output is None or work.output == "-":
        yield to_stdout
    else:
        with replacing(work.output) as target:
            yield target.write


def _credit_parts(work: Work, run: Run) -> bool:
    """Credit a large file in several processes; False, and nothing written, when that is not possible."""
    jobs = min(_MOST_PROCESSES, os.cpu_count() or 1) if work.jobs is None else work.jobs
    files = list(work.files)
    if work.per_turn or jobs < 2 or work.parquet or not can_be_parted(files, work.config):
        return False
    with contextlib.ExitStack() as stack:

        def begin(credits: Credits) -> Callable[[bytes], None]:
            out = stack.enter_context(open_output(work.output, to=work.to, kind=Trajectory))
            out.header(header(work.config, credits, reward_from=work.reward_from))
            return out.write_line

        part = credit_in_parts(files[0], work.config, work.reward_from, jobs, begin)
    if part is None:
        return False
    run.read = run.kept = part.stats["trajectories"]
    _say_counts(run, part.stats)
    return True


def _say_counts(run: Run, stats: dict[str, Any]) -> None:
    lacking = stats.get("questions_without_logprob", 0)
    if lacking:
        run.note(f"{lacking:,} branched questions lack log-probabilities: --backup likelihood is mean there")
    positive = stats.get("positive_logprobs", 0)
    if positive:
        run.note(f"{positive:,} turns have log-probabilities above 0: is their sign turned?")
    shared = stats.get("shared_question_ids", 0)
    if shared:
        run.note(f"{shared:,} question_ids stand for several environments or task texts: each is a group of its own")
    run.set_summary(f"{stats['turns']:,} turns, {stats['nodes']:,} nodes")
