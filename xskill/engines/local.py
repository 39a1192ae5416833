"""Processes of this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from xskill.engines import in_order, run_share, shares
from xskill.process.pool import open_pool

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Local:
    """``jobs`` processes for each call; with one, none is started. Nothing is kept between calls."""

    jobs: int = 1

    def map(self, task: Callable[[int], T], n: int) -> list[T]:
        """See :class:`xskill.engines.Engine`."""
        parts = shares(n, self.jobs)
        if len(parts) <= 1:
            return run_share(task, range(n))
        with open_pool(len(parts)) as pool:
            running = [pool.submit(run_share, task, part) for part in parts]
            return in_order([pool.result(job) for job in running], n)


ONE = Local()
"""One process: this one."""
