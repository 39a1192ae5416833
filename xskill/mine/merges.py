"""The hot loop: choose the best pair, merge it everywhere, update what changed. Near-linear.

Every occurrence of a pair exists from the moment its newer symbol is made and only disappears
afterwards. So a pair's sorted positions are listed once, when its newer symbol is made, and are
filtered on use by the pair that each position starts now; a pair below its needed frequency is dead
for good; a merge touches only its own occurrences and their two neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xskill.mine.layout import SEPARATOR, Ints, PairIndex, Sequence
from xskill.mine.outcomes import GOOD, IGNORED, Classes, Counts, count, has_outcome
from xskill.mine.pairs import Pairs
from xskill.mine.rules import Rules
from xskill.mine.runs import Runs, disjoint
from xskill.mine.ties import Ranks

_NEAR = 1 - 3e-11
"""Scores this close to the best may round to the same 12 significant digits."""

_ONE = np.int32(1)
"""Of the columns' own type: numpy takes a path 25 times slower for a Python int."""


@dataclass(frozen=True, slots=True)
class Merge:
    """One merge, in the symbols of the sequence (tokens from 1, then nodes in merge order)."""

    left: int
    right: int
    frequency: int
    """Adjacent occurrences that the score counted."""
    rate: float
    """Share of the mined outcome that the score used."""
    score: float
    positions: Ints
    """First positions of all replaced occurrences, ascending, in episodes of any outcome."""


