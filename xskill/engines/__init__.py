"""Engines: where the many equal pieces of a work run, on this machine or on a Ray cluster. The results are the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from xskill.process.pool import open_pool

T = TypeVar("T")

Name = Literal["local", "ray"]


class Engine(Protocol):
    """Runs numbered pieces of work."""

    def map(self, task: Callable[[int], T], n: int) -> list[T]:
        """``[task(0), …, task(n - 1)]``.

        A task is sent to each process once, so it may carry a corpus. Each result must depend on its number alone:
        then the engine changes the time and nothing else. ``task`` and its results must pickle.
        """


@dataclass(frozen=True, slots=True)
class Local:
    """``jobs`` processes of this machine for each call; with one, none is started. Nothing is kept between calls."""

    jobs: int = 1

    def map(self, task: Callable[[int], T], n: int) -> list[T]:
        """See :class:`Engine`."""
        parts = shares(n, self.jobs)
        if len(parts) <= 1:
            return run_share(task, range(n))
        with open_pool(len(parts)) as pool:
            running = [pool.submit(run_share, task, part) for part in parts]
            return in_order([pool.result(call) for call in running], n)


ONE = Local()
"""One process: this one."""


def open_engine(name: Name, jobs: int | None) -> AbstractContextManager[Engine]:
    """The engine of this name; what it started ends with the block.

    Args:
        jobs: processes; None is one on this machine, and all that a cluster has.

    Raises:
        UsageError: Ray is not installed.
        XskillError: its cluster cannot be reached.
    """
    if name == "ray":
        from xskill.engines.ray import open_ray

        return open_ray(jobs)
    return nullcontext(Local(1 if jobs is None else jobs))


def shares(n: int, workers: int) -> list[range]:
    """The numbers below ``n``, dealt to at most ``workers`` shares of like size."""
    return [range(first, n, workers) for first in range(min(n, workers))]


def run_share(task: Callable[[int], T], numbers: range) -> list[T]:
    """The results of one share."""
    return [task(number) for number in numbers]


def in_order(results: list[list[T]], n: int) -> list[T]:
    """The results of all shares by number."""
    return [results[number % len(results)][number // len(results)] for number in range(n)]
