"""What a tree remembers of its episodes so that mining can go on without them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from xskill.array_types import Ints32
from xskill.errors import BadData
from xskill.mine.corpus import CodedCorpus
from xskill.mine.layout import SymbolLine, index_pairs
from xskill.mine.tiled_corpus import Tiles
from xskill.tree.replay_arrays import from_the_left
from xskill.tree.xtree import XTree

Triple = tuple[int, int, int]
"""Counts by outcome: unknown, failed, succeeded."""

KEPT = 2000
"""Pairs that are remembered, the most frequent first."""


class Rest(msgspec.Struct, frozen=True, array_like=True):
    """One pair of neighbours in the tiled episodes, which no merge took."""

    left: str
    right: str
    adjacent: Triple
    """Positions where it stands."""
    disjoint: Triple
    """Of these, those that a merge would replace (fewer for a pair of equals)."""
    episodes: Triple
    """Distinct episodes that hold it."""


class Memory(msgspec.Struct, frozen=True):
    """Stands under ``resume`` in the ``extra`` of a tree's header."""

    replaced: list[Triple]
    """Replaced occurrences of each node, in merge order."""
    pairs: list[Rest]


class Facts(msgspec.Struct, frozen=True):
    """What the header's ``stats`` say of the corpus."""

    steps: int
    steps_success: int
    steps_failure: int
    symbols: int
    episodes_known: int
    episodes_success: int
    environments: list[str]
    lineage: list[dict[str, Any]] = []


def recall(tree: XTree) -> tuple[Memory, Facts]:
    """What a tree remembers.

    Raises:
        BadData: it was not mined by :mod:`xskill.mine`, or its nodes have changed since.
    """
    header = tree.header
    try:
        memory = msgspec.convert(header.extra.get("resume"), Memory)
        facts = msgspec.convert(header.stats, Facts)
    except msgspec.ValidationError:
        memory = None
    if memory is None or [node.id for node in tree.nodes] != [f"S{index}" for index in range(len(memory.replaced))]:
        raise BadData(
            "--resume: the tree does not remember its episodes; "
            "mine it with --resumable, or the old and the new ones at once"
        )
    return memory, facts


def rest(corpus: CodedCorpus, tiles: Tiles) -> list[Rest]:
    """The pairs of neighbours that occur at least twice in the tiled episodes, the most frequent :data:`KEPT`."""
    symbols = tiles.symbol.astype(np.uint16) if tiles.n_symbols < 2**16 else tiles.symbol.astype(np.int32)
    lengths = np.ones(tiles.n_symbols, np.int32)
    index = index_pairs(SymbolLine(symbols, None, tiles.episode, lengths))
    names = ["", *corpus.tokens, *(f"S{number}" for number in range(tiles.n_symbols - 1 - len(corpus.tokens)))]
    rows = []
    for pair in np.argsort(-np.diff(index.first), kind="stable")[:KEPT].tolist():
        places = index.order[index.first[pair] : index.first[pair + 1]]
        u, v = int(index.left[pair]), int(index.right[pair])
        taken = from_the_left(places, 1) if u == v else places
        counts = (tiles.episode[places], tiles.episode[taken], np.unique(tiles.episode[places]))
        rows.append(Rest(names[u], names[v], *(_by_outcome(corpus, episodes) for episodes in counts)))
    return rows


def added(one: Rest, other: Rest) -> Rest:
    """The same pair in more episodes."""

    def plus(a: Triple, b: Triple) -> Triple:
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]

    return Rest(
        one.left,
        one.right,
        plus(one.adjacent, other.adjacent),
        plus(one.disjoint, other.disjoint),
        plus(one.episodes, other.episodes),
    )


def remembered(replaced: Any, pairs: list[Rest]) -> dict[str, Any]:
    """The memory as it stands in the header."""
    return {"resume": msgspec.to_builtins(Memory([tuple(row) for row in replaced.tolist()], pairs))}


def _by_outcome(corpus: CodedCorpus, episodes: Ints32) -> Triple:
    unknown, failed, succeeded = np.bincount(corpus.outcome[episodes] + 1, minlength=3).tolist()
    return unknown, failed, succeeded
