"""The corpus laid out for merging, and where each pair of adjacent symbols stands at the start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.mine.corpus import Corpus

Ints = npt.NDArray[np.int32]
Symbols = npt.NDArray[np.uint16] | Ints

SEPARATOR = 0


@dataclass(frozen=True, slots=True)
class Sequence:
    """All episodes in one array, a separator before each and one after the last.

    A symbol of length l that starts at position i covers i … i + l - 1 and is written at both ends,
    so both neighbours of any symbol are found by its length alone.
    """

    symbols: Symbols
    """Symbol at the first and last position of each span; :data:`SEPARATOR` between episodes."""
    starts: npt.NDArray[np.int64]
    """First positions of the spans (separators too), ascending."""
    episode: Ints
    """Episode of each position."""
    lengths: Ints
    """Primitives of each symbol; the separator counts as 1."""

    def step_of(self, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Index into ``Corpus.steps`` of each position."""
        steps: npt.NDArray[np.int64] = positions.astype(np.int64) - 1 - self.episode[positions]
        return steps


@dataclass(frozen=True, slots=True)
class PairIndex:
    """Where each pair (u, v) stands, separators excluded: p at ``order[first[p]:first[p + 1]]``, ascending."""

    order: Ints
    first: npt.NDArray[np.int64]
    left: Ints
    right: Ints
    at: Ints
    """Pair that starts at each position, -1 where none does."""


def lay_out(corpus: Corpus, room: int = 0) -> Sequence:
    """The corpus before any merge: token t is symbol t + 1.

    Args:
        corpus: the episodes.
        room: number of merges that will follow, so that symbols keep the narrowest type that holds all.
    """
    n = len(corpus.steps)
    episodes = np.arange(corpus.n_episodes, dtype=np.int32)
    size = n + corpus.n_episodes + 1
    narrow = len(corpus.tokens) + 1 + room < 2**16
    symbols: Symbols = np.zeros(size, np.uint16) if narrow else np.zeros(size, np.int32)
    episode = np.empty(size, np.int32)
    episode[:-1] = np.repeat(episodes, corpus.lengths + 1)
    episode[-1] = max(corpus.n_episodes - 1, 0)
    inside = np.ones(size, bool)
    inside[corpus.starts + np.arange(corpus.n_episodes + 1)] = False
    symbols[inside] = (corpus.token_of + 1)[corpus.steps]
    return Sequence(symbols, np.arange(size), episode, np.ones(len(corpus.tokens) + 1, np.int32))


def index_pairs(sequence: Sequence) -> PairIndex:
    """Sort the positions by the pair that starts there: two stable passes, right symbol then left."""
    spans = sequence.symbols[sequence.starts]
    left, right = spans[:-1], spans[1:]
    inside = np.flatnonzero((left != SEPARATOR) & (right != SEPARATOR))
    left, right = left[inside], right[inside]
    by_right = np.argsort(right, kind="stable")
    order = by_right[np.argsort(left[by_right], kind="stable")]
    left, right = left[order], right[order]
    change = np.flatnonzero((left[1:] != left[:-1]) | (right[1:] != right[:-1])) + 1
    first = np.concatenate([[0], change, [len(order)]]) if len(order) else np.zeros(1, np.int64)
    positions = sequence.starts[inside[order]].astype(np.int32)
    at = np.full(len(sequence.symbols), -1, np.int32)
    at[positions] = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    heads = first[:-1]
    return PairIndex(positions, first, left[heads].astype(np.int32), right[heads].astype(np.int32), at)
