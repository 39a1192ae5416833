"""Tilings of many episodes at once, as arrays and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec
import numpy as np

from xskill.array_types import Ints64
from xskill.records import Tile
from xskill.tree.replay import Tiler
from xskill.tree.replay_arrays import GAP, cells_of, replay

NARROW = 1 << 15
"""Symbols that fit 16 bits, which numpy sorts in linear time."""


class _SymbolOf(dict[str, int]):
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
    symbol_of = _SymbolOf(tiler)
    lengths = np.fromiter(map(len, episodes), np.int64, len(episodes))
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    symbols = np.fromiter(map(symbol_of.__getitem__, chain.from_iterable(episodes)), np.int64, first[-1])
    # The line of the replay: one cell a step and a gap after each episode. No merge uses an unknown token, so all of
    # them may share one symbol there, which keeps the cells narrow.
    cell = np.arange(first[-1]) + np.repeat(np.arange(len(episodes)), lengths)
    unknown = tiler.width - 1
    line = np.full(first[-1] + len(episodes), GAP, np.int16 if tiler.width < NARROW else np.int32)
    line[cell] = np.minimum(symbols, unknown)
    tops = replay(line, tiler.pairs, cells_of(line, tiler.n_primitives)).line[cell]
    # Back from cells to steps; where the shared symbol is left over, the token's own symbol comes back.
    kept = np.flatnonzero(tops >= 0)  # the others lie inside a node that begins before them
    symbol = np.where(tops == unknown, symbols, tops)[kept]
    position = np.arange(first[-1]) - np.repeat(first[:-1], lengths)
    return Tilings(symbol, position[kept], np.searchsorted(kept, first), list(symbol_of))


def as_json(tiler: Tiler, tilings: Tilings) -> list[bytes]:
    """Each piece as JSON, as :func:`xskill.tree.tiles.as_tiles` would have it. [p]"""
    # The same few (symbol, place) come again and again: each is packed once and looked up by one integer.
    stride = int(tilings.position.max(initial=0)) + 1
    json_of = _JsonOf(tiler, tilings.tokens, stride)
    return list(map(json_of.__getitem__, (tilings.symbol * stride + tilings.position).tolist()))


class _JsonOf(dict[int, bytes]):
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
