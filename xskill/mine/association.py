"""Does holding a routine go with success? Lift, exact one-sided tests, intervals, false discovery rates.

The merges were themselves chosen by success, so these numbers describe and do not prove;
:mod:`xskill.mine.resampling` makes them honest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt

from xskill.array_types import Floats, Ints32, Ints64
from xskill.errors import UsageError
from xskill.mine.corpus import CodedCorpus, Labels

STRATA = ("env", "task_type", "question_id", "length")
"""What ``stratify`` may name; ``length`` is tertiles of the number of own steps."""


def stratify(corpus: CodedCorpus, field: str | None) -> tuple[Ints32, str]:
    """Stratum of each episode, and the field that was used (``none`` for one stratum).

    Args:
        corpus: the episodes.
        field: one of :data:`STRATA` or ``none``; None chooses ``env`` when there are several, else none.
    """
    if field is None:
        field = "env" if len(corpus.env.names) > 1 else "none"
    if field == "none":
        return np.zeros(corpus.n_episodes, np.int32), field
    if field == "length":
        return _tertiles(corpus), field
    labels: dict[str, Labels] = {"env": corpus.env, "task_type": corpus.task_type, "question_id": corpus.question}
    if field not in labels:
        raise UsageError(f"--stratify {field}: unknown; choose one of {', '.join(STRATA)}, none")
    return labels[field].codes + np.int32(1), field


def _tertiles(corpus: CodedCorpus) -> Ints32:
    lengths = corpus.lengths
    sorted_lengths = np.sort(lengths[corpus.outcome >= 0])
    if not len(sorted_lengths):
        return np.zeros(len(lengths), np.int32)
    edges = sorted_lengths[[(len(sorted_lengths) - 1) // 3, 2 * (len(sorted_lengths) - 1) // 3]]
    return np.searchsorted(edges, lengths, side="left").astype(np.int32)


def exchangeable(corpus: CodedCorpus, strata: Ints32) -> Ints32:
    """Block of each episode: its question where that has several known outcomes, else its stratum."""
    question = corpus.question.codes
    has_outcome = corpus.outcome >= 0
    size = np.bincount(question[has_outcome & (question >= 0)], minlength=len(corpus.question.names) + 1)
    several = (question >= 0) & (size[question] > 1)
    return np.where(several, question + np.int32(strata.max(initial=0) + 1), strata)


_Z95 = 1.959963984540054
_DIRECT = 4096
"""Support up to which distributions are convolved as they are."""
_NEGLIGIBLE = -70.0
"""Log of the share of a tilted distribution's mode below which its ends are cut off."""


@dataclass(frozen=True, slots=True)
class Tables:
    """2 x 2 tables of nodes against the outcome, one for each stratum."""

    hits: Ints64
    """Episodes that hold the node and have the outcome. [n_nodes, n_strata]"""
    holders: Ints64
    """Episodes with a known outcome that hold the node. [n_nodes, n_strata]"""
    positives: Ints64
    """Episodes that have the outcome. [n_strata]"""
    totals: Ints64
    """Episodes with a known outcome. [n_strata]"""


def lift(tables: Tables) -> Floats:
    """sum_s a_s / sum_s n1_s m_s / N_s for each node; NaN when nothing was expected.

    With one stratum: the success rate of the holders over the base rate.
    """
    # [n_nodes, n_strata] times [n_strata]: what each stratum's rate would give the holders that it has.
    rate = np.nan_to_num(_ratio(tables.positives, tables.totals))  # an empty stratum has no holders
    expected = (tables.holders * rate).sum(axis=1)
    return _ratio(tables.hits.sum(axis=1), expected)


def fisher(tables: Tables) -> Floats:
    """One-sided exact p of each node: P(sum_s X_s >= sum_s a_s), X_s hypergeometric, strata independent.

    With one stratum this is Fisher's exact test. NaN for a node without a holder of known outcome.
    """
    # Node by node in Python: most tables repeat (the same counts in the same strata), and the tail is cached by them.
    populations = list(zip(tables.totals.tolist(), tables.positives.tolist(), strict=True))
    p = np.full(len(tables.hits), np.nan)
    for node, (hits, holders) in enumerate(zip(tables.hits.sum(axis=1).tolist(), tables.holders.tolist(), strict=True)):
        drawn = tuple(
            (total, positive, held) for (total, positive), held in zip(populations, holders, strict=True) if held
        )
        if drawn:
            p[node] = _upper_tail(drawn, hits)
    return p


