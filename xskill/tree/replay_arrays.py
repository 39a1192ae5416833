"""The replay of a tree's merges on many episodes at once, in numpy.

The definition is :func:`xskill.tree.replay.encode`, one episode at a time; the tests hold the two equal. Here a merge
costs a few array operations for all episodes together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xskill.array_types import Ints64

GAP = -1
"""Cell behind the last step of each episode: no merge crosses it."""
INSIDE = -2
"""Cell of a step inside a node: what stands there is told by the cell of the node's first step."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the merges did to a line of cells."""

    line: NDArray[Any]
    """The tiling: a symbol in the cell of each piece's first step, else :data:`INSIDE` or :data:`GAP`."""
    adjacent: list[Ints64]
    """Of each merge: cells where its pair stood, ascending; in ``a a a`` the pair (a, a) stands twice."""
    starts: list[Ints64]
    """Of each merge: first cells of the occurrences that it took, ascending."""


def replay(line: NDArray[Any], pairs: Sequence[tuple[int, int]], cells: Sequence[Ints64]) -> Replayed:
    """All merges in order, each on all episodes at once.

    Every symbol has a sorted list of the cells where it stood when it was made. Symbols only disappear afterwards, so
    a merge (u, v) finds all its occurrences among the cells of u: those where u still stands, with v behind it. That
    costs a few array operations on the cells of u, instead of a pass over the line.

    Args:
        line: a cell for each step with its primitive, and a :data:`GAP` after each episode; it is written over.
        pairs: children of each merge, as symbols: primitives from 0, then the merges in order; -1 stands nowhere.
        cells: where each primitive stands (:func:`cells_of`).
    """
    standing = list(cells)
    lengths = [1] * len(standing)
    nowhere = np.empty(0, np.int64)
    adjacent, starts = [], []
    for symbol, (u, v) in enumerate(pairs, len(standing)):
        taken = pair = nowhere
        if u >= 0 and v >= 0 and len(standing[u]) and len(standing[v]):
            # Earlier merges took some of u's cells; what they left is kept, so that no cell is dropped twice.
            here = standing[u] = standing[u][line[standing[u]] == u]
            pair = here[line[here + lengths[u]] == v]
            taken = from_the_left(pair, lengths[u]) if u == v else pair
            write(line, taken, symbol, lengths[u])
        adjacent.append(pair)
        starts.append(taken)
        standing.append(taken)
        lengths.append((lengths[u] if u >= 0 else 1) + (lengths[v] if v >= 0 else 1))
    return Replayed(line, adjacent, starts)


def write(line: NDArray[Any], starts: NDArray[Any], symbol: int, offset: int) -> None:
    """One merge on the line: ``symbol`` at the starts of its pair, whose right half begins ``offset`` cells further."""
    line[starts] = symbol
    line[starts + offset] = INSIDE


def cells_of(line: NDArray[Any], n: int) -> list[Ints64]:
    """Where each of the symbols 0 to ``n`` - 1 stands, ascending."""
    order = np.argsort(line, kind="stable")  # linear for 16 bits: numpy sorts them by radix
    bounds = np.searchsorted(line[order], np.arange(n + 1))
    return [order[first:last] for first, last in pairwise(bounds.tolist())]


def from_the_left(starts: NDArray[Any], step: int) -> NDArray[Any]:
    """Of the ascending places of a self-pair (overlapping ones ``step`` apart), those a greedy pass takes.

    A run of overlapping places holds every second one, its first included: its number within the run is even.
    """
    if len(starts) < 2:
        return starts
    number = np.arange(len(starts))
    begins = np.ones(len(starts), bool)
    np.not_equal(starts[1:] - starts[:-1], step, out=begins[1:])
    taken: NDArray[Any] = starts[(number - np.maximum.accumulate(np.where(begins, number, 0))) % 2 == 0]
    return taken
