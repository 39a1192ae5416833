"""Advantages: how far the reward of a rollout is from the mean of its question (docs/methods/tree-opsd.md)."""

from __future__ import annotations

import numpy as np

from xskill.array_types import Floats, Ints64
from xskill.credit.choices import STDS

EPSILON = 1e-6

SKIPPED = (None, "unfinished", "zero-variance", "single-leaf")
"""Reasons why a trajectory teaches nothing, by code."""
UNFINISHED, ZERO_VARIANCE, SINGLE_LEAF = 1, 2, 3


def group_moments(values: Floats, groups: Ints64, n_groups: int, ddof: int = 0) -> tuple[Floats, Floats, Ints64]:
    """Mean, standard deviation and size of each group; NaN values do not count.

    In a group whose values are all equal the mean is exactly that value and the deviation exactly 0, whatever
    rounding says; the deviation of a group with at most ``ddof`` values is 0, too.
    """
    counted = ~np.isnan(values)
    x, g = values[counted], groups[counted]
    size = np.bincount(g, minlength=n_groups)
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, g, x)
    np.maximum.at(high, g, x)
    mean = np.where(high == low, low, np.bincount(g, x, n_groups) / np.maximum(size, 1))
    with np.errstate(over="ignore"):
        square = np.bincount(g, (x - mean[g]) ** 2, n_groups)
    varied = (high > low) & (size > ddof)
    std = np.zeros(n_groups)
    std[varied] = np.sqrt(square[varied] / (size[varied] - ddof))
    return mean, std, size


def advantages(reward: Floats, question: Ints64, n_questions: int, std: str = "population") -> tuple[Floats, Ints64]:
    """``A = (R - mean) / (std + 1e-6)`` over the finished leaves of each question (TreeOPSD, arXiv 2610.23181).

    Args:
        reward: [n] NaN = unfinished; those stay out of mean and deviation.
        question: [n] codes.
        n_questions: number of codes.
        std: one of :data:`xskill.credit.choices.STDS`: ``population`` (divide by n) or ``sample`` (by n - 1, as GRPO
            code does).

    Returns:
        [n] advantages, NaN where unfinished, exactly 0 in a question with one leaf or equal rewards; and
        [n] indices into :data:`SKIPPED`.
    """
    largest = np.nanmax(np.abs(reward), initial=0.0)
    unit = largest if largest > 1e100 else 1.0  # keeps squares of huge rewards finite
    scaled = reward / unit
    mean, deviation, size = group_moments(scaled, question, n_questions, ddof=STDS[std].ddof)
    advantage = np.where(
        deviation[question] > 0, (scaled - mean[question]) / (deviation[question] + EPSILON / unit), 0.0
    )
    advantage[np.isnan(reward)] = np.nan
    skipped = np.select(
        [np.isnan(reward), size[question] == 1, deviation[question] == 0],
        [UNFINISHED, SINGLE_LEAF, ZERO_VARIANCE],
        0,
    )
    return advantage, skipped.astype(np.int64)
