"""Merges and a corpus → node records: what each routine is, where it occurs, and how it goes with success."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xskill.mine.association import Tables, benjamini_hochberg, fisher, lift, wilson
from xskill.mine.corpus import Corpus, render
from xskill.mine.layout import Ints, Sequence
from xskill.mine.merges import Merge
from xskill.mine.rules import Rules
from xskill.mine.slots import Values, find_slots
from xskill.records import Node, Slot

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """All replaced occurrences of all nodes, node after node, positions ascending."""

    node: Ints
    episode: Ints
    holder_node: Ints
    """Distinct (node, episode) pairs: the node of each."""
    holder_episode: Ints


def gather(sequence: Sequence, merges: list[Merge]) -> Occurrences:
    """Occurrences of the merges, and which episodes hold which nodes."""
    sizes = [len(merge.positions) for merge in merges]
    node = np.repeat(np.arange(len(merges), dtype=np.int32), sizes)
    positions = np.concatenate([merge.positions for merge in merges]) if merges else np.empty(0, np.int32)
    episode = sequence.episode[positions]
    fresh = np.ones(len(node), bool)
    fresh[1:] = (node[1:] != node[:-1]) | (episode[1:] != episode[:-1])
    return Occurrences(node, episode, node[fresh], episode[fresh])


def tabulate(occurrences: Occurrences, n_nodes: int, has: npt.NDArray[np.int8], strata: Ints) -> Tables:
    """Contingency tables.

    Args:
        occurrences: who holds what.
        n_nodes: number of nodes.
        has: 1 the outcome, 0 the other one, -1 unknown. [n_episodes]
        strata: stratum of each episode, from 0. [n_episodes]
    """
    n_strata = int(strata.max(initial=0)) + 1
    known = has[occurrences.holder_episode] >= 0
    node, episode = occurrences.holder_node[known], occurrences.holder_episode[known]
    cell = node.astype(np.int64) * n_strata + strata[episode]
    shape = (n_nodes, n_strata)
    return Tables(
        hits=np.bincount(cell[has[episode] == 1], minlength=n_nodes * n_strata).reshape(shape),
        holders=np.bincount(cell, minlength=n_nodes * n_strata).reshape(shape),
        positives=np.bincount(strata[has == 1], minlength=n_strata),
        totals=np.bincount(strata[has >= 0], minlength=n_strata),
    )


def mined_outcome(outcome: npt.NDArray[np.int8], rules: Rules) -> npt.NDArray[np.int8]:
    """1 where the episode has the outcome that is mined, 0 where the other, -1 where unknown."""
    return outcome if rules.outcome == "success" else np.where(outcome < 0, outcome, 1 - outcome).astype(np.int8)


def describe(corpus: Corpus, sequence: Sequence, merges: list[Merge], rules: Rules, strata: Ints) -> list[Node]:
    """Node records in merge order, with every field of ALGORITHMS section 2 but the resampled ones.

    ``lift``, ``p_value`` and ``q_value`` are about the mined outcome; ``success*`` always about success.
    """
    n = len(merges)
    if n == 0:
        return []
    shapes = _Shapes.of(corpus, merges)
    occurrences = gather(sequence, merges)
    kind = corpus.outcome[occurrences.episode]
    per_kind = np.bincount(occurrences.node.astype(np.int64) * 3 + kind + 1, minlength=3 * n).reshape(n, 3)
    tiles = _left_over(per_kind, merges, len(corpus.tokens) + 1)
    all_alike = rules.successes_only or bool((corpus.outcome == 1).all()) or not bool((corpus.outcome >= 0).any())
    held = tabulate(occurrences, n, corpus.outcome, np.zeros(corpus.n_episodes, np.int32))
    episodes = np.bincount(occurrences.holder_node, minlength=n)
    low, high = wilson(held.hits[:, 0], held.holders[:, 0])
    mined = mined_outcome(corpus.outcome, rules)
    tables = tabulate(occurrences, n, mined, strata)
    p = fisher(tables)
    columns: dict[str, list[Any]] = {
        "count": (per_kind[:, 2] if rules.successes_only else per_kind.sum(axis=1)).tolist(),
        "success": [None] * n if all_alike else _exact(_share(per_kind[:, 2], per_kind[:, 1] + per_kind[:, 2])),
        "episodes": episodes.tolist(),
        "episodes_known": held.holders[:, 0].tolist(),
        "episodes_success": held.hits[:, 0].tolist(),
        "task_types": _task_types(corpus, occurrences, n, rules),
        "tiles": tiles.sum(axis=1).tolist(),
        "tiles_success": tiles[:, 2].tolist(),
        "lift": _numbers(lift(tables)),
        "p_value": _numbers(p),
        "q_value": _numbers(benjamini_hochberg(p)),
        "success_low": _numbers(low),
        "success_high": _numbers(high),
    }
    nodes = []
    for index, routine in enumerate(_routines(corpus, sequence, merges, shapes, rules, mined)):
        merge = merges[index]
        nodes.append(
            Node(
                id=f"S{index}",
                children=shapes.children[index],
                depth=shapes.depth[index],
                length=shapes.length[index],
                expansion=list(shapes.expansion[index]),
                frequency=merge.frequency,
                score=merge.score,
                outcome_rate=merge.rate if rules.outcome == "failure" else None,
                example=routine.example,
                pattern=routine.pattern,
                slots=routine.slots,
                **{name: column[index] for name, column in columns.items()},
            )
        )
    return nodes


@dataclass(frozen=True, slots=True)
class _Shapes:
    children: list[tuple[str, str]]
    expansion: list[tuple[str, ...]]
    depth: list[int]
    length: list[int]

    @classmethod
    def of(cls, corpus: Corpus, merges: list[Merge]) -> _Shapes:
        """Names, expansions and depths of the nodes; symbols are the separator, the tokens, then the nodes."""
        names = ["", *corpus.tokens, *(f"S{index}" for index in range(len(merges)))]
        expansion: list[tuple[str, ...]] = [(), *((token,) for token in corpus.tokens)]
        depth = [0] * len(expansion)
        first = len(expansion)
        for merge in merges:
            expansion.append(expansion[merge.left] + expansion[merge.right])
            depth.append(1 + max(depth[merge.left], depth[merge.right]))
        children = [(names[merge.left], names[merge.right]) for merge in merges]
        return cls(children, expansion[first:], depth[first:], [len(tokens) for tokens in expansion[first:]])


@dataclass(frozen=True, slots=True)
class _Routine:
    """What the arguments tell about one node."""

    example: list[str]
    pattern: str
    slots: list[Slot] | None


def _routines(
    corpus: Corpus,
    sequence: Sequence,
    merges: list[Merge],
    shapes: _Shapes,
    rules: Rules,
    mined: npt.NDArray[np.int8],
) -> Iterator[_Routine]:
    """Example and pattern of each node, over the occurrences that its merge replaced."""
    values = Values.of(corpus)
    for merge, expansion in zip(merges, shapes.expansion, strict=True):
        if values.code.shape[1] == 0:
            yield _Routine(list(expansion), *find_slots(np.empty((0, len(expansion)), np.int32), expansion, values))
            continue
        episodes = sequence.episode[merge.positions]
        steps = corpus.steps[sequence.step_of(merge.positions)[:, None] + np.arange(len(expansion))]
        counted = steps[corpus.outcome[episodes] == 1] if rules.successes_only else steps
        yield _Routine(_example(corpus, steps, mined[episodes]), *find_slots(counted, expansion, values))


def _left_over(per_kind: Counts, merges: list[Merge], first: int) -> Counts:
    """Occurrences of each node that no later merge took: its top-level tiles. [n_nodes, 3]"""
    tiles = per_kind.copy()
    for index, merge in enumerate(merges):
        for child in (merge.left, merge.right):
            if child >= first:
                tiles[child - first] -= per_kind[index]
    return tiles


def _task_types(corpus: Corpus, occurrences: Occurrences, n: int, rules: Rules) -> list[list[str]]:
    """Distinct task types of the mined episodes that hold each node."""
    kinds = corpus.task_type.codes[occurrences.holder_episode]
    counted = kinds >= 0
    if rules.successes_only:
        counted &= corpus.outcome[occurrences.holder_episode] == 1
    n_types = len(corpus.task_type.names)
    cells = np.unique(occurrences.holder_node[counted].astype(np.int64) * max(n_types, 1) + kinds[counted])
    found: list[list[str]] = [[] for _ in range(n)]
    for cell in cells.tolist():
        found[cell // n_types].append(corpus.task_type.names[cell % n_types])
    return found


def _example(corpus: Corpus, steps: npt.NDArray[np.int32], has: npt.NDArray[np.int8]) -> list[str]:
    """The smallest occurrence as written out, those with the mined outcome before others."""
    left = steps[has == 1] if (has == 1).any() else steps
    for column in range(steps.shape[1]):
        left = left[left[:, column] == left[:, column].min()]
    return [render(corpus.actions[action]) for action in left[0].tolist()]


def _share(above: Counts, below: Counts) -> npt.NDArray[np.float64]:
    share: npt.NDArray[np.float64] = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return share


def _round(number: float) -> float:
    """12 significant digits: the rest is rounding noise that differs between machines."""
    return float(f"{number:.11e}")


def _numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else _round(value) for value in values.tolist()]


def _exact(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
