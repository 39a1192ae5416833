"""Paired tests over tasks: is the difference between two banks more than chance?

All of them take one number a task (repeats are averaged before) and need numpy alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xskill.array_types import Floats
from xskill.gate.tolerance import TOLERANCE

EXACT_SIGNS = 16
"""Up to this many non-zero differences the sign-flip distribution is enumerated (2**16 rows)."""


@dataclass(frozen=True, slots=True)
class Test:
    """A two-sided p-value and the name of what computed it."""

    p_value: float
    method: str


def mcnemar_exact(wins: int, losses: int) -> float:
    """Exact two-sided McNemar p-value: the sign test on the discordant pairs.

    ``min(1, 2 * P(X <= min(wins, losses)))`` with ``X ~ Binomial(wins + losses, 1/2)``; 1 without discordant pairs.
    """
    n, k = wins + losses, min(wins, losses)
    if n == 0:
        return 1.0
    log_terms = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(k + 1)]
    tail = math.fsum(math.exp(term - n * math.log(2)) for term in log_terms)
    return min(1.0, 2 * tail)


def paired_permutation(differences: Floats, *, seed: int = 0, draws: int = 20_000) -> Test:
    """Two-sided sign-flip test of ``mean(differences) = 0``.

    Under the null each task's difference is as likely with either sign. All ``2**m`` sign patterns of the m non-zero
    differences are enumerated for ``m <= EXACT_SIGNS``; beyond, ``draws`` random ones give
    ``(1 + hits) / (1 + draws)``, reproducible by ``seed``.
    """
    nonzero = np.abs(differences[np.abs(differences) > TOLERANCE])
    m = nonzero.size
    if m == 0:
        return Test(1.0, "paired permutation, exact")
    observed = abs(float(differences.sum())) - TOLERANCE * max(1, m)
    if m <= EXACT_SIGNS:
        patterns = np.arange(2**m, dtype=np.uint32)[:, None] >> np.arange(m, dtype=np.uint32) & 1
        sums = (patterns * 2.0 - 1.0) @ nonzero
        return Test(float(np.mean(np.abs(sums) >= observed)), "paired permutation, exact")
    rng = np.random.default_rng(seed)
    hits = 0
    rows = max(1, 4_000_000 // m)
    for start in range(0, draws, rows):
        signs = rng.integers(0, 2, size=(min(rows, draws - start), m), dtype=np.int8)
        hits += int(np.count_nonzero(np.abs((signs * 2.0 - 1.0) @ nonzero) >= observed))
    return Test((1 + hits) / (1 + draws), f"paired permutation, {draws} draws")


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979)."""
    m = len(p_values)
    adjusted = [0.0] * m
    running = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def regression_chance(
    current: Sequence[float], candidate: Sequence[float], tolerance: float, *, seed: int = 0
) -> float:
    """Chance that this task counts as a regression when both sides are the same bank.

    The repeats of both sides are pooled and split anew in all ways (or in 5,000 random ways): the share of splits
    whose candidate mean lies more than ``tolerance`` below the current mean. Larger is better; negate a metric to be
    minimised. With one repeat a side it is 1/2 for a task whose values differ by more than the tolerance.
    """
    pooled = np.asarray([*current, *candidate], dtype=np.float64)
    if np.ptp(pooled) <= tolerance + TOLERANCE:
        return 0.0
    total, k, n = float(pooled.sum()), len(candidate), pooled.size
    if math.comb(n, k) <= 5_000:
        sums = _subset_sums(pooled, k)
    else:
        rng = np.random.default_rng(seed)
        order = rng.permuted(np.tile(pooled, (5_000, 1)), axis=1)
        sums = order[:, :k].sum(axis=1)
    difference = sums / k - (total - sums) / (n - k)
    return float(np.mean(difference < -tolerance - TOLERANCE))


def _subset_sums(values: Floats, k: int) -> Floats:
    """Sum of every subset of size k, one entry a subset (of positions, so equal values count apart)."""
    sums: list[list[float]] = [[0.0]] + [[] for _ in range(k)]
    for value in values.tolist():
        for size in range(k, 0, -1):
            sums[size].extend([s + value for s in sums[size - 1]])
    return np.asarray(sums[k], dtype=np.float64)
