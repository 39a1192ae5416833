"""Evidence from rollout trees: the elite path against its siblings under the same parent (Branch2Skill)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from xskill.records import Candidate, Evidence, Trajectory, turns

BranchVerdict = Literal["avoid", "equivalent", "revise"]


@dataclass(slots=True)
class TurnNode:
    """A node of a question's tree: one turn after one prefix."""

    action: str
    """Raw actions of the turn, joined by ``; ``."""
    tokens: tuple[str, ...]
    children: dict[tuple[str, str], TurnNode] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=list)
    """Trajectories that pass through or end here."""
    q: float | None = None
    visits: int | None = None


def gather(records: Iterable[Trajectory]) -> list[Evidence]:
    """Evidence of all questions, in the order in which they first came.

    ``Q`` and ``N`` of an action are those that the search recorded (``steps[].q``, ``visits``), else the values that
    ``credit`` added, else the mean outcome and the number of the trajectories below. What was not visited and has no
    outcome is left out; a question without a finished trajectory gives nothing.

    ``extra.first`` holds how one rollout below each action ended, the finished one with the smallest id. A test can
    rest on these, since they were chosen without a look at outcomes. On the verdicts it cannot: they favour actions
    that were tried often, and the elite was chosen for its success.
    """
    questions: dict[str, list[Trajectory]] = {}
    for record in records:
        if record.question_id is not None and record.steps:
            questions.setdefault(record.question_id, []).append(record)
    return [evidence for name, members in questions.items() for evidence in of_question(name, members)]


def of_question(name: str, records: Sequence[Trajectory]) -> list[Evidence]:
    """Evidence of one question; its trajectories may come in any order."""
    records = sorted(records, key=lambda record: record.id)
    root, ends = _tree(records)
    finished = [n for n, record in enumerate(records) if outcome_of(record) is not None]
    if not finished:
        return []
    best = _best(finished, records, ends)
    elite, won = records[best], outcome_of(records[best]) is True
    evidence: list[Evidence] = []
    node = root
    prefix: list[str] = []
    tokens: list[str] = []
    for depth, key in enumerate(_path(elite), 1):
        by_action: dict[str, list[TurnNode]] = {}
        for child in node.children.values():
            by_action.setdefault(child.action, []).append(child)
        chosen = node.children[key]
        first = _first(by_action[chosen.action], records, finished)
        own = _candidate(by_action.pop(chosen.action), records, ends, finished)
        own = Candidate(action=own.action, q=own.q, n=own.n, outcome=won, completed_by=elite.id)
        verdicts: dict[BranchVerdict, list[tuple[Candidate, tuple[str, ...], bool]]] = {}
        for others in by_action.values():
            sibling = _candidate(others, records, ends, finished)
            if sibling.completed_by is None or (won and sibling.outcome is None):
                continue
            verdict: BranchVerdict = "revise" if not won else "equivalent" if sibling.outcome is True else "avoid"
            verdicts.setdefault(verdict, []).append((sibling, others[0].tokens, _first(others, records, finished)))
        for verdict in sorted(verdicts):
            rows = sorted(verdicts[verdict], key=lambda row: (-_or(row[0].q), -(row[0].n or 0), row[0].action))
            extra: dict[str, Any] = {
                "tokens": {
                    "prefix": list(tokens),
                    "elite": list(chosen.tokens),
                    "siblings": [list(sibling_tokens) for _, sibling_tokens, _ in rows],
                },
                "first": {"elite": first, "siblings": [ended for _, _, ended in rows]},
            }
            extra |= {k: v for k, v in (("task_type", elite.task_type), ("env", elite.env)) if v is not None}
            evidence.append(
                Evidence(
                    task_id=name,
                    depth=depth,
                    prefix=list(prefix),
                    elite=own,
                    siblings=[sibling for sibling, _, _ in rows],
                    verdict=verdict,
                    extra=extra,
                )
            )
        prefix.append(chosen.action)
        tokens.extend(chosen.tokens)
        node = chosen
    return evidence


def outcome_of(record: Trajectory) -> bool | None:
    """``success``, else what a reward of exactly 0 or 1 says."""
    if record.success is None and record.reward in (0.0, 1.0):
        return record.reward == 1.0
    return record.success


