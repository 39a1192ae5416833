"""The scoreboard: which pair is best, kept while counts change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy
from functools import reduce
from itertools import compress
from operator import not_
from typing import Any

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.mine.outcomes import GOOD, IGNORED, Classes, has_outcome
from xskill.mine.rules import Gate, MineRules


class Ranks:
    """Order of all symbols by expansion; symbols with equal expansions share a rank.

    Args:
        expansions: tokens of each symbol; the separator's is empty.
        room: number of symbols that may come to exist.
    """

    def __init__(self, expansions: Sequence[tuple[int, ...]], room: int) -> None:
        self._expansions = list(expansions)
        self._sorted = sorted(set(expansions))
        number = {expansion: rank for rank, expansion in enumerate(self._sorted)}
        self.of: npt.NDArray[np.int64] = np.zeros(max(room, len(expansions)), np.int64)
        self.of[: len(expansions)] = [number[expansion] for expansion in expansions]

    def copy(self) -> Ranks:
        """The same ranks, to be changed apart."""
        other = copy(self)
        other._expansions, other._sorted, other.of = list(self._expansions), list(self._sorted), self.of.copy()
        return other

    def add(self, left: int, right: int) -> None:
        """The next symbol, made of ``left`` and ``right``."""
        expansion = self._expansions[left] + self._expansions[right]
        rank = bisect_left(self._sorted, expansion)
        n_symbols = len(self._expansions)
        if rank == len(self._sorted) or self._sorted[rank] != expansion:
            self._sorted.insert(rank, expansion)
            self.of[:n_symbols] += self.of[:n_symbols] >= rank
        self.of[n_symbols] = rank
        self._expansions.append(expansion)


DEAD = -(2**30)
"""Frequency of a pair that can never merge again; counts may still fall from here."""


class Pairs:
    """Columns over pairs. ``chunk``, ``begin``, ``end`` say where its positions are listed."""

    left: Ints32
    right: Ints32
    length: Ints32
    frequency: Ints32
    known: Ints32
    good: Ints32
    chunk: Ints32
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    """-1 while the pair is not eligible."""
    _mark: Ints32

    _TYPES: dict[str, Any] = {
        "left": np.int32,
        "right": np.int32,
        "length": np.int32,
        "frequency": np.int32,
        "known": np.int32,
        "good": np.int32,
        "chunk": np.int32,
        "begin": np.int64,
        "end": np.int64,
        "score": np.float64,
        "_mark": np.int32,
    }
    __slots__ = ("n", *_TYPES)

    def __init__(self, room: int) -> None:
        self.n = 0
        for name, kind in self._TYPES.items():
            setattr(self, name, np.zeros(room, kind))

    def add(self, **columns: Any) -> slice:
        """Append pairs (each column an array or one value; ``left`` is an array) and return where they went."""
        n = len(columns["left"])
        room = len(self.left)
        if self.n + n > room:
            larger = max(2 * room, self.n + n)
            for name, kind in self._TYPES.items():
                grown = np.zeros(larger, kind)
                grown[: self.n] = getattr(self, name)[: self.n]
                setattr(self, name, grown)
        where = slice(self.n, self.n + n)
        self.n += n
        for name, values in columns.items():
            getattr(self, name)[where] = values
        return where

    def distinct(self, numbers: Ints32) -> Ints32:
        """The numbers without repetition, in any order; linear and without sorting."""
        # Each number's cell keeps the last ticket written to it, so exactly one place of each number finds its own
        # ticket there. What the cells held before does not matter: only cells just written are read.
        ticket = np.arange(len(numbers), dtype=np.int32)
        self._mark[numbers] = ticket
        unique: Ints32 = numbers[self._mark[numbers] == ticket]
        return unique

    def copy(self) -> Pairs:
        """The same columns, to be changed apart."""
        other = Pairs(0)
        other.n = self.n
        for name in self._TYPES:
            setattr(other, name, getattr(self, name).copy())
        return other

    def kill(self, pair: int) -> None:
        """Take a pair out for good."""
        self.frequency[pair] = DEAD
        self.score[pair] = -1.0


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
        n_known: episodes with an outcome.
        n_good: those with the mined outcome.
        ranks: order of the symbols by expansion, for ties.
        longest: length of the longest symbol.
    """

    def __init__(
        self, rules: MineRules, gates: Sequence[Gate], n_known: int, n_good: int, ranks: Ranks, longest: int
    ) -> None:
        self.rules = rules
        self.gates = tuple(gates)
        self.pairs = Pairs(1024)
        self.rated = n_good < n_known
        """Whether the rate can differ from 1."""
        self._base = n_good / n_known if n_known else 1.0
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

    def forget(self, lost: Ints32, kind: Classes | None) -> None:
        """Take away one occurrence of each pair in ``lost`` (-1 is none), of episodes of these classes."""
        # `at` and not `-=`: a pair that was lost twice is twice in the array, and `-=` would count it once.
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
        # One pass over all pairs ever listed. Scores here are unrounded and may differ from the true order in their
        # last digits, so everything near the highest goes on to be compared exactly.
        score = self.pairs.score[: self.pairs.n]
        highest = score.max(initial=-1.0)
        if highest <= 0:
            return None
        return self.break_ties(np.flatnonzero(score >= highest * _NEAR))

    def break_ties(self, candidates: npt.NDArray[np.intp]) -> int:
        """Highest rounded score, then frequency, then smallest expansions, then earliest symbols."""
        if len(candidates) == 1:
            return int(candidates[0])
        # Many pairs share their counts, so the exact score is computed once for each distinct row of counts.
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

    def _rate(self, good: int, n_known: int) -> float:
        return good / n_known if n_known else self._base

    def _rounded(self, frequency: int, length: int, good: int = 1, n_known: int = 1) -> float:
        return self.rules.score(frequency, length, self._rate(good, n_known))

    def _tabulate_needs(self, longest: int) -> None:
        """``needed``: least frequency with which a pair of each length may merge under some gate."""
        # Looked up by length instead of computed for each pair: no pair is longer than twice the longest symbol.
        length = np.arange(2 * longest + 1)
        by_gate = [gate.needed(length) for gate in self.gates]
        self.needed = np.where(length <= self.rules.max_length, reduce(np.minimum, by_gate), _NEVER)
        self._strictest = reduce(np.maximum, by_gate)

    def _rescore(self, changed: npt.NDArray[np.integer]) -> None:
        """Scores of the changed pairs, up to a constant factor; -1 where a pair may not merge as it stands."""
        # Only the changed rows: a merge changes few pairs, and the score of a pair depends on its own counts alone.
        pairs, rules = self.pairs, self.rules
        frequency = pairs.frequency[changed]
        length = pairs.length[changed]
        eligible = frequency >= self.needed[length]
        score = frequency * _power(length, rules.p_length)
        if self.rated:
            good, n_known = pairs.good[changed], pairs.known[changed]
            rate = np.where(n_known > 0, good / np.maximum(n_known, 1), self._base)
            eligible &= (rate >= rules.min_success_rate) & (rate > 0)
            score = score * _power(rate + rules.epsilon, rules.p_success)
        pairs.score[changed] = np.where(eligible, score, -1.0)


def _power(base: npt.NDArray[Any], exponent: float) -> npt.NDArray[Any]:
    real = base.astype(np.float64)
    return real if exponent == 1.0 else np.power(real, exponent)
