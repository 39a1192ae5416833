"""What a person wants to know first about a tree: its routines, what they cover, and whether they go with success."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import msgspec

from xskill.errors import UsageError
from xskill.records import Node
from xskill.tree.xtree import XTree, by_id, child_nodes, roots, success_rate

ALPHA = 0.05
DOMINANT = 0.8
"""Share of a routine's episodes from which on one task type stands for it."""
MOST_LEVELS = 100
"""Sub-routines below this are not followed: a hostile tree can be thousands of levels deep."""


@dataclass(frozen=True, slots=True)
class MinedCorpus:
    """What the header tells of the mined corpus; None where it tells nothing."""

    episodes: int | None
    base_rate: float | None
    """Success rate of the episodes with an outcome."""
    steps_covered: int | None
    """Actions of the episodes of the mined outcome: what ``Routine.share`` is a share of."""
    compression: float | None
    """Symbols before / symbols after tiling, over all episodes."""
    n_success: int | None
    n_failure: int | None
    """Episodes by outcome."""


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
    in_success: float | None
    """Share of the successful episodes that hold it."""
    in_failure: float | None
    """Share of the failed episodes that hold it."""
    task_type: str | None
    """The task type that (nearly) all its episodes share; None with several, or when none is recorded."""
    parts: tuple[Routine, ...] = ()

    @property
    def contrast(self) -> float | None:
        """``in_success - in_failure``."""
        if self.in_success is None or self.in_failure is None:
            return None
        return self.in_success - self.in_failure


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to show of a tree, and how."""

    top: int = 12
    """Number of routines; 0 = all."""
    depth: int = 1
    """Levels of sub-routines below each."""
    sort: str | None = None
    """A key of :data:`SORTS`; None: ``covered``, with ``compare`` ``contrast``."""
    node: str | None = None
    """Id of the one node to show."""
    max_p: float | None = None
    """Only nodes with ``p_adjusted`` (else ``q_value``) at most this."""
    compare: str | None = None
    """``outcome``: how many of the successes and of the failures hold each, instead of the success rate."""
    wide: bool = False
    example: bool = False
    parents: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class RoutineGroup:
    """Routines of one task type (None: of several), best first."""

    task_type: str | None
    routines: tuple[Routine, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report of a tree shows: its routines in groups, chosen and sorted."""

    tree: XTree
    wanted: Wanted
    corpus: MinedCorpus
    groups: tuple[RoutineGroup, ...]
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
    "contrast": lambda row: (-abs(row.contrast or 0.0), -row.weight),
    "id": lambda row: (),
}
"""``--sort`` → key; the merge order breaks ties. ``success`` takes the lower bound, so that 3 of 3 is not the best."""


def corpus_of(tree: XTree) -> MinedCorpus:
    """Read the header's ``stats``; a value of a wrong type counts as not told."""
    stats = tree.header.stats

    def number(name: str) -> float | None:
        value = stats.get(name)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None

    before, after, covered = number("steps"), number("symbols"), number(f"steps_{tree.header.outcome}")
    n_known, good = number("episodes_known"), number("episodes_success")
    return MinedCorpus(
        episodes=tree.header.corpus.n_trajectories,
        base_rate=number("base_rate"),
        steps_covered=int(covered) if covered else None,
        compression=before / after if before and after else None,
        n_success=None if n_known is None or good is None else int(good),
        n_failure=None if n_known is None or good is None else int(max(0, n_known - good)),
    )


def _dominant(node: Node) -> str | None:
    """The task type of at least :data:`DOMINANT` of its episodes."""
    types = node.task_types or []
    if len(types) == 1:
        return types[0]
    episodes = node.task_type_episodes or []
    if not episodes or len(episodes) != len(types):
        return None
    most = max(episodes)
    return types[episodes.index(most)] if most >= DOMINANT * (node.episodes or sum(episodes)) else None


def routine(node: Node, tree: XTree, corpus: MinedCorpus) -> Routine:
    """Judge one node."""
    failure = tree.header.outcome == "failure"
    if node.tiles is None:
        weight = float(node.count * node.length)
    else:
        tiles = node.tiles - (node.tiles_success or 0) if failure else node.tiles_success or 0
        weight = float(tiles * node.length)
    if node.episodes is None:
        n = n_known = node.count
        rate = success_rate(node, tree)
        k = 0 if rate is None else round(rate * n_known)
    else:
        n, n_known, k = node.episodes, node.episodes_known or 0, node.episodes_success or 0
        rate = k / n_known if n_known and corpus.base_rate != 1 else None
    low, high = node.success_low, node.success_high
    if rate is None:
        low = high = None
    elif low is None or high is None:
        from xskill.gate.intervals import wilson  # brings numpy: only a tree without intervals pays for it

        low, high = wilson(k, n_known, ALPHA)
    return Routine(
        node=node,
        n=n,
        known=n_known,
        rate=rate,
        low=low,
        high=high,
        lift=node.lift if rate is not None else None,
        weight=weight,
        share=weight / corpus.steps_covered if corpus.steps_covered and node.tiles is not None else None,
        in_success=k / corpus.n_success if corpus.n_success and node.episodes is not None else None,
        in_failure=(n_known - k) / corpus.n_failure if corpus.n_failure and node.episodes is not None else None,
        task_type=_dominant(node),
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


def summarise(tree: XTree, wanted: Wanted) -> Summary:
    """The best roots, in groups by task type (a group is as good as its best routine), with sub-routines.

    Raises:
        UsageError: an unknown sort or comparison, ``max_p`` for a tree without p-values, or a comparison for a tree
            that does not tell the outcomes of its episodes.
    """
    sort, max_p = wanted.sort or ("contrast" if wanted.compare else "covered"), wanted.max_p
    if sort not in SORTS:
        raise UsageError(f"--sort {sort}: expected one of {', '.join(SORTS)}")
    if wanted.compare not in (None, "outcome"):
        raise UsageError(f"--compare {wanted.compare}: expected outcome")
    corpus, all_roots = corpus_of(tree), roots(tree)
    chosen = all_roots
    if max_p is not None:
        if all(adjusted_p(node) is None for node in tree.nodes):
            raise UsageError("--max-p: this tree has no p-values")
        chosen = [node for node in chosen if (p := adjusted_p(node)) is not None and p <= max_p]
    rows = sorted((routine(node, tree, corpus) for node in chosen), key=SORTS[sort])
    if wanted.compare and all(row.contrast is None for row in rows):
        raise UsageError("--compare outcome: this tree does not tell how many episodes of each outcome hold a node")
    shown = rows[: wanted.top] if wanted.top > 0 else rows
    place: dict[str | None, int] = {}
    for row in shown:
        place.setdefault(row.task_type, len(place))
    ordered = sorted(shown, key=lambda row: place[row.task_type])
    groups = tuple(
        RoutineGroup(task_type, tuple(with_parts(row.node, tree, wanted.depth) for row in members))
        for task_type, members in groupby(ordered, key=lambda row: row.task_type)
    )
    return Summary(tree, wanted, corpus, groups, len(shown), len(rows), len(all_roots))


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
        "in_success": row.in_success,
        "in_failure": row.in_failure,
        "parts": [routine_json(part) for part in row.parts],
        "node": node,
    }
