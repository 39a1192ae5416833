"""Where each node of a tree occurs in the episodes, and which nodes lie inside which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xskill.array_types import Ints64
from xskill.mine.corpus import CodedCorpus
from xskill.tree.replay_arrays import GAP, cells_of, replay
from xskill.tree.xtree import XTree


def node_places(tree: XTree, corpus: CodedCorpus) -> dict[str, Ints64]:
    """Node id → first steps of its occurrences (indices into ``corpus.steps``), ascending.

    The merges are applied in id order, greedily from the left, never across episodes (docs/methods/x-tree.md, tiling),
    so these are the occurrences in the derivation of every tile. On the corpus that the tree was mined from there are
    ``node.count`` of them.
    """
    return places_in([tree], corpus)[0]


def places_in(trees: Sequence[XTree], corpus: CodedCorpus) -> list[dict[str, Ints64]]:
    """:func:`node_places` of several trees; the corpus is laid out once."""
    narrow = len(corpus.tokens) + max(len(tree.nodes) for tree in trees) < 2**15
    line = np.insert(corpus.step_tokens().astype(np.int16 if narrow else np.int32), corpus.starts[1:], GAP)
    gaps_before = np.repeat(np.arange(corpus.n_episodes), corpus.lengths + 1)  # cell - gaps before it = step
    cells = cells_of(line, len(corpus.tokens))
    places = []
    for tree in trees:
        starts = replay(line.copy(), _pairs(tree, corpus.tokens), cells).starts
        places.append({node.id: hits - gaps_before[hits] for node, hits in zip(tree.nodes, starts, strict=True)})
    return places


def _pairs(tree: XTree, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Children of each node as symbols: tokens, then nodes; -1 for a token that no episode has."""
    symbol = {token: code for code, token in enumerate(tokens)}
    pairs = []
    for number, node in enumerate(tree.nodes, len(tokens)):
        left, right = node.children
        pairs.append((symbol.get(left, -1), symbol.get(right, -1)))
        symbol[node.id] = number
    return pairs


def multiplicity(tree: XTree) -> dict[str, dict[str, int]]:
    """Node id → how often each other node occurs in its derivation."""
    inside: dict[str, dict[str, int]] = {}
    for node in tree.nodes:
        counts: dict[str, int] = {}
        for child in node.children:
            if child in inside:
                counts[child] = counts.get(child, 0) + 1
                for name, n in inside[child].items():
                    counts[name] = counts.get(name, 0) + n
        inside[node.id] = counts
    return inside


def share_inside(
    node: str, parent: str, places: Mapping[str, Ints64], inside: Mapping[str, Mapping[str, int]]
) -> float:
    """Share of a node's occurrences that lie inside occurrences of ``parent``."""
    n = len(places[node])
    return inside[parent].get(node, 0) * len(places[parent]) / n if n else 0.0
