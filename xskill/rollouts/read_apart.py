"""Parquet files of rollouts read by a forked process, which then does the rest of the command itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from xskill.process.fork import Attempt, attempt, may_fork

if TYPE_CHECKING:
    from xskill.rollouts.read_parquet import Table


def read_apart(
    files: Sequence[str],
    *,
    reward_from: Literal["reward", "success"] = "reward",
    keep: bool = False,
    hold_texts: bool = False,
) -> tuple[Attempt, Table] | None:
    """In a forked process: the table, and what to tell the parent. In the parent: None, if it has to do the work.

    Args:
        files, reward_from, keep, hold_texts: see :func:`xskill.rollouts.read_parquet.read_table`.
    """
    if not files or not may_fork() or not all(map(_is_parquet, files)):
        return None
    here = attempt()
    if here is None:
        return None

    def read() -> Table | None:
        import resource

        from xskill.rollouts.read_parquet import read_table
        from xskill.streams.parquet.child import limit_memory

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        before = limit_memory(*files)
        found = read_table(files, reward_from=reward_from, keep=keep, hold_texts=hold_texts)
        resource.setrlimit(resource.RLIMIT_AS, before)
        return found

    return here, here.get(read)


def _is_parquet(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False
