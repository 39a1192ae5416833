"""Which routines of a tree are skills: used, better than usual for their tasks, and no part of a better one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xskill.distill.experience import Experience, Ints
from xskill.distill.replay import Positions, multiplicity, share_inside
from xskill.mine.association import Tables, benjamini_hochberg, fisher, wilson
from xskill.records import Node
from xskill.tree.model import XTree

INSIDE = 0.8
"""A node of which this share lies inside another chosen one is left out."""
USED = 0.05
"""A type uses a routine when this share of its episodes holds it (and at least two do)."""


@dataclass(frozen=True, slots=True)
class Routine:
    """A node with its numbers in one scope: all task types (``task_type`` None) or one.

    ``positives`` of the ``known`` holders with an outcome had the outcome that is asked for: success, or failure for a
    lesson. ``expected`` is the share that is usual for the holders' task types: sum_s n_s r_s / sum_s n_s over types s,
    n_s holders, r_s the rate of all episodes of the type.
    """

    node: Node
    starts: Positions
    """Occurrences in the scope."""
    holders: Ints
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
    q_value: float

    @property
    def rank(self) -> float:
        """Wilson lower bound over the expected rate, times coverage."""
        return self.low / self.expected * self.coverage if self.expected else 0.0

    @property
    def rate(self) -> float:
        return self.positives / self.known


def assess(
    tree: XTree,
    found: Mapping[str, Positions],
    experience: Experience,
    *,
    outcome: int,
    min_families: int | None = None,
    min_support: int = 5,
    only: Sequence[str] | None = None,
) -> list[Routine]:
    """All nodes that could become skills, best first (ties: longer, then earlier in the tree).

    A node used in at least ``min_families`` task types (default: half of them, and two) is general, one used in fewer
    is assessed in each of them. It needs ``min_support`` holders with an outcome and a rate above the expected one.
    q-values (Benjamini-Hochberg) are over all nodes of the scope that have the support, good or bad.

    Args:
        outcome: 1 to look for success, 0 for failure.
        only: task types to look at, each for itself; nothing is general then.
    """
    corpus = experience.corpus
    types = corpus.task_type
    stratum = np.where(types.codes >= 0, types.codes, len(types.names))
    n_strata = len(types.names) + 1
    families = enough_types(len(types.names), min_families)
    known = corpus.outcome >= 0
    totals = np.bincount(stratum[known], minlength=n_strata)
    positives = np.bincount(stratum[corpus.outcome == outcome], minlength=n_strata)
    sizes = np.bincount(stratum, minlength=n_strata)
    episode_of = experience.episode_of
    scopes: dict[int | None, list[tuple[Node, Positions, Ints, tuple[str, ...]]]] = {}
    for node in tree.nodes:
        starts = found[node.id]
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
    routines: list[Routine] = []
    for scope, members in scopes.items():
        rows = [np.bincount(stratum[h[known[h]]], minlength=n_strata) for _, _, h, _ in members]
        hits = [np.bincount(stratum[h[corpus.outcome[h] == outcome]], minlength=n_strata) for _, _, h, _ in members]
        supported = [number for number, row in enumerate(rows) if row.sum() >= min_support]
        if not supported:
            continue
        tables = Tables(np.asarray(hits)[supported], np.asarray(rows)[supported], positives, totals)
        p_values = fisher(tables)
        q_values = benjamini_hochberg(p_values)
        n_hits, n_rows = tables.hits.sum(axis=1), tables.holders.sum(axis=1)
        lows, _ = wilson(n_hits, n_rows)
        rate = positives / np.maximum(totals, 1)
        expected = (tables.holders * rate).sum(axis=1) / n_rows
        whole = int(totals.sum() if scope is None else totals[scope])
        for row, number in enumerate(supported):
            if n_hits[row] / n_rows[row] <= expected[row] and n_hits[row] < n_rows[row]:
                continue
            node, starts, holders, names = members[number]
            routines.append(
                Routine(
                    node=node,
                    starts=starts,
                    holders=holders,
                    task_type=None if scope is None else types.names[scope],
                    types=names,
                    known=int(n_rows[row]),
                    positives=int(n_hits[row]),
                    expected=float(expected[row]),
                    low=float(lows[row]),
                    coverage=float(n_rows[row] / whole),
                    p_value=float(p_values[row]),
                    q_value=float(q_values[row]),
                )
            )
    place = {node.id: number for number, node in enumerate(tree.nodes)}
    return sorted(routines, key=lambda r: (-r.rank, -r.node.length, place[r.node.id], r.task_type or ""))


def enough_types(n_types: int, min_families: int | None) -> int:
    """Task types that must use a routine before it is general: half of them, and two, unless told otherwise."""
    return min_families if min_families is not None else max(2, -(-n_types // 2))


def choose(routines: Sequence[Routine], tree: XTree, found: Mapping[str, Positions], most: int) -> list[Routine]:
    """The first ``most`` routines of a ranking that are no repetition of another.

    Left out is a routine that mostly (>= 80%) occurs inside another chosen one; and of the longer variants of a chosen
    routine all but the best.
    """
    inside = multiplicity(tree)
    left_out: set[str] = set()
    while True:
        chosen: list[Routine] = []
        extended: set[str] = set()
        for routine in routines:
            cores = {other.node.id for other in chosen if other.node.id in inside[routine.node.id]}
            if routine.node.id in left_out or cores & extended:
                continue
            chosen.append(routine)
            extended |= cores
            if len(chosen) == most:
                break
        redundant = {
            routine.node.id
            for routine in chosen
            for other in chosen
            if other is not routine and share_inside(routine.node.id, other.node.id, found, inside) >= INSIDE
        }
        if not redundant:
            return chosen
        left_out |= redundant
