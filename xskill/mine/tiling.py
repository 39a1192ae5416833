"""The corpus after its merges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.mine.layout import Sequence
from xskill.mine.merges import Merge


@dataclass(frozen=True, slots=True)
class Tiles:
    """Top-level symbols of all episodes, one after the other, a separator before each episode."""

    episode: Ints32
    symbol: npt.NDArray[np.int64]
    n_symbols: int


def tile(sequence: Sequence, merges: list[Merge]) -> Tiles:
    """Replace each occurrence by its node, in merge order."""
    lengths = [1] * (len(sequence.lengths))
    symbols = sequence.symbols.astype(np.int64)
    inside = np.zeros(len(symbols), bool)
    inside[-1] = True  # the separator after the last episode
    for merge in merges:
        inside[merge.positions + lengths[merge.left]] = True
        symbols[merge.positions] = len(lengths)
        lengths.append(lengths[merge.left] + lengths[merge.right])
    starts = np.flatnonzero(~inside)
    return Tiles(sequence.episode[starts], symbols[starts], len(lengths))
