"""The corpus after merges whose occurrences the miner has listed already: nothing is searched for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.mine.layout import SymbolLine
from xskill.mine.merges import Merge
from xskill.tree.replay_arrays import INSIDE, write


@dataclass(frozen=True, slots=True)
class Tiles:
    """Top-level symbols of all episodes, one after the other, a separator before each episode."""

    episode: Ints32
    symbol: npt.NDArray[np.int64]
    n_symbols: int


def tiled(sequence: SymbolLine, merges: list[Merge]) -> Tiles:
    """Replace each occurrence by its node, in merge order."""
    lengths = [1] * (len(sequence.lengths))
    line = sequence.symbols.astype(np.int64)
    line[-1] = INSIDE  # the separator after the last episode begins no tile
    for merge in merges:
        write(line, merge.positions, len(lengths), lengths[merge.left])
        lengths.append(lengths[merge.left] + lengths[merge.right])
    starts = np.flatnonzero(line != INSIDE)
    return Tiles(sequence.episode[starts], line[starts], len(lengths))
