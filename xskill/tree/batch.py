"""Tilings of many episodes at once: one pass over all of them for each merge, in numpy.

The definition itself (each merge in order, greedy from the left), so that a merge costs a few array operations for
thousands of episodes; :func:`xskill.tree.tile.encode` gives the same for one episode and is faster there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from xskill.array_types import Ints64
from xskill.records import Tile
from xskill.tree.tile import Tiler, encode

MOST_PAIRS = 1 << 22
"""Entries of the table of pairs; a tree with more symbols than its root is tiled episode by episode."""


class _Codes(dict[str, int]):
    """Token → symbol; a token that no merge uses gets the next number from the tiler's width on."""

    def __init__(self, tiler: Tiler) -> None:
        super().__init__(tiler.codes)
        self.next = tiler.width

    def __missing__(self, token: str) -> int:
        symbol = self[token] = self.next
        self.next += 1
        return symbol


@dataclass(frozen=True, slots=True)
class Tilings:
    """The top-level pieces of n episodes, p in all."""

    symbol: Ints64
    """[p] as in :func:`encode`, but unknown tokens have symbols of their own, from ``tiler.width`` on."""
    position: Ints64
    """[p] index of the first action in its episode."""
    start: Ints64
    """[n + 1] first piece of each episode."""
    tokens: list[str]
    """Token of each symbol that is no node's: of a primitive, or (behind these) of an unknown one."""


def encode_all(tiler: Tiler, episodes: Sequence[Sequence[str]]) -> Tilings:
    """The same pieces as ``encode(tiler, actions)`` for the actions of each episode."""
    codes = _Codes(tiler)
    lengths = np.fromiter(map(len, episodes), np.int64, len(episodes))
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    symbols = np.fromiter(map(codes.__getitem__, chain.from_iterable(episodes)), np.int64, first[-1])
    tokens = list(codes)
    if tiler.width**2 > MOST_PAIRS:
        return _one_by_one(tiler, episodes, symbols, first, tokens)
    merged = _merge(tiler, symbols, lengths)
    kept = np.flatnonzero(merged >= 0)
    position = np.arange(first[-1]) - np.repeat(first[:-1], lengths)
    return Tilings(merged[kept], position[kept], np.searchsorted(kept, first), tokens)


def _merge(tiler: Tiler, symbols: Ints64, lengths: Ints64) -> Ints64:
    """[n] the symbol that begins at each action, -1 inside a node."""
    n, base, unknown = len(symbols), len(tiler.codes), tiler.width - 1
    rank_of = np.full((tiler.width, tiler.width), -1, np.int16)
    for key, merge in tiler.ranks.items():
        rank_of[divmod(key, tiler.width)] = merge
    # A last place, of the unknown symbol, stands before the first and behind the last action of every episode.
    at = np.append(np.minimum(symbols, unknown), unknown).astype(np.int16)
    before, after = np.arange(-1, n, dtype=np.int32), np.arange(1, n + 2, dtype=np.int32)
    ends = np.cumsum(lengths)[lengths > 0]
    before[ends - lengths[lengths > 0]] = after[ends - 1] = after[n] = n
    rank = rank_of[at, at[after]]
    waits = np.zeros(len(tiler.nodes) + 1, bool)  # the last is for -1, no pair
    waits[rank] = True
    for merge, (u, v) in enumerate(tiler.pairs):
        if not waits[merge]:
            continue
        left = np.flatnonzero(rank == merge)
        right = after[left]
        if u == v and len(left) > 1:
            keep = _alternate(left, right)
            left, right = left[keep], right[keep]
        beyond = after[right]
        at[left], at[right], rank[right] = base + merge, -1, -1
        after[left], before[beyond] = beyond, left
        for place in (left, before[left]):
            rank[place] = rank_of[at[place], at[after[place]]]
            waits[rank[place]] = True
    return np.where(at[:n] == unknown, symbols, at[:n])


def _alternate(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """In ``a a a a``, every second pair of each run, the first of them included."""
    opens = np.ones(len(left), bool)
    opens[1:] = left[1:] != right[:-1]
    index = np.arange(len(left))
    even: NDArray[np.bool_] = (index - np.maximum.accumulate(np.where(opens, index, 0))) % 2 == 0
    return even


def _one_by_one(
    tiler: Tiler, episodes: Sequence[Sequence[str]], symbols: Ints64, first: Ints64, tokens: list[str]
) -> Tilings:
    pieces = [encode(tiler, actions) for actions in episodes]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(found) for found in pieces], dtype=np.int64)])
    symbol, position = np.array([*chain.from_iterable(pieces)], np.int64).reshape(-1, 2).T
    place = np.repeat(first[:-1], np.diff(start)) + position
    return Tilings(np.where(symbol == tiler.width - 1, symbols[place], symbol), position, start, tokens)


def as_json(tiler: Tiler, tilings: Tilings) -> list[bytes]:
    """Each piece as JSON, as :func:`xskill.tree.tile.as_tiles` would have it. [p]"""
    stride = int(tilings.position.max(initial=0)) + 1
    texts = _Texts(tiler, tilings.tokens, stride)
    return list(map(texts.__getitem__, (tilings.symbol * stride + tilings.position).tolist()))


class _Texts(dict[int, bytes]):
    """symbol * stride + position → JSON."""

    def __init__(self, tiler: Tiler, tokens: list[str], stride: int) -> None:
        super().__init__()
        self._tiler, self._tokens, self._stride = tiler, tokens, stride
        self._pack = msgspec.json.Encoder().encode

    def __missing__(self, piece: int) -> bytes:
        symbol, start = divmod(piece, self._stride)
        base, width = len(self._tiler.codes), self._tiler.width
        if base <= symbol < width:
            node = self._tiler.nodes[symbol - base]
            tile = Tile(node=node.id, start=start, length=node.length)
        else:
            tile = Tile(token=self._tokens[symbol if symbol < base else symbol - width + base], start=start)
        text = self[piece] = self._pack(tile)
        return text
