"""Is it more than chance? Exact tests within questions, and one false discovery rate over all that a bank tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32, Ints64
from xskill.mine.association import Tables, benjamini_hochberg, exchangeable, fisher
from xskill.mine.corpus import CodedCorpus

SIGNIFICANT = 0.05
EXACT = 200
"""Strata up to which distributions are convolved; of more the tail is a saddlepoint approximation."""
_NEGLIGIBLE = -60.0
"""Log probability below which the ends of one stratum's distribution are cut off."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Episodes among which an outcome is exchangeable when nothing helps and nothing harms.

    Those of one question where it has several with an outcome: they share its difficulty, so that they are no
    independent witnesses for what was done in easy questions alone. Of all others, those of a task type.
    """

    of: Ints32
    """[episodes] block."""
    outcome: npt.NDArray[np.int8]
    """[episodes] 1 success, 0 failure, -1 unknown."""
    kind: Ints64
    """[blocks] index of the block's numbers in ``totals`` and ``successes``."""
    totals: Ints64
    """[kinds] episodes with an outcome."""
    successes: Ints64
    """[kinds]"""


def blocks(corpus: CodedCorpus) -> Blocks:
    """The blocks of a corpus, as ``mine --permutations`` has them within task types."""
    _, of = np.unique(exchangeable(corpus, corpus.task_type.codes + np.int32(1)), return_inverse=True)
    n = int(of.max(initial=0)) + 1
    numbers = [np.bincount(of[chosen], minlength=n) for chosen in (corpus.outcome >= 0, corpus.outcome == 1)]
    kinds, kind = np.unique(np.stack(numbers), axis=1, return_inverse=True)
    return Blocks(of.astype(np.int32), corpus.outcome, kind.ravel(), kinds[0], kinds[1])


def p_value(within: Blocks, held: npt.NDArray[np.signedinteger[Any]], outcome: int) -> float:
    """P(at least as many of the episodes ``held`` have the outcome), outcomes shuffled within blocks.

    Args:
        held: distinct episodes with a known outcome.
        outcome: 1 for success, 0 for failure.
    """
    counts = np.bincount(within.of[held], minlength=len(within.kind))
    drawing = np.flatnonzero(counts)
    most = int(counts.max()) + 1
    code, times = np.unique(within.kind[drawing] * most + counts[drawing], return_counts=True)
    kind, each = code // most, code % most
    totals, successes = within.totals[kind], within.successes[kind]
    positives = successes if outcome == 1 else totals - successes
    return upper_tail(totals, positives, each, int((within.outcome[held] == outcome).sum()), times)


def upper_tail(totals: Ints64, positives: Ints64, held: Ints64, hits: int, times: Ints64 | None = None) -> float:
    """P(sum_s X_s >= hits), X_s hypergeometric (``held`` drawn of ``totals``, ``positives`` among them), independent.

    Exact for up to :data:`EXACT` strata that leave room for chance, else by the saddlepoint of Lugannani and Rice
    (1980) with Daniels' (1987) correction for counts, whose relative error is below 1% (measured: 1e-4 in the tail).

    Args:
        times: how many strata have these numbers; one each by default.
    """
    times = times if times is not None else np.ones(len(totals), np.int64)
    open_ = (held > 0) & (held < totals) & (positives > 0) & (positives < totals)
    hits -= int((times * np.minimum(held, positives))[~open_].sum())  # what these hold is certain
    totals, positives, held, times = totals[open_], positives[open_], held[open_], times[open_]
    if not len(times):
        return 1.0
    if times.sum() > EXACT:
        return _saddlepoint(totals, positives, held, times, hits)
    totals, positives, held = (np.repeat(values, times) for values in (totals, positives, held))
    counts = np.zeros((1, len(held)), np.int64)
    counts[0, 0] = hits
    return float(fisher(Tables(counts, held[None], positives, totals))[0])


def _saddlepoint(totals: Ints64, positives: Ints64, held: Ints64, times: Ints64, hits: int) -> float:
    """The tail of a sum over strata, each of which comes ``times`` times."""
    low, high = np.maximum(0, held + positives - totals), np.minimum(held, positives)
    mean = float((times * held * positives / totals).sum())
    spread = times * held * (positives / totals) * (1 - positives / totals) * (totals - held) / (totals - 1)
    if hits <= mean + 0.5:
        return _normal_tail((hits - 0.5 - mean) / math.sqrt(float(spread.sum())))
    sizes = high - low + 1
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    x = np.arange(sizes.sum()) - np.repeat(first - low, sizes)
    n, m, k = (np.repeat(values, sizes) for values in (totals, positives, held))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, totals.max() + 1)))])
    f = log_factorial
    log_p = f[m] - f[x] - f[m - x] + f[n - m] - f[k - x] - f[n - m - k + x] - f[n] + f[k] + f[n - k]
    if hits >= (times * high).sum():
        return float(np.exp((times * log_p[first + sizes - 1]).sum()))
    kept = log_p > _NEGLIGIBLE
    x, log_p = x[kept], log_p[kept]
    sizes = np.add.reduceat(kept, first)
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    lower, upper, tilt = 0.0, 60.0, (hits - mean) / float(spread.sum())
    for _ in range(60):
        weights = log_p + tilt * x
        tops = np.maximum.reduceat(weights, first)
        weights = np.exp(weights - np.repeat(tops, sizes))
        sums = np.add.reduceat(weights, first)
        means = np.add.reduceat(weights * x, first) / sums
        variance = float((times * (np.add.reduceat(weights * x * x, first) / sums - means**2)).sum())
        off = float((times * means).sum()) - hits
        if abs(off) < 1e-9 * max(1.0, variance):
            break
        lower, upper = (tilt, upper) if off < 0 else (lower, tilt)
        newton = tilt - off / variance if variance > 0 else upper
        tilt = newton if lower < newton < upper else (lower + upper) / 2
    cumulant = float((times * (np.log(sums) + tops)).sum())
    w = math.sqrt(max(2 * (tilt * hits - cumulant), 1e-300))
    u = -math.expm1(-tilt) * math.sqrt(variance)
    return min(1.0, max(0.0, _normal_tail(w) + math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)))


def _normal_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


def q_values(*families: Sequence[float]) -> list[list[float]]:
    """Benjamini-Hochberg over the p-values of all families together, given back family by family."""
    q = benjamini_hochberg(np.array([p for family in families for p in family], dtype=np.float64)).tolist()
    ends = np.cumsum([len(family) for family in families]).tolist()
    return [q[end - len(family) : end] for family, end in zip(families, ends, strict=True)]


def status(q_value: float | None, p_adjusted: float | None = None) -> str:
    """``supported`` where everything that was tested says so, else ``unproven``.

    Args:
        q_value: over all tests of the bank; None where there was too little to test.
        p_adjusted: of the tree's permutations, where it was mined from the same episodes.
    """
    sure = q_value is not None and q_value <= SIGNIFICANT and (p_adjusted is None or p_adjusted <= SIGNIFICANT)
    return "supported" if sure else "unproven"


def short(value: float) -> float:
    """Twelve significant digits, as everywhere in our files."""
    return float(f"{value:.12g}")
