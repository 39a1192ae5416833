"""Which routines of a tree are skills: used, better than usual for their tasks, and no part of a better one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xskill.array_types import Ints32, Ints64
from xskill.distill.experience import Experience
from xskill.distill.node_places import multiplicity, share_inside
from xskill.distill.significance import Blocks, p_value
from xskill.mine.association import wilson
from xskill.records import Node
from xskill.tree.xtree import XTree

INSIDE = 0.8
"""A node of which this share lies inside another chosen one is left out."""
USED = 0.05
"""A type uses a routine when this share of its episodes holds it (and at least two do)."""


@dataclass(frozen=True, slots=True)
class ScopedRoutine:
    """A node with its numbers in one scope: all task types (``task_type`` None) or one.

    ``positives`` of the ``known`` holders with an outcome had the outcome that is asked for: success, or failure for a
    lesson. ``expected`` is the share that is usual for the holders' task types: sum_s n_s r_s / sum_s n_s over types s,
    n_s holders, r_s the rate of all episodes of the type.
    """

    node: Node
    starts: Ints64
    """Occurrences in the scope."""
    holders: Ints32
    """Episodes in the scope that hold it, ascending."""
    task_type: str | None
    types: tuple[str, ...]
    """Task types that use it."""
    known: int
    positives: int
    expected: float
    low: float
    """Wilson 95% lower bound of ``positives / known``."""
    coverage: float
    """Share of the scope's episodes with an outcome that hold it."""
    p_value: float
    """Of the exact test within :class:`~xskill.distill.significance.Blocks`."""
    p_adjusted: float | None
    """The tree's own, where it was mined with permutations from these very episodes and the scope is all of them."""
    q_value: float = float("nan")
    """Over all tests of the bank (:func:`judged`)."""

    @property
    def rank(self) -> float:
        """Wilson lower bound over the expected rate, times coverage."""
        return self.low / self.expected * self.coverage if self.expected else 0.0

    @property
    def rate(self) -> float:
        return self.positives / self.known

    @property
    def better(self) -> bool:
        """Whether the outcome that is asked for is commoner than usual, or nothing else happened."""
        return self.rate > self.expected or self.positives == self.known


def assess(
    tree: XTree,
    places: Mapping[str, Ints64],
    experience: Experience,
    within: Blocks,
    *,
    outcome: int,
    min_families: int | None = None,
    min_support: int = 5,
    only: Sequence[str] | None = None,
) -> list[ScopedRoutine]:
    """All nodes with enough support in each of their scopes, good or bad, best first (ties: longer, then earlier).

    A node used in at least ``min_families`` task types (default: half of them, and two) is general, one used in fewer
    is assessed in each of them. It needs ``min_support`` holders with an outcome.

    Args:
        outcome: 1 to look for success, 0 for failure.
        only: task types to look at, each for itself; nothing is general then.
    """
    corpus = experience.corpus
    types = corpus.task_type
    stratum = np.where(types.codes >= 0, types.codes, len(types.names))
    n_strata = len(types.names) + 1
    families = enough_types(len(types.names), min_families)
    has_outcome = corpus.outcome >= 0
    totals = np.bincount(stratum[has_outcome], minlength=n_strata)
    positives = np.bincount(stratum[corpus.outcome == outcome], minlength=n_strata)
    sizes = np.bincount(stratum, minlength=n_strata)
    episode_of = experience.episode_of
    scopes: dict[int | None, list[tuple[Node, Ints64, Ints32, tuple[str, ...]]]] = {}
    for node in tree.nodes:
        starts = places[node.id]
        episodes = episode_of[starts]
        holders = episodes[np.append(True, episodes[1:] != episodes[:-1])[: len(episodes)]]  # positions ascend
        held = np.bincount(stratum[holders], minlength=n_strata)
        using = [s for s in range(len(types.names)) if held[s] >= max(2, USED * sizes[s])]
        names = tuple(types.names[s] for s in using)
        if only is None and (len(using) >= families or not types.names):
            scopes.setdefault(None, []).append((node, starts, holders, names))
            continue
        for s in using:
            if only is None or types.names[s] in only:
                inside = stratum[episodes] == s
                scopes.setdefault(s, []).append((node, starts[inside], holders[stratum[holders] == s], names))
    rates = positives / np.maximum(totals, 1)
    routines: list[ScopedRoutine] = []
    for scope, members in scopes.items():
        whole = int(totals.sum() if scope is None else totals[scope])
        for node, starts, holding, names in members:
            witnesses = holding[has_outcome[holding]]
            if len(witnesses) < min_support:
                continue
            hits = int((corpus.outcome[witnesses] == outcome).sum())
            routines.append(
                ScopedRoutine(
                    node=node,
                    starts=starts,
                    holders=holding,
                    task_type=None if scope is None else types.names[scope],
                    types=names,
                    known=len(witnesses),
                    positives=hits,
                    expected=float(rates[stratum[witnesses]].mean()),
                    low=float(wilson(np.array([hits]), np.array([len(witnesses)]))[0][0]),
                    coverage=len(witnesses) / whole,
                    p_value=p_value(within, witnesses, outcome),
                    p_adjusted=node.p_adjusted
                    if whole == totals.sum() and (node.episodes, node.episodes_known) == (len(holding), len(witnesses))
                    else None,
                )
            )
    place = {node.id: number for number, node in enumerate(tree.nodes)}
    return sorted(routines, key=lambda r: (-r.rank, -r.node.length, place[r.node.id], r.task_type or ""))


def judged(routines: Sequence[ScopedRoutine], q: Sequence[float]) -> list[ScopedRoutine]:
    """The routines with their q-values."""
    return [replace(routine, q_value=value) for routine, value in zip(routines, q, strict=True)]


def enough_types(n_types: int, min_families: int | None) -> int:
    """Task types that must use a routine before it is general: half of them, and two, unless told otherwise."""
    return min_families if min_families is not None else max(2, -(-n_types // 2))


def choose(
    routines: Sequence[ScopedRoutine], tree: XTree, places: Mapping[str, Ints64], most: int
) -> list[ScopedRoutine]:
    """The first ``most`` routines of a ranking that are no repetition of another.

    Left out is a routine that mostly (>= 80%) occurs inside another chosen one; and of the longer variants of a chosen
    routine all but the best.
    """
    inside = multiplicity(tree)
    left_out: set[str] = set()
    while True:
        chosen: list[ScopedRoutine] = []
        extended: set[str] = set()
        for routine in routines:
            if len(chosen) == most:
                break
            cores = {other.node.id for other in chosen if other.node.id in inside[routine.node.id]}
            if routine.node.id in left_out or cores & extended:
                continue
            chosen.append(routine)
            extended |= cores
        redundant = {
            routine.node.id
            for routine in chosen
            for other in chosen
            if other is not routine and share_inside(routine.node.id, other.node.id, places, inside) >= INSIDE
        }
        if not redundant:
            return chosen
        left_out |= redundant
