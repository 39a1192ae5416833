"""Counts and merges → node records: what each routine is, where it occurs, and how it goes with success."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints64
from xskill.mine.association import Tables, benjamini_hochberg, fisher, lift, wilson
from xskill.mine.corpus import CodedCorpus, render
from xskill.mine.layout import SymbolLine
from xskill.mine.merges import Merge
from xskill.mine.rules import MineRules
from xskill.mine.slots import ArgumentValues, chain, find_slots
from xskill.mine.tally import FAILED, SUCCEEDED, NodeTally, mined_outcome
from xskill.records import Node, Slot


def describe(
    corpus: CodedCorpus, sequence: SymbolLine, merges: list[Merge], counts: NodeTally, tables: Tables, rules: MineRules
) -> list[Node]:
    """Node records in merge order, with every field but the resampled ones (docs/methods/x-tree.md, nodes)."""
    shapes = Shapes.of(corpus, merges)
    nodes = []
    for index, routine in enumerate(_routines(corpus, sequence, merges, shapes, rules)):
        merge = merges[index]
        nodes.append(
            Node(
                id=f"S{index}",
                children=shapes.children[index],
                depth=shapes.depth[index],
                length=shapes.length[index],
                expansion=list(shapes.expansion[index]),
                count=0,
                frequency=merge.frequency,
                score=merge.score,
                outcome_rate=merge.rate if rules.outcome == "failure" else None,
                example=routine.example,
                pattern=routine.pattern,
                slots=routine.slots,
            )
        )
    return with_counts(nodes, counts, tables, rules)


def with_counts(nodes: list[Node], counts: NodeTally, tables: Tables, rules: MineRules) -> list[Node]:
    """The nodes with all that follows from counts.

    ``lift``, ``p_value`` and ``q_value`` are about the mined outcome; ``success*`` always about success.
    """
    if not nodes:
        return []
    replaced, episodes = counts.replaced, counts.episodes
    n_known = counts.corpus[FAILED:].sum()
    says_nothing = rules.successes_only or n_known == 0 or counts.corpus[SUCCEEDED] == counts.corpus.sum()
    share = _exact(_share(replaced[:, SUCCEEDED], replaced[:, FAILED:].sum(axis=1)))
    low, high = wilson(episodes[:, SUCCEEDED], episodes[:, FAILED:].sum(axis=1))
    p = fisher(tables)
    columns: dict[str, list[Any]] = {
        "count": (replaced[:, SUCCEEDED] if rules.successes_only else replaced.sum(axis=1)).tolist(),
        "success": [None] * len(nodes) if says_nothing else share,
        "episodes": episodes.sum(axis=1).tolist(),
        "episodes_known": episodes[:, FAILED:].sum(axis=1).tolist(),
        "episodes_success": episodes[:, SUCCEEDED].tolist(),
        "task_types": [sorted(kinds) for kinds in counts.task_types],
        "task_type_episodes": [[kinds[kind] for kind in sorted(kinds)] for kinds in counts.task_types],
        "tiles": counts.tiles.sum(axis=1).tolist(),
        "tiles_success": counts.tiles[:, SUCCEEDED].tolist(),
        "lift": _numbers(lift(tables)),
        "p_value": _numbers(p),
        "q_value": _numbers(benjamini_hochberg(p)),
        "success_low": _numbers(low),
        "success_high": _numbers(high),
    }
    return [
        msgspec.structs.replace(node, **{name: column[index] for name, column in columns.items()})
        for index, node in enumerate(nodes)
    ]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Names, expansions and depths of the nodes."""

    children: list[tuple[str, str]]
    expansion: list[tuple[str, ...]]
    depth: list[int]
    length: list[int]

    @classmethod
    def of(cls, corpus: CodedCorpus, merges: list[Merge]) -> Shapes:
        """Symbols are the separator, the tokens, then the nodes."""
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

    example: list[str] | None
    pattern: str
    slots: list[Slot] | None


def _routines(
    corpus: CodedCorpus, sequence: SymbolLine, merges: list[Merge], shapes: Shapes, rules: MineRules
) -> Iterator[_Routine]:
    """Example and pattern of each node, over the counted occurrences that its merge replaced (none: no example)."""
    values = ArgumentValues.of(corpus)
    mined = mined_outcome(corpus.outcome, rules)
    for merge, expansion in zip(merges, shapes.expansion, strict=True):
        positions = merge.positions
        if rules.successes_only:
            positions = positions[corpus.outcome[sequence.episode[positions]] == 1]
        if values.code.shape[1] == 0 or not len(positions):
            yield _Routine(list(expansion) if len(positions) else None, chain(expansion), None)
            continue
        steps = corpus.steps[sequence.step_of(positions)[:, None] + np.arange(len(expansion))]
        example = _example(corpus, steps, mined[sequence.episode[positions]])
        yield _Routine(example, *find_slots(steps, expansion, values))


def _example(corpus: CodedCorpus, steps: npt.NDArray[np.int32], has: npt.NDArray[np.int8]) -> list[str]:
    """The smallest occurrence as written out, those with the mined outcome before others."""
    left = steps[has == 1] if (has == 1).any() else steps
    for column in range(steps.shape[1]):
        left = left[left[:, column] == left[:, column].min()]
    return [render(corpus.actions[action]) for action in left[0].tolist()]


def _share(above: Ints64, below: Ints64) -> npt.NDArray[np.float64]:
    share: npt.NDArray[np.float64] = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return share


def _exact(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]


def _numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    """To 12 significant digits: the rest is rounding noise that differs between machines."""
    return [None if np.isnan(value) else float(f"{value:.11e}") for value in values.tolist()]
