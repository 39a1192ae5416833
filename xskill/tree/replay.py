"""The replay of a tree's merges on one episode: in the order of the nodes, each greedy from the left.

This is byte-pair encoding, plainly written; :mod:`xskill.tree.replay_arrays` does the same to many episodes at once,
and the tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from xskill.records import Node
from xskill.tree.xtree import XTree


@dataclass(frozen=True, slots=True)
class Tiler:
    """A tree made ready for its replay: every symbol is a small integer, primitives first, then nodes in merge order.

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
    """Make ``tree`` ready for :func:`encode`."""
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
    """The top-level pieces of one episode's ``actions`` as (symbol, index of the first action), in order.

    A merge can only create pairs whose own merge comes later, so taking the earliest merge, leftmost pair first, off a
    heap gives the same tiling as one pass over the episode for each merge, in O(n log n) for n actions instead of
    O(n * merges).

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
