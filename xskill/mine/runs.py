"""Runs of one symbol, for self-pairs that are counted disjointly: a run of m holds m // 2 of them."""

from __future__ import annotations

from copy import copy

import numpy as np

from xskill.array_types import Ints32
from xskill.mine.layout import SymbolLine


class Runs:
    """Length of each run, kept at its first and last symbol."""

    def __init__(self, sequence: SymbolLine) -> None:
        # Both edges of a run hold its length, so that taking a symbol off either edge touches two cells and no more.
        self._size = np.ones(len(sequence.symbols), np.int32)
        starts = np.arange(len(sequence.symbols)) if sequence.starts is None else sequence.starts
        spans = sequence.symbols[starts]
        begins = np.concatenate([[0], np.flatnonzero(spans[1:] != spans[:-1]) + 1])
        ends = np.append(begins[1:], len(spans)) - 1
        for edge in (begins, ends):
            self._size[starts[edge]] = ends - begins + 1

    def copy(self) -> Runs:
        """The same runs, to be changed apart."""
        other = copy(self)
        other._size = self._size.copy()
        return other

    def measure(self, positions: Ints32, length: int) -> None:
        """Write down the runs of a new symbol of ``length`` that stands at the ascending positions."""
        # Equal neighbours stand exactly one length apart; any larger step begins a run.
        begins = np.flatnonzero(np.concatenate([[True], positions[1:] - positions[:-1] != length]))
        size = np.diff(np.append(begins, len(positions))).astype(np.int32)
        self._size[positions[begins]] = size
        self._size[positions[begins] + (size - 1) * length] = size

    def dissolve(self, positions: Ints32, length: int) -> None:
        """The self-pair at the positions merges: what a run leaves over stands alone."""
        self._size[positions] = 1
        self._size[positions + length] = 1

    def shorten(self, edges: Ints32, inward: int) -> Ints32:
        """Take away the symbol at one edge of each run.

        Args:
            edges: positions of the symbols taken, each the first or each the last of its run.
            inward: signed distance to the run's next symbol.

        Returns:
            Those edges whose run thereby loses a disjoint pair.
        """
        # The new edge is one symbol inward and the other edge where it was: both get the new length. A run of even
        # length m held m / 2 disjoint pairs and now holds one less; an odd one loses only its left-over symbol.
        edges = edges[self._size[edges] > 1]
        size = self._size[edges]
        self._size[edges + inward] = size - 1
        self._size[edges + (size - 1) * inward] = size - 1
        lost: Ints32 = edges[size % 2 == 0]
        return lost
