"""Work on Parquet files of rollouts in a child process, which reads them at once if they are as our writer leaves them.

That is several times as fast as :func:`xskill.rollouts.load.read_rollouts`, which has polars read in one child and
takes what it sends row group by row group. Here polars reads in the process that does the work, so the work is the
child's, too: it sends what comes of it, not the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from xskill.process.child import ChildDied, may_fork, open_child
from xskill.process.standard import silenced

if TYPE_CHECKING:
    from xskill.rollouts.read_parquet import Table

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Asked:
    """What to read; see :func:`xskill.rollouts.read_parquet.read_table`."""

    files: Sequence[str]
    reward_from: Literal["reward", "success"] = "reward"
    keep: bool = False
    hold_texts: bool = False


@contextmanager
def open_work(work: Callable[[Table], Iterator[M]], asked: Asked) -> Iterator[Iterator[M] | None]:
    """What ``work`` yields of the table, at least one message, as long as the block runs.

    None when the files have to be read the careful way, because they are no Parquet, something in them is odd, or the
    child died before it sent a message. An error that ``work`` raises is raised here or where the messages are taken.

    Raises:
        ChildDied: where the messages are taken, when the child dies after the first.
    """
    if not asked.files or not may_fork() or not all(map(_is_parquet, asked.files)):
        yield None
        return
    with open_child(_work, work, asked) as child:
        try:
            first = [next(child)]
        except (StopIteration, ChildDied):
            first = []
        yield chain(first, child) if first else None


def _work(_: Iterator[Any], work: Callable[[Table], Iterator[M]], asked: Asked) -> Iterator[M]:
    """In the child."""
    with silenced():  # what a library prints as it falls is not for the user
        try:
            table = read_bounded(asked)
        except BaseException:  # a panic of polars is no Exception
            table = None
    if table is not None:
        yield from work(table)


def read_bounded(asked: Asked) -> Table | None:
    """The table, read with no more memory than the size of the files explains; None where anything is odd."""
    import resource

    from xskill.rollouts.read_parquet import read_table
    from xskill.streams.parquet.reading_child import limit_memory

    before = limit_memory(*asked.files)
    table = read_table(asked.files, reward_from=asked.reward_from, keep=asked.keep, hold_texts=asked.hold_texts)
    resource.setrlimit(resource.RLIMIT_AS, before)
    return table


def _is_parquet(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False