def benjamini_hochberg(p: Floats) -> Floats:
    """q-values: the smallest false discovery rate at which each test is found (Benjamini and Hochberg 1995)."""
    # p (i) n / i in ascending order of p; a running minimum from the largest down makes the values monotone.
    q = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def wilson(hits: Ints64, n: Ints64) -> tuple[Floats, Floats]:
    """95% score interval of hits / n (Wilson 1927); NaN where n is 0."""
    share = _ratio(hits, n)
    z2n = _ratio(np.full(n.shape, _Z95**2), n)
    centre = (share + z2n / 2) / (1 + z2n)
    half = np.sqrt(share * (1 - share) * z2n + z2n**2 / 4) / (1 + z2n)
    low = np.where(hits == 0, np.where(n > 0, 0.0, np.nan), np.maximum(centre - half, 0.0))
    high = np.where(hits == n, np.where(n > 0, 1.0, np.nan), np.minimum(centre + half, 1.0))
    return low, high


def _ratio(above: npt.NDArray[np.float64] | Ints64, below: npt.NDArray[np.float64] | Ints64) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0)
    return ratio


@lru_cache(maxsize=65536)
def _log_weights(total: int, positive: int, held: int) -> tuple[int, Floats]:
    """Support start and log probabilities of the hypergeometric, from the ratios of neighbours (no factorials)."""
    # P(x + 1) / P(x) is a ratio of four small integers, so sums of its logarithms give the distribution up to a factor,
    # without the loss of digits that differences of log factorials bring for large populations.
    low, high = max(0, held + positive - total), min(held, positive)
    x = np.arange(low, high, dtype=np.float64)
    ratios = np.log((held - x) * (positive - x)) - np.log((x + 1) * (total - held - positive + x + 1))
    log_weights = np.concatenate([[0.0], np.cumsum(ratios)])
    log_weights -= log_weights.max()
    log_weights -= np.log(np.exp(log_weights).sum())
    return low, log_weights


@lru_cache(maxsize=65536)
def _upper_tail(drawn: tuple[tuple[int, int, int], ...], hits: int) -> float:
    """P(sum of hypergeometrics >= hits), each given as (total, positives, held); relative error near 1e-12."""
    # The distribution of the sum is the convolution over strata, O(support squared). Wide supports are tilted first so
    # that the mass lies at the cut: each part may then be cut to the few values that can matter, and undone at the end.
    parts = [_log_weights(*each) for each in drawn]
    low = sum(start for start, _ in parts)
    if hits <= low:
        return 1.0
    tilt = 0.0
    if len(parts) > 1 and sum(len(weights) for _, weights in parts) > _DIRECT:
        tilt = _tilt(parts, hits)
    scale, tilted = 0.0, []
    for start, log_weights in parts:
        log_weights = log_weights + tilt * (start + np.arange(len(log_weights)))
        top = log_weights.max()
        scale += top
        kept = np.flatnonzero(log_weights - top > _NEGLIGIBLE) if tilt else np.arange(len(log_weights))
        low += int(kept[0])
        tilted.append(np.exp(log_weights[kept[0] : kept[-1] + 1] - top))
    total = reduce(np.convolve, tilted)
    tail = total[max(hits - low, 0) :]
    x = max(hits, low) + np.arange(len(tail))
    return float(min(1.0, (tail * np.exp(np.clip(scale - tilt * x, -745.0, 709.0))).sum()))


def _tilt(parts: list[tuple[int, Floats]], hits: int) -> float:
    """The exponential tilt under which the sum's mean is ``hits``, so that a cut at the ends costs nothing there."""
    # The tilted mean rises with the tilt, so bisection finds it: 60 halvings of 100 are below any double's precision.
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = 0.0
        for start, log_weights in parts:
            x = start + np.arange(len(log_weights))
            weights = log_weights + middle * x
            weights = np.exp(weights - weights.max())
            mean += float((weights * x).sum() / weights.sum())
        low, high = (middle, high) if mean < hits else (low, middle)
    return (low + high) / 2