def _path(record: Trajectory) -> list[tuple[str, str]]:
    """(action, observation) of each turn."""
    actions: list[list[str]] = []
    answers: list[list[str]] = []
    for step, turn in zip(record.steps or [], turns(record.steps or []), strict=True):
        if turn == len(actions):
            actions.append([])
            answers.append([])
        actions[turn].append(step.action)
        answers[turn].append(step.observation or "")
    return [("; ".join(a), "\0".join(o)) for a, o in zip(actions, answers, strict=True)]


def _tree(records: Sequence[Trajectory]) -> tuple[TurnNode, list[TurnNode]]:
    """The prefix tree, and of each trajectory the last node whose Q the search recorded, else the one at its end."""
    root = TurnNode("", ())
    ends = []
    for number, record in enumerate(records):
        steps = record.steps or []
        dense = turns(steps)
        first = {turn: position for position, turn in reversed(list(enumerate(dense)))}
        node, searched = root, None
        node.leaves.append(number)
        for turn, key in enumerate(_path(record)):
            if key not in node.children:
                members = [position for position, other in enumerate(dense) if other == turn]
                node.children[key] = TurnNode(key[0], tuple(record.actions[position] for position in members))
            node = node.children[key]
            node.leaves.append(number)
            position = first[turn]
            step = steps[position]
            value = record.values[position] if record.values is not None else None
            node.q = node.q if node.q is not None else step.q if step.q is not None else value
            node.visits = step.visits if node.visits is None else max(node.visits, step.visits or 0)
            if step.q is not None:
                searched = node
        ends.append(node if searched is None else searched)  # below it the rollout was completed straight
    return root, ends


def _candidate(
    nodes: Sequence[TurnNode], records: Sequence[Trajectory], ends: Sequence[TurnNode], finished: Sequence[int]
) -> Candidate:
    """An action under one parent, over the observations that followed it: N their sum, Q their mean weighted by N.

    It succeeded when a trajectory below did, and failed when all did; with unfinished ones beside failures it is open.
    """
    every = {leaf for node in nodes for leaf in node.leaves}
    below = sorted(every & set(finished))
    outcomes = [outcome_of(records[leaf]) for leaf in below]
    counts = [_visits(node) for node in nodes]
    weighted = [(n, q) for n, node in zip(counts, nodes, strict=True) if (q := _value(node, records)) is not None and n]
    mean = sum(n * q for n, q in weighted) / sum(n for n, _ in weighted) if len(weighted) > 1 else None
    return Candidate(
        action=nodes[0].action,
        q=weighted[0][1] if len(weighted) == 1 else mean,
        n=sum(counts),
        outcome=True if True in outcomes else False if outcomes and len(below) == len(every) else None,
        completed_by=records[_best(below, records, ends)].id if below else None,
    )


def _first(nodes: Sequence[TurnNode], records: Sequence[Trajectory], finished: Sequence[int]) -> bool:
    """Whether the first finished trajectory below (records are in the order of their ids) succeeded."""
    below = {leaf for node in nodes for leaf in node.leaves} & set(finished)
    return outcome_of(records[min(below)]) is True


def _best(leaves: Sequence[int], records: Sequence[Trajectory], ends: Sequence[TurnNode]) -> int:
    """Order: success, Q, N, shallower, id."""

    def key(leaf: int) -> tuple[bool, float, int, int, str]:
        node, record = ends[leaf], records[leaf]
        q = node.q if node.q is not None else record.reward
        return outcome_of(record) is not True, -_or(q), -_visits(node), len(_path(record)), record.id

    return min(leaves, key=key)


def _visits(node: TurnNode) -> int:
    return node.visits if node.visits is not None else len(node.leaves)


def _value(node: TurnNode, records: Sequence[Trajectory]) -> float | None:
    if node.q is not None:
        return node.q
    rewards = []
    for leaf in node.leaves:
        record = records[leaf]
        outcome = outcome_of(record)
        if record.reward is not None or outcome is not None:
            rewards.append(record.reward if record.reward is not None else float(outcome is True))
    return sum(rewards) / len(rewards) if rewards else None


def _or(value: float | None) -> float:
    return value if value is not None else float("-inf")
