"""The rollout tree: the prefix trie of each question's trajectories (docs/methods/tree-opsd.md).

A node is a turn; it equals a sibling when their actions and observations are byte-equal. All questions
are built at once, level by level and vectorised, and only as deep as trajectories still share nodes:
what a trajectory does alone is a chain, laid out in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xskill.array_types import Ints64
from xskill.errors import BadData, BadRecord
from xskill.records.links import cycle_error
from xskill.rollouts.arrays import ORPHAN, Rollouts, texts_of


@dataclass(frozen=True, slots=True)
class Trie:
    """Q questions, N nodes (the Q roots come first), G distinct actions. A parent's id is below its children's.

    Nodes stand level by level up to :attr:`chains`; after them come the chains that one trajectory walks alone.
    """

    node: Ints64
    """[T] node of each turn."""
    end: Ints64
    """[n] node at which each trajectory ends; its question's root when it has no turn."""
    parent: Ints64
    """[N] -1 for a root."""
    depth: Ints64
    """[N] number of turns up to and with the node; 0 for a root."""
    shared: Ints64
    """[N] number of trajectories that pass through or end here."""
    group: Ints64
    """[N] the action under its parent that led here (-1 for a root); nodes of one group differ in the answer to it."""
    group_parent: Ints64
    """[G] node at which the action was taken."""
    turn: Ints64
    """[N] one turn that is this node; -1 for a root."""
    levels: list[tuple[int, int]]
    """First and last + 1 node of each level that has shared nodes or starts of chains; level 0 is the roots."""

    @property
    def chains(self) -> int:
        """First node of the chains that one trajectory walks alone."""
        return self.levels[-1][1]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, roots included."""
        return len(self.parent)

    @property
    def n_groups(self) -> int:
        """Number of distinct (parent, action) pairs."""
        return len(self.group_parent)

    @property
    def question(self) -> Ints64:
        """[N] question of each node."""
        question = np.arange(self.n_nodes)
        for start, stop in self.levels[1:]:
            question[start:stop] = question[self.parent[start:stop]]
        rest = slice(self.chains, None)
        heads = self.parent[rest] < self.chains
        question[rest] = question[self.parent[rest][heads]][np.cumsum(heads) - 1]
        return question


def build(rollouts: Rollouts, identity: Ints64 | None = None) -> Trie:
    """The prefix tries of all questions.

    Args:
        rollouts: the trajectories.
        identity: [T] turns after the same prefix are one node when this is equal; default: when their actions
            and observations are.
    """
    actions = rollouts.action if identity is None else identity
    observations = rollouts.observation if identity is None else identity
    n_questions, lengths, start = len(rollouts.questions), rollouts.lengths, rollouts.turn_start[:-1]
    node = np.full(rollouts.n_turns, -1, np.int64)
    parents, depths, shareds, groups, group_parents, turns = (
        [np.full(n_questions, fill, np.int64)] for fill in (-1, 0, 0, -1, -1, -1)
    )
    shareds[0] = np.bincount(rollouts.question, minlength=n_questions)
    group_parents[0] = group_parents[0][:0]
    levels = [(0, n_questions)]
    n_nodes, n_groups, depth = n_questions, 0, 0
    active = np.arange(rollouts.n)
    at = rollouts.question
    alone_from = np.zeros(rollouts.n, np.int64)
    while True:
        # ``active`` are the trajectories that still share their node with another; ``at`` is the node of each. One
        # round makes one level for all questions: two sorts of the active turns, and no Python object for each.
        goes_on = lengths[active] > depth
        active, at = active[goes_on], at[goes_on]
        if not len(active):
            break
        turn = start[active] + depth
        # First pairs of (node, action), which are the groups, then pairs of (group, observation), which are the nodes
        # of the next level. Codes of texts compare within a question only; a node belongs to one, so a pair does, too.
        _, taken, group = _distinct(at, actions[turn])
        count, sample, inverse = _distinct(group, observations[turn])
        # ``sample`` holds one active trajectory for each new node, ``inverse`` the new node of each trajectory.
        parents.append(at[sample])
        depths.append(np.full(len(sample), depth + 1))
        shareds.append(count)
        groups.append(group[sample] + n_groups)
        group_parents.append(at[taken])
        turns.append(turn[sample])
        at = inverse + n_nodes
        node[turn] = at
        levels.append((n_nodes, n_nodes + len(sample)))
        n_nodes += len(sample)
        n_groups += len(taken)
        depth += 1
        # Whoever is alone on its node cannot meet another one below it: the rest of its turns is a chain. So the loop
        # ends at the depth of the last shared node, and not at that of the longest trajectory.
        alone_from[active] = depth
        crowded = count[inverse] > 1
        active, at = active[crowded], at[crowded]

    # All chains at once: each of their turns is a node of its own, and the node before it is that of the turn before.
    chain = np.flatnonzero(rollouts.position >= np.repeat(alone_from, lengths))
    node[chain] = n_nodes + np.arange(len(chain))
    before = node[chain - 1]  # a chain never starts at a trajectory's first turn: level 1 holds all of those
    end = rollouts.question.copy()
    end[lengths > 0] = node[rollouts.turn_start[1:][lengths > 0] - 1]
    return Trie(
        node=node,
        end=end,
        parent=np.concatenate([*parents, before]),
        depth=np.concatenate([*depths, rollouts.position[chain] + 1]),
        shared=np.concatenate([*shareds, np.ones(len(chain), np.int64)]),
        group=np.concatenate([*groups, n_groups + np.arange(len(chain))]),
        group_parent=np.concatenate([*group_parents, before]),
        turn=np.concatenate([*turns, chain]),
        levels=levels,
    )


def _distinct(first: Ints64, second: Ints64) -> tuple[Ints64, Ints64, Ints64]:
    """The distinct pairs, sorted: how often each occurs, where it does, and which one each position has."""
    # One number for each pair, so that one sort of integers does: both are below the number of steps, and the square of
    # that fits into 64 bits up to two thousand million steps. The sort is stable: the first of equals is the sample.
    pairs = first * (int(second.max()) + 1) + second
    order = np.argsort(pairs, kind="stable")
    ascending = pairs[order]
    begins = np.ones(len(pairs), bool)
    begins[1:] = ascending[1:] != ascending[:-1]
    at = np.flatnonzero(begins)
    inverse = np.empty(len(pairs), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    return np.diff(np.append(at, len(pairs))), order[at], inverse


def root_ancestor(rollouts: Rollouts) -> Ints64:
    """[n] index of the trajectory at which each chain of parent links starts (an orphan is its own).

    Raises:
        BadData: parent links form a cycle.
    """
    ancestor = _far_up(rollouts)
    in_cycle = np.flatnonzero(rollouts.parent[ancestor] >= 0)
    if len(in_cycle):
        raise BadData(str(_cycle(rollouts, int(in_cycle[0]))))
    return ancestor


def _far_up(rollouts: Rollouts) -> Ints64:
    """[n] where the chain of parent links above each trajectory starts; one in the cycle that it leads into, if any."""
    # A trajectory without a parent is its own ancestor, so that a chain that has arrived stays where it is.
    ancestor = np.where(rollouts.parent >= 0, rollouts.parent, np.arange(rollouts.n))
    for _ in range(max(1, rollouts.n).bit_length()):  # each round doubles how far up it looks
        ancestor = ancestor[ancestor]
    return ancestor


def _cycle(rollouts: Rollouts, i: int) -> BadRecord:
    file, line = rollouts.place[i]
    return cycle_error(rollouts.ids[i]).at(file, line or None)


def origin(rollouts: Rollouts) -> Ints64:
    """[T] the turn at which each turn was generated: its own, or the ancestor's turn that it is a copy of."""
    root_ancestor(rollouts)
    who, position = rollouts.trajectory, rollouts.position
    # Each round takes all copied turns one generation up; there are as many rounds as generations, which are few.
    while True:
        copied = (position < rollouts.parent_turn[who]) & (rollouts.parent[who] >= 0)
        if not copied.any():
            return rollouts.turn_start[who] + position
        who = np.where(copied, rollouts.parent[who], who)


