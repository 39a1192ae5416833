"""A given tree's merges on new episodes, so that mining can go on from there."""

from __future__ import annotations

import numpy as np

from xskill.mine.corpus import Corpus
from xskill.mine.layout import Sequence, lay_out
from xskill.mine.merges import Merge
from xskill.mine.outcomes import IGNORED, Classes
from xskill.mine.rules import Rules
from xskill.mine.runs import disjoint
from xskill.tree.xtree import XTree


def replay(corpus: Corpus, tree: XTree, classes: Classes, rules: Rules) -> tuple[Sequence, list[Merge]]:
    """Apply the tree's merges in order.

    Args:
        corpus: the episodes; its vocabulary holds the tree's primitives.
        tree: the tree.
        classes: what each episode counts for.
        rules: how self-pairs are counted, and how many nodes there may be.

    Returns:
        The corpus after the merges, and a :class:`Merge` for each node: its frequency and positions in
        this corpus (rate and score are the tree's own).
    """
    fresh = lay_out(corpus, max(rules.max_skills, len(tree.nodes)))
    number = {token: index + 1 for index, token in enumerate(corpus.tokens)}
    lengths = [1] * (len(corpus.tokens) + 1)
    spans, starts = fresh.symbols.copy(), np.arange(len(fresh.symbols), dtype=np.int32)
    merges = []
    for node in tree.nodes:
        u, v = number[node.children[0]], number[node.children[1]]
        new = number[node.id] = len(lengths)
        lengths.append(lengths[u] + lengths[v])
        found = np.flatnonzero((spans[:-1] == u) & (spans[1:] == v)).astype(np.int32)
        taken = disjoint(found, 1) if u == v else found
        adjacent = taken if rules.self_pairs == "disjoint" else found
        frequency = int((classes[fresh.episode[starts[adjacent]]] != IGNORED).sum())
        merges.append(Merge(u, v, frequency, node.outcome_rate or 1.0, node.score or 0.0, starts[taken]))
        spans[taken] = new
        left = np.ones(len(spans), bool)
        left[taken + 1] = False
        spans, starts = spans[left], starts[left]
    symbols = np.zeros_like(fresh.symbols)
    size = np.array(lengths, np.int32)
    symbols[starts] = spans
    symbols[starts + size[spans] - 1] = spans
    return Sequence(symbols, starts.astype(np.int64), fresh.episode, size), merges
