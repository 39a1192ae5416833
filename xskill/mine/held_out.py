"""How well a tree, mined on some episodes, writes down and foretells others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.array_types import Floats
from xskill.mine.merges import Merge
from xskill.mine.prepare import Prepared
from xskill.mine.tally import gather
from xskill.mine.tiled_corpus import tiled

_PRIOR_COUNT = 0.5
"""Added to the count of each symbol (Krichevsky and Trofimov), so that an unseen one has a code."""
_PRIOR = 10.0
"""Episodes at the base rate that are added to each node's outcomes."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One tree on its held-out episodes."""

    nodes: int
    tree_bits: float
    """The tree itself: two symbols for each node, out of those there are at that point."""
    step_bits: float
    """The held-out episodes in the tree's symbols, under the symbol frequencies of the others."""
    outcome_bits: Floats
    """-log2 of the probability given to each held-out outcome. [n_held_out_with_outcome]"""


def score(prepared: Prepared, merges: list[Merge], held: npt.NDArray[np.bool_]) -> Scores:
    """Score the merges on the held-out episodes.

    Args:
        prepared: the corpus.
        merges: made without counting the held-out episodes, and then replaced in all episodes.
        held: which episodes are held out. [n_episodes]
    """
    tiles = tiled(prepared.sequence, merges)
    symbol, n_symbols = tiles.symbol, tiles.n_symbols
    first = n_symbols - len(merges)
    train = ~held[tiles.episode]
    count = np.bincount(symbol[train], minlength=n_symbols) + _PRIOR_COUNT
    bits = -np.log2(count / count.sum())
    return Scores(
        nodes=len(merges),
        tree_bits=float(2 * np.log2(np.arange(first, n_symbols)).sum()),
        step_bits=float(bits[symbol[~train]].sum()),
        outcome_bits=_outcome_bits(prepared, merges, held),
    )


def _outcome_bits(prepared: Prepared, merges: list[Merge], held: npt.NDArray[np.bool_]) -> Floats:
    """Predict success from the nodes that an episode holds.

    Evidence of a node: its holders' log odds of success in the training episodes, shrunk to the base
    rate's and taken above it; of an episode: the sum over its nodes over the root of their number,
    since nested nodes repeat each other. A training episode is left out of its own evidence, so that
    the slope that turns evidence into a probability is fitted on honest values.
    """
    outcome = prepared.corpus.outcome
    has_outcome = outcome >= 0
    train, test = has_outcome & ~held, has_outcome & held
    rate = min(max(float((outcome[train] == 1).mean()) if train.any() else 0.5, 1e-3), 1 - 1e-3)
    occurrences = gather(prepared.sequence, merges)
    node, holder = occurrences.holder_node, occurrences.holder_episode
    won = (train[holder] & (outcome[holder] == 1)).astype(np.float64)
    lost = (train[holder] & (outcome[holder] == 0)).astype(np.float64)
    wins = np.bincount(node, won, len(merges))[node] - won
    losses = np.bincount(node, lost, len(merges))[node] - lost
    odds = np.log((wins + _PRIOR * rate) / (losses + _PRIOR * (1 - rate))) - np.log(rate / (1 - rate))
    n = len(outcome)
    evidence = np.bincount(holder, odds, n) / np.sqrt(np.maximum(np.bincount(holder, minlength=n), 1))
    intercept, slope = _logistic(evidence[train], outcome[train] == 1)
    margin = (intercept + slope * evidence[test]) * np.where(outcome[test] == 1, 1.0, -1.0)
    bits: Floats = np.logaddexp(0.0, -margin) / np.log(2.0)
    return bits


def _logistic(x: Floats, y: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Intercept and slope of a logistic regression with a weak ridge, by Newton's method."""
    design = np.stack([np.ones(len(x)), x], axis=1)
    ridge = np.array([1e-2, 1e-2])
    weights = np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (p - y) + ridge * weights
        curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(ridge)
        weights = weights - np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(weights[1])