def check_links(rollouts: Rollouts, trie: Trie) -> dict[int, BadRecord]:
    """Branches whose first turns are not their parent's, or whose parent links lead into a cycle.

    Returns:
        Index of the trajectory → what is wrong with it.
    """
    bad: dict[int, BadRecord] = {}
    lengths, wanted, parent = rollouts.lengths, rollouts.parent_turn, rollouts.parent
    short, short_parent, different, cyclic = _misfits(rollouts, trie)
    for i in short.tolist():
        bad[i] = _error(rollouts, i, f"{wanted[i]}, but the trajectory has {lengths[i]} turns")
    for i in short_parent.tolist():
        p = parent[i]
        bad[i] = _error(rollouts, i, f"{wanted[i]}, but the parent {rollouts.ids[p]!r} has {lengths[p]} turns")
    for i in different.tolist():
        bad[i] = _difference(rollouts, trie, i, int(parent[i]))
    for i in cyclic.tolist():
        bad[i] = _cycle(rollouts, i)
    return bad


def links_hold(rollouts: Rollouts, trie: Trie) -> bool:
    """Whether :func:`check_links` finds nothing; the texts need not be held."""
    return not any(map(len, _misfits(rollouts, trie)))


def _misfits(rollouts: Rollouts, trie: Trie) -> tuple[Ints64, Ints64, Ints64, Ints64]:
    """Branches too short for their link; with a parent too short for it; with other first turns than their parent; and
    those whose chain of parents runs into a cycle."""
    lengths, wanted = rollouts.lengths, rollouts.parent_turn
    cyclic = np.empty(0, np.int64)
    if (rollouts.parent >= np.arange(rollouts.n)).any():  # no cycle while parents stand before their branches
        cyclic = np.flatnonzero(rollouts.parent[_far_up(rollouts)] >= 0)
    # Two trajectories share all turns up to one exactly if that one turn is the same node, so a link is checked by its
    # last copied turn alone. Those for which there is no such turn are left out: they are misfits already.
    linked = np.flatnonzero((rollouts.parent >= 0) & (wanted > 0) & (wanted <= lengths))
    fits = lengths[rollouts.parent[linked]] >= wanted[linked]
    linked, short_parent = linked[fits], linked[~fits]
    last = wanted[linked] - 1
    mine, theirs = (trie.node[rollouts.turn_start[who] + last] for who in (linked, rollouts.parent[linked]))
    return np.flatnonzero(wanted > lengths), short_parent, linked[mine != theirs], cyclic


