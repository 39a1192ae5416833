"""A rollout tree turn by turn: each shared turn once, with who passed through it and how that ended."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xskill.records import RolloutNode, Step
from xskill.rollouts.build import Trie
from xskill.rollouts.columns import Ints, Rollouts
from xskill.rollouts.originals import Originals, original_lines, whole


def numbering(trie: Trie) -> tuple[Ints, Ints]:
    """[N] number of each node in its question (0 = root, parents first); and the nodes, question by question."""
    order = np.lexsort((np.arange(trie.n_nodes), trie.depth, trie.question))
    first = np.flatnonzero(np.diff(trie.question[order], prepend=-1))
    number = np.empty(trie.n_nodes, np.int64)
    number[order] = np.arange(trie.n_nodes) - np.repeat(first, np.diff(np.append(first, trie.n_nodes)))
    return number, order


def rollout_nodes(rollouts: Rollouts, trie: Trie, originals: Originals) -> Iterator[RolloutNode]:
    """All nodes, question by question, the root first."""
    number, order = numbering(trie)
    through: list[list[int]] = [[] for _ in range(trie.n_nodes)]
    for i, node in zip(rollouts.trajectory.tolist(), trie.node.tolist(), strict=True):
        through[node].append(i)
    for i, question in enumerate(rollouts.question.tolist()):
        through[question].append(i)
    ended: dict[int, list[int]] = {}
    for i, node in enumerate(trie.end.tolist()):
        ended.setdefault(node, []).append(i)
    steps = _steps_of_nodes(rollouts, trie, originals)
    reward = rollouts.reward
    for node in order.tolist():
        if not through[node]:
            continue  # the root of a question whose trajectories were all rejected
        known = reward[through[node]]
        known = known[~np.isnan(known)]
        yield RolloutNode(
            question_id=rollouts.questions[int(trie.question[node])],
            node=int(number[node]),
            parent=int(number[trie.parent[node]]) if trie.parent[node] >= 0 else None,
            depth=int(trie.depth[node]),
            trajectories=[rollouts.ids[i] for i in through[node]],
            ended=[rollouts.ids[i] for i in ended.get(node, [])],
            finished=len(known),
            reward=float(known.mean()) if len(known) else None,
            steps=steps.get(node, []),
        )


def _steps_of_nodes(rollouts: Rollouts, trie: Trie, originals: Originals) -> dict[int, list[Step]]:
    """Steps of each node, as the first trajectory has them that generated the turn (else the first that copied it)."""
    best = np.lexsort((np.arange(rollouts.n_turns), ~rollouts.generated, trie.node))
    first = np.flatnonzero(np.diff(trie.node[best], prepend=-1))
    wanted = np.zeros(rollouts.n_turns, bool)
    wanted[best[first]] = True
    stops = np.append(rollouts.first_step[1:], len(rollouts.turn_of_step))
    found: dict[int, list[Step]] = {}
    for i, line in enumerate(original_lines(originals, rollouts.place)):
        turns = range(int(rollouts.turn_start[i]), int(rollouts.turn_start[i + 1]))
        chosen = [turn for turn in turns if wanted[turn]]
        if not chosen:
            continue
        steps = whole(line, rollouts.place[i]).steps or []
        offset = int(rollouts.step_start[i])
        for turn in chosen:
            found[int(trie.node[turn])] = steps[int(rollouts.first_step[turn]) - offset : int(stops[turn]) - offset]
    return found
