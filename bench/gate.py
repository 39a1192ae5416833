"""The gate's statistics on 10,000 tasks, with and without repeats."""

from __future__ import annotations

import random
import time

from bench.measure import machine
from xskill.gate.compare import Metric, by_task, compare
from xskill.records import Result

TASKS = 10_000


def results(n: int, repeats: int, seed: int) -> dict[str, list[Result]]:
    """Random outcomes, 70% successes."""
    rng = random.Random(seed)
    return by_task(
        (
            Result(task_id=f"t{task}", repeat=repeat, metrics={"success": rng.random() < 0.7})
            for task in range(n)
            for repeat in range(repeats)
        ),
        "bench",
    )


def main() -> None:
    """Print the times."""
    print(f"machine: {machine()}")
    for repeats in (1, 4):
        current, candidate = results(TASKS, repeats, 1), results(TASKS, repeats, 2)
        start = time.perf_counter()
        found = compare(current, candidate, Metric("success"), alpha=0.05)
        seconds = time.perf_counter() - start
        print(f"{TASKS:,} tasks x {repeats} repeats: {seconds:.2f} s ({found.interval.method}, {found.test.method})")