class Miner:
    """Greedy X-Tree merging of one sequence under one assignment of outcomes.

    Args:
        sequence: the corpus as laid out; not changed.
        index: its pairs; not changed, so that many miners can share it.
        classes: what each episode counts for (:mod:`xskill.mine.outcomes`). [n_episodes]
        families: task type of each episode, -1 for null. [n_episodes]
        expansions: tokens of each symbol of the sequence.
        rules: what may merge, and the score.
    """

    def __init__(
        self,
        sequence: Sequence,
        index: PairIndex,
        classes: Classes,
        families: Ints,
        expansions: Many[tuple[int, ...]],
        rules: Rules,
    ) -> None:
        known = int(has_outcome(classes).sum())
        good = int((classes == GOOD).sum())
        self.rules = rules
        self._base = good / known if known else 1.0
        self._rated = good < known
        """Whether the rate can differ from 1."""
        self._classed = self._rated or bool((classes == IGNORED).any())
        """Whether the class of an occurrence changes any count."""
        self._class = classes
        self._families = families
        self._episode = sequence.episode
        self._symbols = sequence.symbols.copy()
        self._n_symbols = len(sequence.lengths)
        room = self._n_symbols + rules.max_skills
        self._lengths = np.ones(room, np.int32)
        self._lengths[: self._n_symbols] = sequence.lengths
        self._ranks = Ranks(expansions, room)
        self._runs = Runs(sequence) if rules.self_pairs == "disjoint" else None
        self._start(index)

    def run(self) -> list[Merge]:
        """Merge until no pair is eligible or ``max_skills`` nodes exist."""
        merges: list[Merge] = []
        while len(merges) < self.rules.max_skills:
            chosen = self._choose()
            if chosen is None:
                break
            merges.append(self._merge(*chosen))
        return merges

    def _start(self, index: PairIndex) -> None:
        n = len(index.left)
        if self._classed:
            pair = np.repeat(np.arange(n, dtype=np.int32), np.diff(index.first))
            counts = count(pair, self._kinds(index.order), n)
        else:
            frequency = np.diff(index.first)
            counts = frequency, frequency.copy(), frequency.copy()
        if self._runs is not None:
            for double in np.flatnonzero(index.left == index.right):
                listed = index.order[index.first[double] : index.first[double + 1]]
                self._recount(counts, int(double), disjoint(listed, int(self._lengths[index.left[double]])))
        length = self._lengths[index.left] + self._lengths[index.right]
        alive = np.flatnonzero((counts[0] >= self.rules.needed(length)) & (length <= self.rules.max_length))
        number = np.full(n + 1, -1, np.int32)
        number[alive] = np.arange(len(alive), dtype=np.int32)
        self._at = number[index.at]
        self._chunks = [index.order]
        self._pairs = Pairs(len(alive) + 1024)
        where = self._pairs.add(
            left=index.left[alive],
            right=index.right[alive],
            length=length[alive],
            chunk=0,
            begin=index.first[alive],
            end=index.first[alive + 1],
            frequency=counts[0][alive],
            known=counts[1][alive],
            good=counts[2][alive],
        )
        self._rescore(np.arange(where.start, where.stop))

    def _kinds(self, positions: Ints) -> Classes | None:
        """Class of the episode at each position; None when no count depends on it."""
        return self._class[self._episode[positions]] if self._classed else None

    def _recount(self, counts: Counts, key: int, positions: Ints) -> None:
        """Put the counts of a disjointly counted self-pair in the place of the overlapping ones."""
        one = count(np.zeros(len(positions), np.intp), self._kinds(positions), 1)
        for column, number in zip(counts, one, strict=True):
            column[key] = number[0]

    def _rescore(self, changed: npt.NDArray[np.integer]) -> None:
        """Scores of the changed pairs, up to a constant factor; -1 where a pair may not merge as it stands."""
        pairs, rules = self._pairs, self.rules
        frequency = pairs.frequency[changed]
        length = pairs.length[changed]
        eligible = frequency >= rules.needed(length)
        score = frequency * _power(length, rules.p_length)
        if self._rated:
            good, known = pairs.good[changed], pairs.known[changed]
            rate = np.where(known > 0, good / np.maximum(known, 1), self._base)
            eligible &= (rate >= rules.min_success_rate) & (rate > 0)
            score = score * _power(rate + rules.epsilon, rules.p_success)
        pairs.score[changed] = np.where(eligible, score, -1.0)

    def _choose(self) -> tuple[int, Ints] | None:
        """The best eligible pair and the positions where it stands now."""
        pairs = self._pairs
        while pairs.n:
            score = pairs.score[: pairs.n]
            best = score.max()
            if best <= 0:
                return None
            pair = self._break_ties(np.flatnonzero(score >= best * _NEAR))
            listed = self._chunks[pairs.chunk[pair]][pairs.begin[pair] : pairs.end[pair]]
            positions = listed[self._at[listed] == pair]
            if self.rules.min_families <= 1 or self._n_families(positions) >= self.rules.min_families:
                return pair, positions
            pairs.kill(pair)  # the families of a pair only get fewer
        return None

    def _break_ties(self, candidates: npt.NDArray[np.intp]) -> int:
        """Highest rounded score, then frequency, then smallest expansions, then earliest symbols."""
        if len(candidates) == 1:
            return int(candidates[0])
        pairs = self._pairs
        columns = (pairs.frequency, pairs.length, pairs.good, pairs.known)[: 4 if self._rated else 2]
        counts = list(zip(*(column[candidates].tolist() for column in columns), strict=True))
        rounded = {count: self._rounded(*count) for count in set(counts)}
        best = max(rounded.values())
        candidates = candidates[[rounded[count] == best for count in counts]]
        frequency = pairs.frequency[candidates]
        candidates = candidates[frequency == frequency.max()]
        left, right = pairs.left[candidates], pairs.right[candidates]
        rank = self._ranks.of
        return int(candidates[np.lexsort((right, left, rank[right], rank[left]))[0]])

    def _rate(self, good: int, known: int) -> float:
        return good / known if known else self._base

    def _rounded(self, frequency: int, length: int, good: int = 1, known: int = 1) -> float:
        return self.rules.score(frequency, length, self._rate(good, known))

    def _n_families(self, positions: Ints) -> int:
        episodes = self._episode[positions]
        episodes = episodes[self._class[episodes] != IGNORED]
        return int((np.unique(self._families[episodes]) >= 0).sum())

    def _merge(self, pair: int, positions: Ints) -> Merge:
        """Replace the pair at its positions by a new symbol; bring neighbours, pairs and counts up to date."""
        pairs, symbols, at, lengths = self._pairs, self._symbols, self._at, self._lengths
        u, v, length = int(pairs.left[pair]), int(pairs.right[pair]), int(pairs.length[pair])
        frequency, known, good = int(pairs.frequency[pair]), int(pairs.known[pair]), int(pairs.good[pair])
        if not self._rated:
            known = good = 1
        new = self._n_symbols
        self._n_symbols += 1
        lengths[new] = length
        self._ranks.add(u, v)

        l_u = int(lengths[u])
        here = disjoint(positions, l_u) if u == v else positions
        second = here + l_u
        after = here + length
        before = here - lengths[symbols[here - 1]]
        symbols[here] = new
        symbols[after - 1] = new
        on_left, on_right = symbols[here - 1], symbols[after]
        kind = self._kinds(here)

        outer = on_left != new  # elsewhere the left neighbour is the merge before, whose right side is `second`
        lost, lost_kind = np.concatenate([at[second], at[before[outer]]]), _join(kind, kind, outer)
        if self._runs is not None:
            lost, lost_kind = self._lose_runs(u, v, positions, here, second, lost, lost_kind)
        pairs.kill(pair)
        self._forget(lost, lost_kind)
        at[second] = -1
        at[here] = -1
        outer &= on_left != SEPARATOR
        inner = on_right != SEPARATOR
        at[before[outer]] = -1
        self._list_new(
            new,
            here,
            np.concatenate([before[outer], here[inner]]),
            np.concatenate([on_left[outer], on_right[inner].astype(np.int64) + self._n_symbols]),
            None if kind is None else np.concatenate([kind[outer], kind[inner]]),
        )
        return Merge(u, v, frequency, self._rate(good, known), self._rounded(frequency, length, good, known), here)

    def _lose_runs(
        self, u: int, v: int, positions: Ints, here: Ints, second: Ints, lost: Ints, kind: Classes | None
    ) -> tuple[Ints, Classes | None]:
        """Replace the overlapping self-pairs among the lost ones by the disjoint ones that are lost."""
        assert self._runs is not None
        pairs, l_u, l_v = self._pairs, int(self._lengths[u]), int(self._lengths[v])
        single = (lost >= 0) & (pairs.left[lost] != pairs.right[lost])
        lost, kind = lost[single], None if kind is None else kind[single]
        if u == v:
            self._runs.dissolve(positions, l_u)
            return lost, kind
        last = self._runs.shorten(here, -l_u)
        first = self._runs.shorten(second, l_v)
        lost = np.concatenate([lost, self._at[last - l_u], self._at[first]])
        if kind is not None:
            kind = np.concatenate([kind, self._class[self._episode[np.concatenate([last, first])]]])
        return lost, kind

    def _forget(self, lost: Ints, kind: Classes | None) -> None:
        """Take away one occurrence of each pair in ``lost`` (-1 is none) and score the pairs that changed."""
        pairs = self._pairs
        live = lost >= 0
        if kind is not None:
            live &= kind != IGNORED
            np.subtract.at(pairs.known, lost[live & has_outcome(kind)], _ONE)
            np.subtract.at(pairs.good, lost[live & (kind == GOOD)], _ONE)
        lost = lost[live]
        np.subtract.at(pairs.frequency, lost, _ONE)
        self._rescore(pairs.distinct(lost))

    def _list_new(
        self, new: int, here: Ints, positions: Ints, key: npt.NDArray[np.int64], kind: Classes | None
    ) -> None:
        """Number, list and count the pairs that the merge made.

        Args:
            new: the new symbol, at the positions ``here``.
            positions: where a new pair starts.
            key: x for (x, new); number of symbols + y for (new, y).
            kind: class of each; None when classes do not count.
        """
        n = self._n_symbols
        length = np.tile(self._lengths[:n] + self._lengths[new], 2)
        counts = count(key, kind, 2 * n)
        if self._runs is not None:
            self._runs.measure(here, int(self._lengths[new]))
            self._recount(counts, n + new, disjoint(positions[key == n + new], int(self._lengths[new])))
        alive = np.flatnonzero((counts[0] >= self.rules.needed(length)) & (length <= self.rules.max_length))
        number = np.full(2 * n, -1, np.int32)
        number[alive] = np.arange(len(alive), dtype=np.int32)
        code = number[key]
        listed = code >= 0
        code, positions = code[listed], positions[listed]
        order = np.argsort(code.astype(np.uint16) if len(alive) < 2**16 else code, kind="stable")
        size = np.bincount(code, minlength=len(alive))
        end = np.cumsum(size)
        where = self._pairs.add(
            left=np.where(alive < n, alive, new),
            right=np.where(alive < n, new, alive - n),
            length=length[alive],
            chunk=len(self._chunks),
            begin=end - size,
            end=end,
            frequency=counts[0][alive],
            known=counts[1][alive],
            good=counts[2][alive],
        )
        self._chunks.append(positions[order])
        self._at[positions] = code + np.int32(where.start)
        self._rescore(np.arange(where.start, where.stop))


def _power(base: npt.NDArray[Any], exponent: float) -> npt.NDArray[Any]:
    real = base.astype(np.float64)
    return real if exponent == 1.0 else np.power(real, exponent)


def _join(kind: Classes | None, more: Classes | None, chosen: npt.NDArray[np.bool_]) -> Classes | None:
    return None if kind is None or more is None else np.concatenate([kind, more[chosen]])
