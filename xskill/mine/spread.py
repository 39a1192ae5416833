"""Numbered pieces of work over processes, with the results in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xskill.streams.pool import open_pool

T = TypeVar("T")


def spread(task: Callable[[int], T], n: int, jobs: int = 1) -> list[T]:
    """``[task(0), …, task(n - 1)]``; a task is sent to each process once, so it may carry a corpus.

    Each result must depend on its number alone, so that ``jobs`` changes the time and nothing else.
    """
    jobs = min(jobs, n)
    if jobs <= 1:
        return [task(number) for number in range(n)]
    shares = [range(first, n, jobs) for first in range(jobs)]
    with open_pool(jobs) as pool:
        running = [pool.submit(_run, task, share) for share in shares]
        results = [pool.result(job) for job in running]
    return [results[number % jobs][number // jobs] for number in range(n)]


def _run(task: Callable[[int], T], numbers: range) -> list[T]:
    return [task(number) for number in numbers]
