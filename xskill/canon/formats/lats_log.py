"""LATS text logs: ``NEW NODE: Node(depth=…, action=…, observation=…)`` lines between logged prompts.

A node has no id: its parent is the path in the last prompt before it, whose few-shot demonstrations come first
and are skipped. Equal children are one node. Leaves become branches of rollouts. Of the benchmarks, WebShop names a
task by its instruction, HotPotQA by the last ``Question:`` of the prompt; there the reward of a node is in the
``Feedback:`` after it, beside the gold answer, which is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.search_leaves import parents
from xskill.records import Parent

_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - [A-Z]+ - ")
_NODE = re.compile(
    r"NEW NODE: Node\(depth=(\d+), value=.*?, visits=\d+, (?:thought=(.*?), )?action=(.*?), observation=(.*)\)\s*\Z",
    re.S,
)
_HEAD = re.compile(r"^WebShop\s*$", re.I | re.M)
_INSTRUCTION = re.compile(r"\AWebShop\s*\nInstruction:\s*\n?(.*?)\s*\n\s*\[Search\]", re.I | re.S)
_TURN = re.compile(r"^Action: ?(.*?)\n(?:Observation: ?(.*?)\n)?(?=\s*Action:|\Z)", re.M | re.S)
_QUESTION = re.compile(r"^Question: ?", re.M)
_LABEL = re.compile(r"^(Thought|Action|Observation)(?: \d+)?: ?", re.M)
_NEXT = re.compile(r"(?:Thought|Action) ?\d*:\s*\Z")
_REWARD = re.compile(r"'reward': (-?\d+(?:\.\d+)?)[,}]")
_FINISHED = re.compile(r"Episode finished, reward = (-?\d+(?:\.\d+)?)")
_SCORE = re.compile(r"Your score \(min 0\.0, max 1\.0\): (-?[\d.]+)")
_MAX_MESSAGE = 1 << 22

Node = tuple[tuple[str, str], ...]
"""Thought and action of each step from the root; WebShop has no thoughts."""


@dataclass(slots=True)
class _Search:
    task: str
    env: str
    number: int
    seen: dict[Node, str] = field(default_factory=dict)
    """Path → observation after its last action, in the order of the log."""
    rewards: dict[Node, float] = field(default_factory=dict)

    def parent(self, prompted: Node, depth: int) -> Node:
        """Path above a node: what the prompt holds, else (a rollout logs none) the last node there that is no end."""
        if len(prompted) >= depth - 1:
            return prompted[: depth - 1]
        above = [node for node in self.seen if len(node) == depth - 1 and node not in self.rewards]
        return above[-1] if above else prompted


def detect(head: Any) -> bool:
    if not isinstance(head, str) or _LINE.match(head) is None:
        return False
    return "NEW NODE: Node(" in head or ("PROMPT: " in head and "Action: " in head and "Iteration" in head)


def read(lines: Iterable[str], place: Place) -> Iterator[RawEpisode]:
    searches: dict[str, _Search] = {}
    search: _Search | None = None
    path: Node = ()
    last: Node | None = None
    for message in _messages(lines):
        if message.startswith("PROMPT:"):
            told = _webshop(message) or _question(message)
            if told is None:
                place.tally.lose("prompts without a task")
            else:
                task, path, env = told
                search = searches.setdefault(task, _Search(task, env, len(searches) + 1))
        elif message.startswith("NEW NODE:"):
            last = _node(message, search, path, place)
        elif message.startswith("Feedback:") and search is not None and last is not None:
            reward = _REWARD.search(message)
            if reward:
                search.rewards[last] = float(reward.group(1))
    for search in searches.values():
        yield from _episodes(search, place)


def _node(message: str, search: _Search | None, path: Node, place: Place) -> Node | None:
    """Take a node into its search; None when it cannot be read."""
    fields = _NODE.match(message)
    if fields is None or search is None:
        place.tally.lose("nodes that cannot be read" if fields is None else "nodes before the first prompt")
        return None
    thought, action, observation = ((fields.group(i) or "").strip() for i in (2, 3, 4))
    step = (thought if search.env != "webshop" else "", action)
    node = (*search.parent(path, int(fields.group(1))), step)
    if node in search.seen:
        place.tally.skip("repeated nodes")
    search.seen.setdefault(node, observation)
    score = _SCORE.search(observation) or _FINISHED.search(observation)
    if score:
        search.rewards[node] = float(score.group(1))
    return node


def _messages(lines: Iterable[str]) -> Iterator[str]:
    """Log messages with their continuation lines, without the time stamp."""
    current: list[str] = []
    size = 0
    for line in lines:
        found = _LINE.match(line)
        if found:
            if current:
                yield "\n".join(current)
            current, size = [line[found.end() :]], 0
        elif current and size < _MAX_MESSAGE:
            current.append(line)
            size += len(line)
    if current:
        yield "\n".join(current)


def _webshop(prompt: str) -> tuple[str, Node, str] | None:
    """Instruction and actions of the last episode in a prompt: those before it are demonstrations."""
    heads = list(_HEAD.finditer(prompt))
    block = prompt[heads[-1].start() :] if heads else ""
    told = _INSTRUCTION.match(block)
    if told is None:
        return None
    rest = block[told.end() :].rstrip()
    actions = [turn.group(1).strip() for turn in _TURN.finditer(rest + "\n")]
    return told.group(1).strip(), tuple(("", action) for action in actions if action), "webshop"


def _question(prompt: str) -> tuple[str, Node, str] | None:
    """The last question of a prompt, with the thoughts and actions that follow it."""
    heads = list(_QUESTION.finditer(prompt))
    if not heads:
        return None
    block = _NEXT.sub("", prompt[heads[-1].end() :].rstrip())
    parts = _LABEL.split(block)
    steps: list[tuple[str, str]] = []
    thought = ""
    for label, text in zip(parts[1::2], parts[2::2], strict=True):
        if label == "Thought":
            thought = text.strip()
        elif label == "Action":
            steps.append((thought, text.strip()))
            thought = ""
    return parts[0].strip(), tuple(steps), "hotpotqa"


def _episodes(search: _Search, place: Place) -> Iterator[RawEpisode]:
    inner = {node[:-1] for node in search.seen}
    leaves = [node for node in search.seen if node not in inner]
    question = f"{place.stem}-{search.number}"
    for index, (leaf, shared) in enumerate(zip(leaves, parents(leaves), strict=True)):
        steps = [
            RawStep(action, search.seen.get(leaf[: depth + 1]), thought or None)
            for depth, (thought, action) in enumerate(leaf)
        ]
        reward = search.rewards.get(leaf)
        yield RawEpisode(
            steps=steps,
            id=f"{question}-{index}",
            question_id=question,
            task=search.task,
            env=search.env,
            reward=reward,
            parent=Parent(id=f"{question}-{shared[0]}", turn=shared[1]) if shared else None,
            marks=() if reward is not None else ("pruned",),
            record=search.number,
        )


FORMAT = Format("lats-log", "LATS search logs (WebShop, HotPotQA), as branches of rollouts", "text", detect, read)
