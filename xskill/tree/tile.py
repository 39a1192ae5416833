"""Encode episodes with a tree: its merges in id order, each greedy from the left (byte-pair encoding).

A merge can only create pairs whose own merge comes later, so taking the earliest merge, leftmost pair first, off a
heap gives the same tiling as one pass over the episode for each merge, in O(n log n) for n actions instead of
O(n * merges).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, TypeVar

import msgspec

from xskill.errors import BadRecord
from xskill.records import Episode, Node, Tile, Trajectory
from xskill.streams.orphans import tell_orphans
from xskill.tree.xtree import XTree

if TYPE_CHECKING:
    from xskill.streams.run import Run

R = TypeVar("R", Trajectory, Episode)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tiler:
    """A tree made ready for tiling: every symbol is a small integer, primitives first, then nodes in merge order.

    A token is looked up among primitives only, so a logged action that is called like a node id is no node.
    """

    nodes: tuple[Node, ...]
    codes: dict[str, int]
    """Primitive token → symbol. A token that no merge uses is the symbol ``width - 1``."""
    width: int
    """Number of symbols, the unknown one included; a pair (u, v) has the key ``u * width + v``."""
    ranks: dict[int, int]
    """Key of a pair → index of the node that merges it."""
    pairs: tuple[tuple[int, int], ...]
    """Children of each node, as symbols."""

    @property
    def n_primitives(self) -> int:
        return len(self.codes)


def tiler(tree: XTree) -> Tiler:
    """Make ``tree`` ready for :func:`tile`."""
    index = {node.id: rank for rank, node in enumerate(tree.nodes)}
    codes: dict[str, int] = {}
    for node in tree.nodes:
        for child in node.children:
            if child not in index:
                codes.setdefault(child, len(codes))
    width = len(codes) + len(tree.nodes) + 1
    symbol = {**codes, **{name: len(codes) + rank for name, rank in index.items()}}
    pairs = tuple((symbol[node.children[0]], symbol[node.children[1]]) for node in tree.nodes)
    ranks: dict[int, int] = {}
    for rank, (u, v) in enumerate(pairs):
        ranks.setdefault(u * width + v, rank)
    return Tiler(tree.nodes, codes, width, ranks, pairs)


def encode(tiler: Tiler, actions: Sequence[str]) -> list[tuple[int, int]]:
    """The top-level pieces of ``actions`` as (symbol, index of the first action), in order.

    A symbol below ``tiler.n_primitives``, or equal to ``tiler.width - 1``, is a left-over action; any other is
    ``n_primitives + rank`` of a node.
    """
    n, width, ranks, pairs = len(actions), tiler.width, tiler.ranks, tiler.pairs
    base, unknown, get = len(tiler.codes), width - 1, tiler.codes.get
    symbols = [get(action, unknown) for action in actions]
    heap: list[int] = []  # rank * n + position: one comparison orders by merge, then from the left
    previous = unknown
    for position, symbol in enumerate(symbols):
        rank = ranks.get(previous * width + symbol)
        if rank is not None:
            heap.append(rank * n + position - 1)
        previous = symbol
    if not heap:
        return list(zip(symbols, range(n), strict=True))
    heapify(heap)
    before, after = list(range(-1, n - 1)), list(range(1, n + 1))
    while heap:
        rank, left = divmod(heappop(heap), n)
        u, v = pairs[rank]
        right = after[left]
        if symbols[left] != u or right == n or symbols[right] != v:
            continue  # one of the two was merged away since
        merged = symbols[left] = base + rank
        symbols[right] = -1
        beyond = after[left] = after[right]
        if beyond < n:
            before[beyond] = left
            later = ranks.get(merged * width + symbols[beyond])
            if later is not None:
                heappush(heap, later * n + left)
        ahead = before[left]
        if ahead >= 0:
            later = ranks.get(symbols[ahead] * width + merged)
            if later is not None:
                heappush(heap, later * n + ahead)
    return [(symbol, position) for position, symbol in enumerate(symbols) if symbol >= 0]


def tile(tiler: Tiler, actions: Sequence[str], start: int = 0) -> list[Tile]:
    """The tiling of ``actions[start:]``; ``Tile.start`` counts from the first of all actions."""
    return as_tiles(tiler, actions, encode(tiler, actions[start:] if start else actions), start)


def as_tiles(tiler: Tiler, actions: Sequence[str], pieces: Iterable[tuple[int, int]], start: int = 0) -> list[Tile]:
    """What :func:`encode` found for ``actions[start:]``, as records."""
    base, last = len(tiler.codes), tiler.width - 1
    tiles = []
    for symbol, position in pieces:
        if base <= symbol < last:
            node = tiler.nodes[symbol - base]
            tiles.append(Tile(node=node.id, start=start + position, length=node.length))
        else:
            tiles.append(Tile(token=actions[start + position], start=start + position))
    return tiles


def derivation(tiler: Tiler, rank: int, start: int) -> Iterator[tuple[int, int]]:
    """Every node inside the occurrence of node ``rank`` at ``start``, itself first: (rank, first action)."""
    base = len(tiler.codes)
    stack = [(rank, start)]
    while stack:
        rank, start = stack.pop()
        yield rank, start
        u, v = tiler.pairs[rank]
        if v >= base:
            stack.append((v - base, start + (tiler.nodes[u - base].length if u >= base else 1)))
        if u >= base:
            stack.append((u - base, start))


def own_start(record: Trajectory | Episode) -> int:
    """Index of the first action that the record generated itself: 0, or where a branch left its parent.

    Raises:
        BadRecord: the branch claims to have copied more actions than it has.
    """
    if record.parent is None:
        return 0
    step = record.parent.turn if record.parent.step is None else record.parent.step
    if not 0 <= step <= len(record.actions):
        field = "turn" if record.parent.step is None else "step"
        raise BadRecord(
            f"expected 0 to {len(record.actions)}, the number of actions, got {step}", path=f"parent.{field}"
        )
    return step


def own_tiles(record: Trajectory | Episode, tiler: Tiler) -> list[Tile]:
    """The tiling of the part that the record generated itself."""
    return tile(tiler, record.actions, own_start(record))


def tiled(record: Trajectory, tiler: Tiler) -> Trajectory:
    """``record`` with ``tiles``, ``coverage`` and ``tokens_per_action`` over the part that it generated itself.

    ``coverage`` = actions inside nodes / actions; ``tokens_per_action`` = tiles / actions; both null without actions.
    """
    tiles = own_tiles(record, tiler)
    n = sum(piece.length for piece in tiles)
    covered = sum(piece.length for piece in tiles if piece.node is not None)
    return msgspec.structs.replace(
        record, tiles=tiles, coverage=covered / n if n else None, tokens_per_action=len(tiles) / n if n else None
    )


def each_good(records: Iterable[R], work: Callable[[R], T], run: Run) -> Iterator[T]:
    """``work`` on each record as it is read; one that it finds bad goes the way of bad records, under its id.

    At the end the run is told of branches whose parent was not there: their copied steps are in no tiling.
    """
    for record in tell_orphans(records, run, "are tiled nowhere"):
        try:
            done = work(record)
        except BadRecord as error:
            run.kept -= 1
            run.bad(BadRecord(f"{error.reason} (trajectory {record.id})", path=error.path).at(*run.place))
        else:
            yield done
