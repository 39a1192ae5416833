"""The corpus laid out for merging, and where each pair of adjacent symbols stands at the start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.mine.corpus import CodedCorpus

Symbols = npt.NDArray[np.uint16] | Ints32

SEPARATOR = 0


@dataclass(frozen=True, slots=True)
class SymbolLine:
    """All episodes in one array, a separator before each and one after the last.

    A symbol of length l that starts at position i covers i … i + l - 1 and is written at both ends,
    so both neighbours of any symbol are found by its length alone.
    """

    symbols: Symbols
    """Symbol at the first and last position of each span; :data:`SEPARATOR` between episodes."""
    starts: npt.NDArray[np.int64] | None
    """First positions of the spans (separators too), ascending; None: every position is one span."""
    episode: Ints32
    """Episode of each position."""
    lengths: Ints32
    """Primitives of each symbol; the separator counts as 1."""

    def step_of(self, positions: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Index into ``CodedCorpus.steps`` of each position."""
        steps: npt.NDArray[np.int64] = positions.astype(np.int64) - 1 - self.episode[positions]
        return steps


@dataclass(frozen=True, slots=True)
class PairIndex:
    """Where each pair (u, v) stands that occurs often enough: p at ``order[first[p]:first[p + 1]]``, ascending."""

    order: Ints32
    first: npt.NDArray[np.int64]
    left: Ints32
    right: Ints32
    at: Ints32
    """Pair that starts at each position, -1 where none does."""


def lay_out(corpus: CodedCorpus, room: int = 0) -> SymbolLine:
    """The corpus before any merge: token t is symbol t + 1.

    Args:
        corpus: the episodes.
        room: number of merges that will follow, so that symbols keep the narrowest type that holds all.
    """
    # A separator stands before each episode and behind the last, so the steps of episode e move by e + 1 cells.
    # Symbols of 16 bits halve what every pass over the corpus reads, and are sorted in linear time.
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
    return SymbolLine(symbols, None, episode, np.ones(len(corpus.tokens) + 1, np.int32))


def index_pairs(sequence: SymbolLine, least: int = 2) -> PairIndex:
    """List the positions of each pair that occurs ``least`` times (once alone can never pay for a merge)."""
    spans = sequence.symbols if sequence.starts is None else sequence.symbols[sequence.starts]
    # One number for each pair of neighbours; after a stable sort, equal pairs stand together with positions ascending.
    # The sort costs two passes of 16 bits over the corpus, once for all runs over it.
    n_symbols = len(sequence.lengths)
    key: npt.NDArray[np.int32] | npt.NDArray[np.int64]
    key = spans[:-1].astype(np.int32) if n_symbols**2 < 2**31 else spans[:-1].astype(np.int64)
    key = key * key.dtype.type(n_symbols) + spans[1:].astype(key.dtype)
    order = _argsort(key)
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.empty(0, np.intp)
    frequency = np.diff(np.append(first, len(key)))
    left, right = np.divmod(key[first], n_symbols)
    # Rare pairs can never pay for a merge: dropping them here keeps most of the long tail out of all later arrays.
    useful = (frequency >= least) & (left != SEPARATOR) & (right != SEPARATOR)
    order = order[np.repeat(useful, frequency)]
    positions = (order if sequence.starts is None else sequence.starts[order]).astype(np.int32)
    frequency = frequency[useful]
    at = np.full(len(sequence.symbols), -1, np.int32)
    at[positions] = np.repeat(np.arange(len(frequency), dtype=np.int32), frequency)
    return PairIndex(
        order=positions,
        first=np.concatenate([[0], np.cumsum(frequency)]),
        left=left[useful].astype(np.int32),
        right=right[useful].astype(np.int32),
        at=at,
    )


def _argsort(key: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """Stable argsort of non-negative keys, 16 bits a pass: numpy sorts 16-bit numbers in linear time."""
    order = np.argsort((key & 0xFFFF).astype(np.uint16), kind="stable")
    shift = 16
    while len(key) and int(key.max()) >> shift:
        order = order[np.argsort(((key >> shift) & 0xFFFF).astype(np.uint16)[order], kind="stable")]
        shift += 16
    return order
