"""Lexicographic ranks of symbols by their expansions, kept while symbols are made."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy

import numpy as np
import numpy.typing as npt


class Ranks:
    """Order of all symbols by expansion; symbols with equal expansions share a rank.

    Args:
        expansions: tokens of each symbol; the separator's is empty.
        room: number of symbols that may come to exist.
    """

    def __init__(self, expansions: Sequence[tuple[int, ...]], room: int) -> None:
        self._expansions = list(expansions)
        self._sorted = sorted(set(expansions))
        number = {expansion: rank for rank, expansion in enumerate(self._sorted)}
        self.of: npt.NDArray[np.int64] = np.zeros(max(room, len(expansions)), np.int64)
        self.of[: len(expansions)] = [number[expansion] for expansion in expansions]

    def copy(self) -> Ranks:
        """The same ranks, to be changed apart."""
        other = copy(self)
        other._expansions, other._sorted, other.of = list(self._expansions), list(self._sorted), self.of.copy()
        return other

    def add(self, left: int, right: int) -> None:
        """The next symbol, made of ``left`` and ``right``."""
        expansion = self._expansions[left] + self._expansions[right]
        rank = bisect_left(self._sorted, expansion)
        known = len(self._expansions)
        if rank == len(self._sorted) or self._sorted[rank] != expansion:
            self._sorted.insert(rank, expansion)
            self.of[:known] += self.of[:known] >= rank
        self.of[known] = rank
        self._expansions.append(expansion)
