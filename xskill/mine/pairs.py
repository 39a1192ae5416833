"""The pairs that may still merge, as growable columns; a pair's number never changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]

DEAD = -(2**30)
"""Frequency of a pair that can never merge again; counts may still fall from here."""


class Pairs:
    """Columns over pairs. ``chunk``, ``begin``, ``end`` say where its positions are listed."""

    left: Ints
    right: Ints
    length: Ints
    frequency: Ints
    known: Ints
    good: Ints
    chunk: Ints
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    """-1 while the pair is not eligible."""
    _mark: Ints

    _TYPES: dict[str, Any] = {
        "left": np.int32,
        "right": np.int32,
        "length": np.int32,
        "frequency": np.int32,
        "known": np.int32,
        "good": np.int32,
        "chunk": np.int32,
        "begin": np.int64,
        "end": np.int64,
        "score": np.float64,
        "_mark": np.int32,
    }
    __slots__ = ("n", *_TYPES)

    def __init__(self, room: int) -> None:
        self.n = 0
        for name, kind in self._TYPES.items():
            setattr(self, name, np.zeros(room, kind))

    def add(self, **columns: Any) -> slice:
        """Append pairs (each column an array or one value; ``left`` is an array) and return where they went."""
        n = len(columns["left"])
        room = len(self.left)
        if self.n + n > room:
            larger = max(2 * room, self.n + n)
            for name, kind in self._TYPES.items():
                grown = np.zeros(larger, kind)
                grown[: self.n] = getattr(self, name)[: self.n]
                setattr(self, name, grown)
        where = slice(self.n, self.n + n)
        self.n += n
        for name, values in columns.items():
            getattr(self, name)[where] = values
        return where

    def distinct(self, numbers: Ints) -> Ints:
        """The numbers without repetition, in any order; linear and without sorting."""
        ticket = np.arange(len(numbers), dtype=np.int32)
        self._mark[numbers] = ticket
        unique: Ints = numbers[self._mark[numbers] == ticket]
        return unique

    def copy(self) -> Pairs:
        """The same columns, to be changed apart."""
        other = Pairs(0)
        other.n = self.n
        for name in self._TYPES:
            setattr(other, name, getattr(self, name).copy())
        return other

    def kill(self, pair: int) -> None:
        """Take a pair out for good."""
        self.frequency[pair] = DEAD
        self.score[pair] = -1.0
