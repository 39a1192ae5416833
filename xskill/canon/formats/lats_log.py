"""LATS text logs: ``NEW NODE: Node(depth=…, action=…, observation=…)`` lines between logged prompts.

A node has no id: its parent is the path in the last prompt before it, whose few-shot demonstration comes first
and is skipped. Equal children are one node. Leaves become branches of rollouts.
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
_NODE = re.compile(r"NEW NODE: Node\(depth=(\d+), .*?, action=(.*?), observation=(.*)\)\s*\Z", re.S)
_HEAD = re.compile(r"^WebShop\s*$", re.I | re.M)
_INSTRUCTION = re.compile(r"\AWebShop\s*\nInstruction:\s*\n?(.*?)\s*\n\s*\[Search\]", re.I | re.S)
_TURN = re.compile(r"^Action: ?(.*?)\n(?:Observation: ?(.*?)\n)?(?=\s*Action:|\Z)", re.M | re.S)
_SCORE = re.compile(r"Your score \(min 0\.0, max 1\.0\): (-?[\d.]+)")
_MAX_MESSAGE = 1 << 22

Node = tuple[str, ...]


@dataclass(slots=True)
class _Search:
    task: str
    number: int
    seen: dict[Node, str] = field(default_factory=dict)
    """Path → observation after its last action, in the order of the log."""


def detect(head: Any) -> bool:
    if not isinstance(head, str) or _LINE.match(head) is None:
        return False
    return "NEW NODE: Node(" in head or ("PROMPT: " in head and "Action: " in head and "Iteration" in head)


def read(lines: Iterable[str], place: Place) -> Iterator[RawEpisode]:
    searches: dict[str, _Search] = {}
    search: _Search | None = None
    path: Node = ()
    for message in _messages(lines):
        if message.startswith("PROMPT:"):
            episode = _last_episode(message)
            if episode is not None:
                task, path = episode
                search = searches.setdefault(task, _Search(task, len(searches) + 1))
        elif message.startswith("NEW NODE:") and search is not None:
            entry = _NODE.match(message)
            if entry is None:
                place.tally.skip("node that cannot be read")
                continue
            depth, action, observation = int(entry.group(1)), entry.group(2).strip(), entry.group(3).strip()
            node = (*path[: depth - 1], action)
            if node in search.seen:
                place.tally.skip("repeated node")
            search.seen.setdefault(node, observation)
    for search in searches.values():
        yield from _episodes(search, place)


def _messages(lines: Iterable[str]) -> Iterator[str]:
    """Log messages with their continuation lines, without the time stamp."""
    current: list[str] = []
    size = 0
    for line in lines:
        start = _LINE.match(line)
        if start:
            if current:
                yield "\n".join(current)
            current, size = [line[start.end() :]], 0
        elif current and size < _MAX_MESSAGE:
            current.append(line)
            size += len(line)
    if current:
        yield "\n".join(current)


def _last_episode(prompt: str) -> tuple[str, Node] | None:
    """Instruction and actions of the last episode in a prompt: those before it are demonstrations."""
    heads = list(_HEAD.finditer(prompt))
    block = prompt[heads[-1].start() :] if heads else ""
    instruction = _INSTRUCTION.match(block)
    if instruction is None:
        return None
    rest = block[instruction.end() :].rstrip()
    actions = [turn.group(1).strip() for turn in _TURN.finditer(rest + "\n")]
    return instruction.group(1).strip(), tuple(action for action in actions if action)


def _episodes(search: _Search, place: Place) -> Iterator[RawEpisode]:
    inner = {node[:-1] for node in search.seen}
    leaves = [node for node in search.seen if node not in inner]
    question = f"{place.stem}-{search.number}"
    for index, (leaf, shared) in enumerate(zip(leaves, parents(leaves), strict=True)):
        steps = [RawStep(action, observation=search.seen.get(leaf[: depth + 1])) for depth, action in enumerate(leaf)]
        score = _SCORE.search(search.seen[leaf])
        yield RawEpisode(
            steps=steps,
            id=f"{question}-{index}",
            question_id=question,
            task=search.task,
            env="webshop",
            reward=float(score.group(1)) if score else None,
            parent=Parent(id=f"{question}-{shared[0]}", turn=shared[1]) if shared else None,
            marks=() if score else ("pruned",),
            record=search.number,
        )


FORMAT = Format("lats-log", "LATS search logs (WebShop), as branches of rollouts", "text", detect, read)
