"""Counting what each node occurs in: occurrences, episodes, tiles, by outcome."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32, Ints64
from xskill.mine.association import Tables
from xskill.mine.corpus import CodedCorpus
from xskill.mine.layout import SymbolLine
from xskill.mine.merges import Merge
from xskill.mine.rules import MineRules

UNKNOWN, FAILED, SUCCEEDED = 0, 1, 2
"""Columns of a count by outcome."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """All replaced occurrences of all nodes, node after node, positions ascending."""

    node: Ints32
    episode: Ints32
    holder_node: Ints32
    """Distinct (node, episode) pairs: the node of each."""
    holder_episode: Ints32


@dataclass(frozen=True, slots=True)
class NodeTally:
    """Counts by outcome (unknown, failed, succeeded), and the task types, of each node."""

    replaced: Ints64
    """Replaced occurrences. [n_nodes, 3]"""
    episodes: Ints64
    """Distinct episodes that hold the node when it merges. [n_nodes, 3]"""
    tiles: Ints64
    """Occurrences that no later merge took. [n_nodes, 3]"""
    task_types: list[Counter[str]]
    """Distinct episodes that hold the node, by task type; of the episodes that are counted."""
    corpus: Ints64
    """Episodes in all. [3]"""
    steps: Ints64
    """Their own steps. [3]"""

    def __add__(self, other: NodeTally) -> NodeTally:
        kinds = [one + more for one, more in zip(self.task_types, other.task_types, strict=True)]
        return NodeTally(
            self.replaced + other.replaced,
            self.episodes + other.episodes,
            self.tiles + other.tiles,
            kinds,
            self.corpus + other.corpus,
            self.steps + other.steps,
        )


def gather(sequence: SymbolLine, merges: list[Merge]) -> Occurrences:
    """Occurrences of the merges, and which episodes hold which nodes."""
    sizes = [len(merge.positions) for merge in merges]
    node = np.repeat(np.arange(len(merges), dtype=np.int32), sizes)
    positions = np.concatenate([merge.positions for merge in merges]) if merges else np.empty(0, np.int32)
    episode = sequence.episode[positions]
    fresh = np.ones(len(node), bool)
    fresh[1:] = (node[1:] != node[:-1]) | (episode[1:] != episode[:-1])
    return Occurrences(node, episode, node[fresh], episode[fresh])


def tally(corpus: CodedCorpus, occurrences: Occurrences, merges: list[Merge], rules: MineRules) -> NodeTally:
    """Count the occurrences of the merges.

    Args:
        corpus: the episodes.
        occurrences: from :func:`gather`.
        merges: all merges; those of tokens have symbols up to the number of tokens.
        rules: with ``successes_only``, task types are those of successes.
    """
    n = len(merges)
    replaced = _by_outcome(occurrences.node, corpus.outcome[occurrences.episode], n)
    tiles = replaced.copy()
    first = len(corpus.tokens) + 1
    for index, merge in enumerate(merges):
        for child in (merge.left, merge.right):
            if child >= first:
                tiles[child - first] -= replaced[index]
    return NodeTally(
        replaced=replaced,
        episodes=_by_outcome(occurrences.holder_node, corpus.outcome[occurrences.holder_episode], n),
        tiles=tiles,
        task_types=_task_types(corpus, occurrences, n, rules),
        corpus=np.bincount(corpus.outcome + 1, minlength=3),
        steps=np.bincount(corpus.outcome + 1, weights=corpus.lengths, minlength=3).astype(np.int64),
    )


def _by_outcome(node: Ints32, outcome: npt.NDArray[np.int8], n: int) -> Ints64:
    return np.bincount(node.astype(np.int64) * 3 + outcome + 1, minlength=3 * n).reshape(n, 3)


def _task_types(corpus: CodedCorpus, occurrences: Occurrences, n: int, rules: MineRules) -> list[Counter[str]]:
    kinds = corpus.task_type.codes[occurrences.holder_episode]
    counted = kinds >= 0
    if rules.successes_only:
        counted &= corpus.outcome[occurrences.holder_episode] == 1
    names = corpus.task_type.names
    cell = occurrences.holder_node[counted].astype(np.int64) * max(len(names), 1) + kinds[counted]
    cells, episodes = np.unique(cell, return_counts=True)
    types_of: list[Counter[str]] = [Counter() for _ in range(n)]
    for cell, count in zip(cells.tolist(), episodes.tolist(), strict=True):
        types_of[cell // len(names)][names[cell % len(names)]] = count
    return types_of


def mined_outcome(outcome: npt.NDArray[np.int8], rules: MineRules) -> npt.NDArray[np.int8]:
    """1 where the episode has the outcome that is mined, 0 where the other, -1 where unknown."""
    return outcome if rules.outcome == "success" else np.where(outcome < 0, outcome, 1 - outcome).astype(np.int8)


def stratified(occurrences: Occurrences, n: int, has: npt.NDArray[np.int8], strata: Ints32) -> Tables:
    """Tables of ``n`` nodes against an outcome (1 has it, 0 not, -1 unknown), one for each stratum."""
    n_strata = int(strata.max(initial=0)) + 1
    with_outcome = has[occurrences.holder_episode] >= 0
    node, episode = occurrences.holder_node[with_outcome], occurrences.holder_episode[with_outcome]
    cell = node.astype(np.int64) * n_strata + strata[episode]
    shape = (n, n_strata)
    return Tables(
        hits=np.bincount(cell[has[episode] == 1], minlength=n * n_strata).reshape(shape),
        holders=np.bincount(cell, minlength=n * n_strata).reshape(shape),
        positives=np.bincount(strata[has == 1], minlength=n_strata),
        totals=np.bincount(strata[has >= 0], minlength=n_strata),
    )


def pooled(counts: NodeTally, rules: MineRules) -> Tables:
    """The same from counts alone, in one stratum."""
    mined = SUCCEEDED if rules.outcome == "success" else FAILED
    return Tables(
        hits=counts.episodes[:, mined : mined + 1],
        holders=counts.episodes[:, FAILED:].sum(axis=1, keepdims=True),
        positives=counts.corpus[mined : mined + 1],
        totals=counts.corpus[FAILED:].sum(keepdims=True),
    )
