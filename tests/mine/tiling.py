"""Tilings by replaying a tree's merges, for the tests of the miner alone."""

from __future__ import annotations

import itertools

from tests.mine.plain import merge
from xskill.mine.corpus import CodedCorpus
from xskill.tree.xtree import XTree


def tilings(corpus: CodedCorpus, tree: XTree) -> list[list[str]]:
    """Top-level nodes and left-over tokens of each episode of the corpus."""
    tokens = [corpus.tokens[token] for token in corpus.step_tokens().tolist()]
    bounds = corpus.starts.tolist()
    sequences = [tokens[begin:end] for begin, end in itertools.pairwise(bounds)]
    for node in tree.nodes:
        sequences = [merge(sequence, node.children, node.id)[0] for sequence in sequences]
    return sequences
