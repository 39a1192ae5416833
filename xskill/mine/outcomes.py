"""What an episode counts for, and counting by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from xskill.mine.rules import MineRules

Classes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Prior:
    """What episodes that are not at hand add to the counts."""

    known: int = 0
    """Episodes with an outcome."""
    good: int = 0
    """Those with the mined outcome."""
    pairs: Mapping[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    """Of pairs of symbols: frequency, occurrences with an outcome, occurrences with the mined outcome."""


Counts = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""For each key: frequency, occurrences with an outcome, occurrences with the mined outcome."""

UNKNOWN, OTHER, GOOD, IGNORED = 0, 1, 2, 3
"""Class of an episode: outcome unknown, the other outcome, the outcome that is mined; merged but never counted."""


def classify(outcome: npt.NDArray[np.int8], rules: MineRules) -> Classes:
    """Class of each episode.

    Args:
        outcome: 1 success, 0 failure, -1 unknown. [n_episodes]
        rules: which outcome is mined, and whether successes alone count.
    """
    good = 1 if rules.outcome == "success" else 0
    rest = IGNORED if rules.successes_only else OTHER
    unknown = IGNORED if rules.successes_only else UNKNOWN
    return np.where(outcome < 0, unknown, np.where(outcome == good, GOOD, rest)).astype(np.int8)


def has_outcome(kind: Classes) -> npt.NDArray[np.bool_]:
    """Whether an outcome is known and counts."""
    counts: npt.NDArray[np.bool_] = (kind == OTHER) | (kind == GOOD)
    return counts


def count(key: npt.NDArray[Any], kind: Classes | None, n: int) -> Counts:
    """Count occurrences by key.

    Args:
        key: key of each occurrence, below ``n``.
        kind: class of each occurrence; None when all count alike.
        n: number of keys.
    """
    if kind is None:
        frequency = np.bincount(key, minlength=n)
        return frequency, frequency.copy(), frequency.copy()
    return (
        np.bincount(key[kind != IGNORED], minlength=n),
        np.bincount(key[has_outcome(kind)], minlength=n),
        np.bincount(key[kind == GOOD], minlength=n),
    )
