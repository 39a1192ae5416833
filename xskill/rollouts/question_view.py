"""One question's rollout tree as a person looks at it: turns with value, credit, target and outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from xskill.array_types import Ints64
from xskill.errors import BadData, UsageError
from xskill.records import RolloutNode, Step, Trajectory
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.original_records import Originals, original_lines, whole
from xskill.rollouts.prefix_tree import Trie


def numbering(trie: Trie) -> tuple[Ints64, Ints64]:
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


@dataclass(frozen=True, slots=True)
class Leaf:
    """A trajectory that ends at a turn."""

    id: str
    reward: float | None
    """null = unfinished."""
    success: bool | None


@dataclass(slots=True)
class ShownTurn:
    """A node of the tree; the root is no turn and has no steps."""

    number: int
    parent: int | None
    depth: int
    steps: list[Step]
    n: int
    """Trajectories that pass through or end here."""
    value: float | None
    """V of the credit run; without one, the mean reward below."""
    credit: float | None
    target: float | None
    leaves: list[Leaf]
    children: list[int] = field(default_factory=list)
    contrast: float = 0.0
    """How much better the action is than the mean of all actions taken at this point; 0 without an alternative."""
    alternatives: int = 0
    """Other actions taken at this point."""

    @property
    def action(self) -> str:
        """What the turn did, on one line."""
        return " | ".join(step.action for step in self.steps)

    @property
    def observation(self) -> str:
        """What came back."""
        return "\n".join(step.observation for step in self.steps if step.observation is not None)


@dataclass(frozen=True, slots=True)
class View:
    """The tree of one question."""

    question_id: str
    task: str | None
    turns: list[ShownTurn]
    """By number, the root first."""
    n: int
    """Trajectories."""
    finished: int
    mean_reward: float | None
    credited: bool
    """Whether values and credits come from a credit run."""
    n_questions: int
    """In the input."""

    def decisive(self, top: int) -> list[ShownTurn]:
        """The turns whose choice mattered most, one at each point of choice, those farthest from their alternatives
        first."""
        ranked = sorted((turn for turn in self.turns if turn.contrast), key=lambda t: (-abs(t.contrast), t.number))
        points = {turn.parent: turn for turn in reversed(ranked)}
        return [turn for turn in ranked if points[turn.parent] is turn][:top]


def choose_question(rollouts: Rollouts, wanted: str | None) -> int:
    """Code of the wanted question; without a wish, the first whose rewards differ, else the first with most turns.

    Raises:
        UsageError: there is no such question.
        BadData: there is none at all.
    """
    if not rollouts.n:
        raise BadData("no rollout to show")
    if wanted is not None:
        if wanted not in rollouts.questions:
            some = ", ".join(rollouts.questions[:5]) + (", …" if len(rollouts.questions) > 5 else "")
            raise UsageError(f"--question {wanted}: not in the input, which has {some}")
        return rollouts.questions.index(wanted)
    low, high = np.full(len(rollouts.questions), np.inf), np.full(len(rollouts.questions), -np.inf)
    known = ~np.isnan(rollouts.reward)
    np.minimum.at(low, rollouts.question[known], rollouts.reward[known])
    np.maximum.at(high, rollouts.question[known], rollouts.reward[known])
    varied = np.flatnonzero(high > low)
    if len(varied):
        return int(varied[0])
    return int(np.bincount(rollouts.question, rollouts.lengths + 1, len(rollouts.questions)).argmax())


def view(rollouts: Rollouts, trie: Trie, originals: Originals, question: int) -> View:
    """The tree of one question, with the credits that its trajectories carry."""
    number, order = numbering(trie)
    nodes = order[trie.question[order] == question]
    turns = [_empty(int(number[node]), trie, number, int(node)) for node in nodes.tolist()]
    task: str | None = None
    credited = False
    generated = rollouts.generated
    mine = rollouts.question == question
    filled: set[int] = set()
    for i, line in enumerate(original_lines(originals, rollouts.place, with_credits=True)):
        if not mine[i]:
            continue
        record = whole(line, rollouts.place[i])
        task = task or record.task
        credited = credited or record.credits is not None
        end = turns[int(number[trie.end[i]])]
        reward = None if np.isnan(rollouts.reward[i]) else float(rollouts.reward[i])
        end.leaves.append(Leaf(record.id, reward, record.success))
        for turn in range(int(rollouts.turn_start[i]), int(rollouts.turn_start[i + 1])):
            at = int(number[trie.node[turn]])
            if at not in filled or generated[turn]:
                _fill(turns[at], record, rollouts, i, turn)
                filled.add(at)
    for turn_ in turns[1:]:
        turns[turn_.parent or 0].children.append(turn_.number)
    _mean_rewards(turns, credited)
    _contrasts(turns)
    known = rollouts.reward[mine & ~np.isnan(rollouts.reward)]
    return View(
        question_id=rollouts.questions[question],
        task=task,
        turns=turns,
        n=int(mine.sum()),
        finished=len(known),
        mean_reward=float(known.mean()) if len(known) else None,
        credited=credited,
        n_questions=len(np.unique(rollouts.question)),
    )


def _empty(number: int, trie: Trie, numbers: np.ndarray, node: int) -> ShownTurn:
    parent = int(numbers[trie.parent[node]]) if trie.parent[node] >= 0 else None
    return ShownTurn(number, parent, int(trie.depth[node]), [], int(trie.shared[node]), None, None, None, [])


def _fill(turn: ShownTurn, record: Trajectory, rollouts: Rollouts, i: int, index: int) -> None:
    first = int(rollouts.first_step[index] - rollouts.step_start[i])
    stops = rollouts.first_step[index + 1] if index + 1 < rollouts.n_turns else len(rollouts.turn_of_step)
    stop = min(int(stops), int(rollouts.step_start[i + 1])) - int(rollouts.step_start[i])
    turn.steps = (record.steps or [])[first:stop]
    turn.value = record.values[first] if record.values else None
    turn.credit = record.credits[first] if record.credits else None
    turn.target = record.targets[first] if record.targets else None


def _mean_rewards(turns: list[ShownTurn], credited: bool) -> None:
    """Without credits, a turn's value is the mean reward of the rollouts below."""
    total = [sum(leaf.reward for leaf in turn.leaves if leaf.reward is not None) for turn in turns]
    count = [sum(leaf.reward is not None for leaf in turn.leaves) for turn in turns]
    for turn in reversed(turns[1:]):
        total[turn.parent or 0] += total[turn.number]
        count[turn.parent or 0] += count[turn.number]
    if not credited:
        for turn in turns:
            turn.value = total[turn.number] / count[turn.number] if count[turn.number] else None


def _contrasts(turns: list[ShownTurn]) -> None:
    for parent in turns:
        by_action: dict[str, list[ShownTurn]] = {}
        for child in (turns[number] for number in parent.children):
            by_action.setdefault(child.action, []).append(child)
        worth = {action: _worth(members) for action, members in by_action.items()}
        known = [value for value in worth.values() if value is not None]
        for action, members in by_action.items():
            value = worth[action]
            for child in members:
                child.alternatives = len(by_action) - 1
                if value is not None and len(known) > 1:
                    child.contrast = value - sum(known) / len(known)


def _worth(members: list[ShownTurn]) -> float | None:
    """Of an action: its credit where there is one that compares, else the mean value of what followed it."""
    values = [turn.value if turn.value is not None else turn.credit for turn in members]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
