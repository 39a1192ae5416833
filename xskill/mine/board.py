"""The scoreboard: which pair is best, kept while counts change."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import reduce
from itertools import compress
from operator import not_
from typing import Any

import numpy as np
import numpy.typing as npt

from xskill.mine.layout import Ints
from xskill.mine.outcomes import GOOD, IGNORED, Classes, has_outcome
from xskill.mine.pairs import Pairs
from xskill.mine.rules import Gate, Rules
from xskill.mine.ties import Ranks

_NEAR = 1 - 3e-11
"""Scores this close to the best may round to the same 12 significant digits."""

_NEVER = 2**62
"""Frequency that no pair has."""

_ONE = np.int32(1)
"""Of the columns' own type: numpy takes a path 25 times slower for a Python int."""


class Board:
    """Live pairs with their scores.

    Args:
        rules: what may merge, and the score.
        gates: a pair is eligible that passes the loosest of these.
        known: episodes with an outcome.
        good: those with the mined outcome.
        ranks: order of the symbols by expansion, for ties.
        longest: length of the longest symbol.
    """

    def __init__(self, rules: Rules, gates: Sequence[Gate], known: int, good: int, ranks: Ranks, longest: int) -> None:
        self.rules = rules
        self.gates = tuple(gates)
        self.pairs = Pairs(1024)
        self.rated = good < known
        """Whether the rate can differ from 1."""
        self._base = good / known if known else 1.0
        self._ranks = ranks
        self._tabulate_needs(longest)

    def copy(self) -> Board:
        """The same board, to be changed apart."""
        other = copy(self)
        other.pairs, other._ranks = self.pairs.copy(), self._ranks.copy()
        return other

    def narrow(self, gates: Sequence[Gate]) -> None:
        """Go on under some of the gates alone."""
        self.gates = tuple(gates)
        self._tabulate_needs(len(self.needed) // 2)
        self._rescore(np.arange(self.pairs.n))

    def passing(self, pair: int) -> tuple[list[Gate], list[Gate]]:
        """Which of the gates let the pair merge, and which shut it out."""
        frequency, length = self.pairs.frequency[pair], self.pairs.length[pair : pair + 1]
        if frequency >= self._strictest[length[0]]:
            return list(self.gates), []
        passes = [bool(frequency >= gate.needed(length)[0]) for gate in self.gates]
        return list(compress(self.gates, passes)), list(compress(self.gates, map(not_, passes)))

    def add(self, **columns: Any) -> slice:
        """Append pairs, scored; see :meth:`Pairs.add`."""
        where = self.pairs.add(**columns)
        self._rescore(np.arange(where.start, where.stop))
        return where

    def forget(self, lost: Ints, kind: Classes | None) -> None:
        """Take away one occurrence of each pair in ``lost`` (-1 is none), of episodes of these classes."""
        pairs = self.pairs
        live = lost >= 0
        if kind is not None:
            live &= kind != IGNORED
            np.subtract.at(pairs.known, lost[live & has_outcome(kind)], _ONE)
            np.subtract.at(pairs.good, lost[live & (kind == GOOD)], _ONE)
        lost = lost[live]
        np.subtract.at(pairs.frequency, lost, _ONE)
        self._rescore(pairs.distinct(lost))

    def merged(self, pair: int) -> None:
        """The pair becomes the next symbol."""
        pairs = self.pairs
        self._ranks.add(int(pairs.left[pair]), int(pairs.right[pair]))
        length = int(pairs.length[pair])
        if 2 * length >= len(self.needed):
            self._tabulate_needs(2 * length)
        pairs.kill(pair)

    def rate(self, pair: int) -> float:
        """Share of the mined outcome that the pair's score uses."""
        return self._rate(int(self.pairs.good[pair]), int(self.pairs.known[pair])) if self.rated else 1.0

    def score(self, pair: int) -> float:
        """The pair's X-Score, rounded as it is compared."""
        pairs = self.pairs
        return self.rules.score(int(pairs.frequency[pair]), int(pairs.length[pair]), self.rate(pair))

    def best(self) -> int | None:
        """The eligible pair with the highest score; None when there is none."""
        score = self.pairs.score[: self.pairs.n]
        highest = score.max(initial=-1.0)
        if highest <= 0:
            return None
        return self.break_ties(np.flatnonzero(score >= highest * _NEAR))

    def break_ties(self, candidates: npt.NDArray[np.intp]) -> int:
        """Highest rounded score, then frequency, then smallest expansions, then earliest symbols."""
        if len(candidates) == 1:
            return int(candidates[0])
        pairs = self.pairs
        columns = (pairs.frequency, pairs.length, pairs.good, pairs.known)[: 4 if self.rated else 2]
        counts = list(zip(*(column[candidates].tolist() for column in columns), strict=True))
        rounded = {count: self._rounded(*count) for count in set(counts)}
        highest = max(rounded.values())
        candidates = candidates[[rounded[count] == highest for count in counts]]
        frequency = pairs.frequency[candidates]
        candidates = candidates[frequency == frequency.max()]
        left, right = pairs.left[candidates], pairs.right[candidates]
        rank = self._ranks.of
        return int(candidates[np.lexsort((right, left, rank[right], rank[left]))[0]])

    def _rate(self, good: int, known: int) -> float:
        return good / known if known else self._base

    def _rounded(self, frequency: int, length: int, good: int = 1, known: int = 1) -> float:
        return self.rules.score(frequency, length, self._rate(good, known))

    def _tabulate_needs(self, longest: int) -> None:
        """``needed``: least frequency with which a pair of each length may merge under some gate."""
        length = np.arange(2 * longest + 1)
        by_gate = [gate.needed(length) for gate in self.gates]
        self.needed = np.where(length <= self.rules.max_length, reduce(np.minimum, by_gate), _NEVER)
        self._strictest = reduce(np.maximum, by_gate)

    def _rescore(self, changed: npt.NDArray[np.integer]) -> None:
        """Scores of the changed pairs, up to a constant factor; -1 where a pair may not merge as it stands."""
        pairs, rules = self.pairs, self.rules
        frequency = pairs.frequency[changed]
        length = pairs.length[changed]
        eligible = frequency >= self.needed[length]
        score = frequency * _power(length, rules.p_length)
        if self.rated:
            good, known = pairs.good[changed], pairs.known[changed]
            rate = np.where(known > 0, good / np.maximum(known, 1), self._base)
            eligible &= (rate >= rules.min_success_rate) & (rate > 0)
            score = score * _power(rate + rules.epsilon, rules.p_success)
        pairs.score[changed] = np.where(eligible, score, -1.0)


def _power(base: npt.NDArray[Any], exponent: float) -> npt.NDArray[Any]:
    real = base.astype(np.float64)
    return real if exponent == 1.0 else np.power(real, exponent)
