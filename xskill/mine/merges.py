"""The hot loop: choose the best pair, merge it everywhere, update what changed. Near-linear.

Every occurrence of a pair exists from the moment its newer symbol is made and only disappears
afterwards. So a pair's sorted positions are listed once, when its newer symbol is made, and are
filtered on use by the pair that each position starts now; a pair below its needed frequency is dead
for good; a merge touches only its own occurrences and their two neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.mine.board import Board, Ranks
from xskill.mine.layout import SEPARATOR, PairIndex, SymbolLine
from xskill.mine.outcomes import GOOD, IGNORED, Classes, Counts, Prior, count, has_outcome
from xskill.mine.rules import Gate, MineRules
from xskill.mine.runs import Runs
from xskill.tree.replay_arrays import from_the_left


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
    positions: Ints32
    """First positions of all replaced occurrences, ascending, in episodes of any outcome."""


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """A corpus before its first merge. A miner copies what it changes, so many can start from one."""

    sequence: SymbolLine
    index: PairIndex
    """Where the pairs of the sequence stand."""
    families: Ints32
    """Task type of each episode, -1 for null. [n_episodes]"""
    expansions: Sequence[tuple[int, ...]]
    """Tokens of each symbol of the sequence."""


class Miner:
    """Greedy X-Tree merging of one sequence under one assignment of outcomes.

    Args:
        start: the corpus.
        classes: what each episode counts for (:mod:`xskill.mine.outcomes`). [n_episodes]
        rules: what may merge, and the score.
        prior: counts of episodes that are not at hand.
        gates: in place of the rules' own, when runs under several are shared: a pair may merge that
            passes the loosest, and the caller parts the run (:meth:`fork`) where one shuts a pair out.
    """

    def __init__(
        self,
        start: StartingPoint,
        classes: Classes,
        rules: MineRules,
        prior: Prior = Prior(),
        gates: Sequence[Gate] | None = None,
    ) -> None:
        sequence = start.sequence
        self.rules = rules
        self._class = classes
        self._families = start.families
        self._episode = sequence.episode
        self._symbols = sequence.symbols.copy()
        self._n_symbols = len(sequence.lengths)
        room = self._n_symbols + rules.max_skills
        self._lengths = np.ones(room, np.int32)
        self._lengths[: self._n_symbols] = sequence.lengths
        self.board = Board(
            rules,
            gates or (rules.gate,),
            n_known=int(has_outcome(classes).sum()) + prior.known,
            n_good=int((classes == GOOD).sum()) + prior.good,
            ranks=Ranks(start.expansions, room),
            longest=int(sequence.lengths.max()),
        )
        self._classed = self.board.rated or bool((classes == IGNORED).any())
        """Whether the class of an occurrence changes any count."""
        self._runs = Runs(sequence) if rules.self_pairs == "disjoint" else None
        self._start(start.index, prior)

    def run(self) -> list[Merge]:
        """Merge until no pair is eligible or ``max_skills`` nodes exist."""
        merges: list[Merge] = []
        while len(merges) < self.rules.max_skills:
            chosen = self.choose()
            if chosen is None:
                break
            merges.append(self.merge(*chosen))
        return merges

    def fork(self, gates: Sequence[Gate]) -> Miner:
        """A copy that goes on from here under some of the gates."""
        other = copy(self)
        other._symbols, other._at, other._lengths = self._symbols.copy(), self._at.copy(), self._lengths.copy()
        other._runs = None if self._runs is None else self._runs.copy()
        other._chunks = list(self._chunks)
        other.board = self.board.copy()
        other.board.narrow(gates)
        return other

    def choose(self) -> tuple[int, Ints32] | None:
        """The best eligible pair and the positions where it stands now; None when there is none."""
        pairs = self.board.pairs
        while (pair := self.board.best()) is not None:
            listed = self._chunks[pairs.chunk[pair]][pairs.begin[pair] : pairs.end[pair]]
            positions = listed[self._at[listed] == pair]
            if self.rules.min_families <= 1 or self._n_families(positions) >= self.rules.min_families:
                return pair, positions
            pairs.kill(pair)  # the families of a pair only get fewer
        return None

    def merge(self, pair: int, positions: Ints32) -> Merge:
        """Replace the pair at its positions by a new symbol; bring neighbours, pairs and counts up to date."""
        pairs, symbols, at, lengths = self.board.pairs, self._symbols, self._at, self._lengths
        u, v, length = int(pairs.left[pair]), int(pairs.right[pair]), int(pairs.length[pair])
        frequency, rate, score = int(pairs.frequency[pair]), self.board.rate(pair), self.board.score(pair)
        new = self._n_symbols
        self._n_symbols += 1
        lengths[new] = length
        self.board.merged(pair)

        # Where the merge and its two neighbours stand. A symbol is written at both its ends, so the neighbour on the
        # left is read in the cell before, and begins its own length before that; on the right, in the cell behind.
        # All of this and what follows costs a few passes over the occurrences, not over the corpus.
        l_u = int(lengths[u])
        here = from_the_left(positions, l_u) if u == v else positions
        second = here + l_u
        after = here + length
        before = here - lengths[symbols[here - 1]]
        symbols[here] = new
        symbols[after - 1] = new
        on_left, on_right = symbols[here - 1], symbols[after]
        kind = self._kinds(here)

        # Pairs that the merge ends: (v, right) at `second` and (left, u) at `before`. Where two merges stand side by
        # side, the left pair of the second is the pair at `second` of the first, and must not be counted twice.
        outer = on_left != new
        lost = np.concatenate([at[second], at[before[outer]]])
        lost_kind = None if kind is None else np.concatenate([kind, kind[outer]])
        if self._runs is not None:
            lost, lost_kind = self._lose_runs(u, v, positions, here, second, lost, lost_kind)
        self.board.forget(lost, lost_kind)
        # Pairs that it makes: (left, new) at `before` and (new, right) at `here`; none reaches over a separator, and
        # (new, new) is listed once, as the right-hand pair of the first of the two.
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
        return Merge(u, v, frequency, rate, score, here)

    def _start(self, index: PairIndex, prior: Prior) -> None:
        # Count the pairs of the laid-out corpus: by the class of their episodes where it matters, else by position.
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
                self._recount(counts, int(double), from_the_left(listed, int(self._lengths[index.left[double]])))
        for place, both in enumerate(
            zip(index.left.tolist(), index.right.tolist(), strict=True) if prior.pairs else ()
        ):
            for column, more in zip(counts, prior.pairs.get(both, (0, 0, 0)), strict=True):
                column[place] += more
        # Pairs below what they need are never looked at again, for counts only fall: the rest is numbered anew.
        length = self._lengths[index.left] + self._lengths[index.right]
        alive = np.flatnonzero(counts[0] >= self.board.needed[length])
        number = np.full(n + 1, -1, np.int32)
        number[alive] = np.arange(len(alive), dtype=np.int32)
        self._at = number[index.at]
        self._chunks = [index.order]
        self.board.add(
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

    def _list_new(
        self, new: int, here: Ints32, positions: Ints32, key: npt.NDArray[np.int64], kind: Classes | None
    ) -> None:
        """Number, list and count the pairs that the merge made.

        Args:
            new: the new symbol, at the positions ``here``.
            positions: where a new pair starts.
            key: x for (x, new); number of symbols + y for (new, y).
            kind: class of each; None when classes do not count.
        """
        # A key for each possible pair with the new symbol, so that one count over the positions counts all of them:
        # x for (x, new) and n + y for (new, y). This costs the positions, and twice the number of symbols.
        n = self._n_symbols
        length = np.tile(self._lengths[:n] + self._lengths[new], 2)
        counts = count(key, kind, 2 * n)
        if self._runs is not None:
            self._runs.measure(here, int(self._lengths[new]))
            self._recount(counts, n + new, from_the_left(positions[key == n + new], int(self._lengths[new])))
        # Only pairs that may ever merge get a row; positions of the others keep no pair.
        alive = np.flatnonzero(counts[0] >= self.board.needed[length])
        number = np.full(2 * n, -1, np.int32)
        number[alive] = np.arange(len(alive), dtype=np.int32)
        code = number[key]
        listed = code >= 0
        code, positions = code[listed], positions[listed]
        # Grouped by pair and ascending within it (the sort is stable): each pair's positions are one slice.
        order = np.argsort(code.astype(np.uint16) if len(alive) < 2**16 else code, kind="stable")
        size = np.bincount(code, minlength=len(alive))
        end = np.cumsum(size)
        where = self.board.add(
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

    def _kinds(self, positions: Ints32) -> Classes | None:
        """Class of the episode at each position; None when no count depends on it."""
        return self._class[self._episode[positions]] if self._classed else None

    def _recount(self, counts: Counts, key: int, positions: Ints32) -> None:
        """Put the counts of a disjointly counted self-pair in the place of the overlapping ones."""
        one = count(np.zeros(len(positions), np.intp), self._kinds(positions), 1)
        for column, number in zip(counts, one, strict=True):
            column[key] = number[0]

    def _lose_runs(
        self, u: int, v: int, positions: Ints32, here: Ints32, second: Ints32, lost: Ints32, kind: Classes | None
    ) -> tuple[Ints32, Classes | None]:
        """Among the lost pairs, put the disjoint self-pairs that are lost in the place of the overlapping ones."""
        assert self._runs is not None
        # Overlapping self-pairs are no occurrences here, so what the caller lost of them is not counted. What is lost
        # instead: a merge (u, u) dissolves whole runs of u; any other takes a symbol off the end of a run of u and off
        # the beginning of a run of v, each of which loses a disjoint pair when its length was even.
        pairs, l_u, l_v = self.board.pairs, int(self._lengths[u]), int(self._lengths[v])
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

    def _n_families(self, positions: Ints32) -> int:
        episodes = self._episode[positions]
        episodes = episodes[self._class[episodes] != IGNORED]
        return int((np.unique(self._families[episodes]) >= 0).sum())