def _difference(rollouts: Rollouts, trie: Trie, i: int, p: int) -> BadRecord:
    """The first turn at which branch ``i`` leaves its parent ``p``, though it should not have."""
    n, mine, theirs = int(rollouts.parent_turn[i]), int(rollouts.turn_start[i]), int(rollouts.turn_start[p])
    turn = int(np.flatnonzero(trie.node[mine : mine + n] != trie.node[theirs : theirs + n])[0])
    tables: Sequence[dict[Any, int]]
    what, tables, codes = "action", rollouts.actions, rollouts.step_action
    if rollouts.action[mine + turn] == rollouts.action[theirs + turn]:
        what, tables, codes = "observation", rollouts.observations, rollouts.step_observation
    table = tables[int(rollouts.question[i])]
    found, expected = (
        " | ".join(map(str, texts_of([table], codes[rollouts.steps_of(start + turn)]))) for start in (mine, theirs)
    )
    return _error(
        rollouts,
        i,
        f"{n}, but turn {turn} differs from the parent {rollouts.ids[p]!r}: "
        f"{what} {_shown(found)}, the parent's {_shown(expected)}",
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _error(rollouts: Rollouts, i: int, reason: str) -> BadRecord:
    file, line = rollouts.place[i]
    return BadRecord(reason, path="parent.turn", file=file, line=line or None)


def summary(rollouts: Rollouts, trie: Trie) -> dict[str, float | int]:
    """What the trees look like, in numbers.

    ``cost`` is the mean number of turns generated for a question, in full rollouts (mean length of the
    question's trajectories); ``branching`` the mean number of different actions at the nodes with several.
    """
    lengths, n_questions = rollouts.lengths, len(np.unique(rollouts.question))
    inner = np.bincount(trie.group_parent, minlength=trie.n_nodes)
    branched = inner[inner > 1]
    questions = np.bincount(rollouts.question, minlength=len(rollouts.questions))
    own = np.bincount(rollouts.question, np.where(rollouts.parent_turn < lengths, lengths - rollouts.parent_turn, 0))
    total = np.bincount(rollouts.question, lengths)
    walked = total > 0
    leaves = np.unique(trie.end, return_counts=True)[1]
    return {
        "questions": n_questions,
        "trajectories": rollouts.n,
        "leaves": len(leaves),
        "duplicates": int((leaves - 1).sum()),
        "unfinished": int(np.isnan(rollouts.reward).sum()),
        "orphans": int((rollouts.parent == ORPHAN).sum()),
        "turns": rollouts.n_turns,
        "nodes": trie.n_nodes - len(rollouts.questions),
        "depth": int(lengths.max(initial=0)),
        "mean_depth": round(float(lengths.mean()), 4) if rollouts.n else 0.0,
        "branch_points": len(branched),
        "branching": round(float(branched.mean()), 4) if len(branched) else 0.0,
        "cost": round(float((own[walked] * questions[walked] / total[walked]).sum() / max(1, n_questions)), 4),
    }
