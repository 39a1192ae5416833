"""Turn credit as the specification words it, node by node and recursive: the oracle of the vectorised code."""

from __future__ import annotations

import math
from typing import Any


class Node:
    """A turn of the trie."""

    def __init__(self) -> None:
        self.children: dict[tuple[str, str | None], Node] = {}
        self.ends: list[int] = []
        self.through: list[int] = []
        self.generated: list[float | None] = []
        self.copied: list[float | None] = []
        self.value: float | None = None


def credit(rollouts: list[dict[str, Any]], backup: str, kind: str, tau: float = 1.0) -> list[dict[str, Any]]:
    """Values, credits and weights of one question's rollouts (records as dicts, one step a turn)."""
    advantage = advantages([r["reward"] for r in rollouts])
    root = Node()
    lacks = False
    for i, rollout in enumerate(rollouts):
        node = root
        own_from = rollout["parent"]["turn"] if rollout.get("parent") else 0
        for t, step in enumerate(rollout["steps"]):
            node = node.children.setdefault((step["action"], step.get("observation")), Node())
            node.through.append(i)
            total = step.get("logprob")
            mean = None if total is None else total / (step.get("n_tokens") or 1)
            (node.generated if t >= own_from else node.copied).append(mean)
        node.ends.append(i)
    for node in walk(root):
        if node is not root:
            lacks |= None in (node.generated or node.copied)
    back_up(root, advantage, "mean" if backup == "likelihood" and lacks else backup, tau)
    out = []
    for i, rollout in enumerate(rollouts):
        node = root
        values: list[float | None] = []
        credits: list[float | None] = []
        weights: list[float] = []
        for step in rollout["steps"]:
            by_action = qs(node)
            node = node.children[step["action"], step.get("observation")]
            q = by_action.get(step["action"])
            values.append(node.value)
            if node.value is None or q is None:
                credits.append(None)
            else:
                credits.append(q - sum(by_action.values()) / len(by_action) if kind == "listwise" else q)
            weights.append(1 / len(node.through))
        out.append({"advantage": advantage[i], "values": values, "credits": credits, "weights": weights})
    return out


def advantages(rewards: list[float | None]) -> list[float | None]:
    """(R - mean) / (population deviation + 1e-6) over the finished."""
    known = [r for r in rewards if r is not None]
    if len(known) < 2 or len(set(known)) == 1:
        return [None if r is None else 0.0 for r in rewards]
    mean = sum(known) / len(known)
    std = math.sqrt(sum((r - mean) ** 2 for r in known) / len(known))
    return [None if r is None else (r - mean) / (std + 1e-6) for r in rewards]


def walk(node: Node) -> list[Node]:
    """The node and all below it."""
    return [node] + [below for child in node.children.values() for below in walk(child)]


def qs(node: Node) -> dict[str, float]:
    """Q of each action taken at a node."""
    members: dict[str, list[float]] = {}
    for (action, _), child in node.children.items():
        if child.value is not None:
            members.setdefault(action, []).append(child.value)
    return {action: sum(values) / len(values) for action, values in members.items()}


def back_up(node: Node, advantage: list[float | None], method: str, tau: float) -> None:
    """Fill in the values from the leaves up."""
    for child in node.children.values():
        back_up(child, advantage, method, tau)
    ends = [a for i in node.ends if (a := advantage[i]) is not None]
    children = [child for child in node.children.values() if child.value is not None]
    if method == "leaf":
        below = [a for n in walk(node) for i in n.ends if (a := advantage[i]) is not None]
        node.value = sum(below) / len(below) if below else None
        return
    if not children and not ends:
        return
    if method == "mean" or ends:
        values = [child.value or 0.0 for child in children] + ends
        node.value = sum(values) / len(values)
        return
    q = qs(node)
    likelihood = {}
    for action in q:
        counted: list[float] = []
        for (name, _), child in node.children.items():
            if name == action and child.value is not None:
                counted += [x for x in (child.generated or child.copied) if x is not None]
        likelihood[action] = sum(counted) / len(counted)
    highest = max(likelihood.values())
    weight = {action: math.exp((x - highest) / tau) for action, x in likelihood.items()}
    node.value = sum(weight[action] * q[action] for action in q) / sum(weight.values())
