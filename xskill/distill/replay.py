"""Where each node of a tree occurs in the episodes: the merges replayed on all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from xskill.mine.corpus import Corpus
from xskill.tree.xtree import XTree

Positions = npt.NDArray[np.int64]

_GAP = -1
_DEAD = -2


def replay(tree: XTree, corpus: Corpus) -> dict[str, Positions]:
    """Node id → first steps of its occurrences (indices into ``corpus.steps``), ascending.

    The merges are applied in id order, greedily from the left, never across episodes (ALGORITHMS section 2, tiling),
    so these are the occurrences in the derivation of every tile. On the corpus that the tree was mined from there are
    ``node.count`` of them.
    """
    return replays([tree], corpus)[0]


def replays(trees: Sequence[XTree], corpus: Corpus) -> list[dict[str, Positions]]:
    """:func:`replay` of several trees; the corpus is laid out once."""
    narrow = len(corpus.tokens) + max(len(tree.nodes) for tree in trees) < 2**15
    # One cell a step and one after each episode. A node stands in the cell of its first step; its others are dead.
    line = np.insert(corpus.step_tokens().astype(np.int16 if narrow else np.int32), corpus.starts[1:], _GAP)
    before = np.repeat(np.arange(corpus.n_episodes), corpus.lengths + 1)
    cells = _cells(line, len(corpus.tokens))
    return [_merged(tree, corpus.tokens, line.copy(), list(cells), before) for tree in trees]


def _merged(
    tree: XTree, tokens: Sequence[str], line: npt.NDArray[Any], cells: list[Positions], before: Positions
) -> dict[str, Positions]:
    """All merges in order. Rewrites ``line`` and ``cells``; ``before`` is the number of gaps before each cell."""
    symbol = {token: code for code, token in enumerate(tokens)}
    length = dict.fromkeys(tokens, 1)
    found: dict[str, Positions] = {}
    for number, node in enumerate(tree.nodes):
        left, right = node.children
        code = symbol[node.id] = len(tokens) + number
        length[node.id] = node.length
        hits = np.empty(0, np.int64)
        if left in symbol and right in symbol:
            starts = cells[symbol[left]]
            starts = cells[symbol[left]] = starts[line[starts] == symbol[left]]  # merges took some since
            hits = starts[line[starts + length[left]] == symbol[right]]
            if left == right:
                hits = _from_the_left(hits, length[left])
        line[hits] = code
        line[hits + length.get(left, 1)] = _DEAD
        cells.append(hits)
        found[node.id] = hits - before[hits]
    return found


def _cells(line: npt.NDArray[Any], n: int) -> list[Positions]:
    """Where each of the symbols 0 to ``n`` - 1 stands, ascending."""
    order = np.argsort(line, kind="stable")  # a radix sort, for 16 bits
    bounds = np.searchsorted(line[order], np.arange(n + 1))
    return [order[first:last] for first, last in pairwise(bounds.tolist())]


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
    node: str, parent: str, found: Mapping[str, Positions], inside: Mapping[str, Mapping[str, int]]
) -> float:
    """Share of a node's occurrences that lie inside occurrences of ``parent``."""
    n = len(found[node])
    return inside[parent].get(node, 0) * len(found[parent]) / n if n else 0.0


def _from_the_left(hits: Positions, step: int) -> Positions:
    """Of overlapping hits of a self-pair (``step`` apart), those that a greedy pass from the left takes."""
    number = np.arange(len(hits))
    begins = np.append(True, hits[1:] != hits[:-1] + step)[: len(hits)]
    taken: Positions = hits[(number - np.maximum.accumulate(np.where(begins, number, 0))) % 2 == 0]
    return taken
