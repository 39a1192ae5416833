"""What a person wants to know first about a tree: its routines, what they cover, and whether they go with success."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import msgspec

from xskill.errors import UsageError
from xskill.records import Node
from xskill.tree.model import XTree, by_id, child_nodes, roots, success_rate

ALPHA = 0.05
MOST_LEVELS = 100
"""Sub-routines below this are not followed: a hostile tree can be thousands of levels deep."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the header tells of the mined corpus; None where it tells nothing."""

    episodes: int | None
    base_rate: float | None
    """Success rate of the episodes with an outcome."""
    steps_covered: int | None
    """Actions of the episodes of the mined outcome: what ``Routine.share`` is a share of."""
    compression: float | None
    """Symbols before / symbols after tiling, over all episodes."""


@dataclass(frozen=True, slots=True)
class Routine:
    """One node, judged over its episodes (or, in a released tree, over its occurrences)."""

    node: Node
    n: int
    """Episodes that hold it; without episode statistics the count of its occurrences."""
    known: int
    """Those with an outcome; the denominator of ``rate``."""
    rate: float | None
    """Their success rate; None when no outcome is known, or when every episode of the corpus is a success."""
    low: float | None
    high: float | None
    """95% Wilson interval of ``rate``."""
    lift: float | None
    weight: float
    """Actions that it covers as a top-level tile of the mined outcome; in a released tree count * length."""
    share: float | None
    """``weight`` / actions of the episodes of the mined outcome."""
    task_type: str | None
    """The task type that all its episodes share; None with several, or when none is recorded."""
    parts: tuple[Routine, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Routines of one task type (None: of several), best first."""

    task_type: str | None
    routines: tuple[Routine, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    tree: XTree
    corpus: Corpus
    groups: tuple[Group, ...]
    shown: int
    total: int
    """Roots that passed the filters."""
    n_roots: int


SORTS: dict[str, Callable[[Routine], tuple[float, ...]]] = {
    "covered": lambda row: (-row.weight,),
    "success": lambda row: (-(row.low if row.low is not None else -1.0), -row.weight),
    "lift": lambda row: (-(row.lift if row.lift is not None else -1.0), -row.weight),
    "episodes": lambda row: (-row.n, -row.weight),
    "length": lambda row: (-row.node.length, -row.weight),
    "id": lambda row: (),
}
"""``--sort`` → key; the merge order breaks ties. ``success`` takes the lower bound, so that 3 of 3 is not the best."""


def corpus_of(tree: XTree) -> Corpus:
    """Read the header's ``stats``; a value of a wrong type counts as not told."""
    stats = tree.header.stats

    def number(name: str) -> float | None:
        value = stats.get(name)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None

    before, after, covered = number("steps"), number("symbols"), number(f"steps_{tree.header.outcome}")
    return Corpus(
        episodes=tree.header.corpus.n_trajectories,
        base_rate=number("base_rate"),
        steps_covered=int(covered) if covered else None,
        compression=before / after if before and after else None,
    )


def routine(node: Node, tree: XTree, corpus: Corpus) -> Routine:
    """Judge one node."""
    failure = tree.header.outcome == "failure"
    if node.tiles is None:
        weight = float(node.count * node.length)
    else:
        tiles = node.tiles - (node.tiles_success or 0) if failure else node.tiles_success or 0
        weight = float(tiles * node.length)
    if node.episodes is None:
        n = known = node.count
        rate = success_rate(node, tree)
        k = 0 if rate is None else round(rate * known)
    else:
        n, known, k = node.episodes, node.episodes_known or 0, node.episodes_success or 0
        rate = k / known if known and corpus.base_rate != 1 else None
    low, high = node.success_low, node.success_high
    if rate is None:
        low = high = None
    elif low is None or high is None:
        from xskill.gate.intervals import wilson  # brings numpy: only a tree without intervals pays for it

        low, high = wilson(k, known, ALPHA)
    types = node.task_types or []
    return Routine(
        node=node,
        n=n,
        known=known,
        rate=rate,
        low=low,
        high=high,
        lift=node.lift if rate is not None else None,
        weight=weight,
        share=weight / corpus.steps_covered if corpus.steps_covered and node.tiles is not None else None,
        task_type=types[0] if len(types) == 1 else None,
    )


def with_parts(node: Node, tree: XTree, depth: int) -> Routine:
    """One node with its sub-routines down to ``depth`` levels."""
    nodes, corpus = by_id(tree), corpus_of(tree)

    def grow(node: Node, depth: int) -> Routine:
        row = routine(node, tree, corpus)
        if depth <= 0:
            return row
        parts = tuple(grow(child, depth - 1) for child in child_nodes(node, nodes))
        return replace(row, parts=parts)

    return grow(node, min(depth, MOST_LEVELS))


def summarise(
    tree: XTree, *, sort: str = "covered", top: int = 0, depth: int = 0, max_p: float | None = None
) -> Summary:
    """The ``top`` best roots (0: all), in groups by task type, with sub-routines down to ``depth`` levels.

    A group is as good as its best routine. ``max_p`` keeps the nodes with ``p_adjusted`` (else ``q_value``) at most
    that; a node without either is left out then.

    Raises:
        UsageError: an unknown ``sort``, or ``max_p`` for a tree without p-values.
    """
    if sort not in SORTS:
        raise UsageError(f"--sort {sort}: expected one of {', '.join(SORTS)}")
    corpus, all_roots = corpus_of(tree), roots(tree)
    wanted = all_roots
    if max_p is not None:
        if all(adjusted_p(node) is None for node in tree.nodes):
            raise UsageError("--max-p: this tree has no p-values")
        wanted = [node for node in wanted if (p := adjusted_p(node)) is not None and p <= max_p]
    rows = sorted((routine(node, tree, corpus) for node in wanted), key=SORTS[sort])
    shown = rows[:top] if top > 0 else rows
    place: dict[str | None, int] = {}
    for row in shown:
        place.setdefault(row.task_type, len(place))
    ordered = sorted(shown, key=lambda row: place[row.task_type])
    groups = tuple(
        Group(task_type, tuple(with_parts(row.node, tree, depth) for row in members))
        for task_type, members in groupby(ordered, key=lambda row: row.task_type)
    )
    return Summary(tree, corpus, groups, len(shown), len(rows), len(all_roots))


def adjusted_p(node: Node) -> float | None:
    """The most honest p-value that the node has: by permutation, else the false discovery rate."""
    return node.p_adjusted if node.p_adjusted is not None else node.q_value


def as_json(summary: Summary) -> dict[str, Any]:
    """The summary as one JSON object."""
    corpus = summary.corpus
    return {
        "environment": summary.tree.header.environment,
        "outcome": summary.tree.header.outcome,
        "episodes": corpus.episodes,
        "base_rate": corpus.base_rate,
        "compression": corpus.compression,
        "n_nodes": len(summary.tree.nodes),
        "n_roots": summary.n_roots,
        "groups": [
            {"task_type": group.task_type, "routines": [routine_json(row) for row in group.routines]}
            for group in summary.groups
        ],
    }


def routine_json(row: Routine) -> dict[str, Any]:
    """One routine with its parts, and the node's own fields under ``node``."""
    node = msgspec.to_builtins(row.node)
    node.pop("schema", None)
    return {
        "id": row.node.id,
        "routine": row.node.expansion,
        "covered": row.share,
        "n": row.n,
        "n_known": row.known,
        "success": row.rate,
        "success_low": row.low,
        "success_high": row.high,
        "lift": row.lift,
        "parts": [routine_json(part) for part in row.parts],
        "node": node,
    }
