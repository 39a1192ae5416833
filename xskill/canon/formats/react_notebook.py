"""Jupyter notebooks of ReAct runs (WebShop, HotPotQA, FEVER, ALFWorld): the episodes are what a cell printed.

Jupyter cuts the output of a cell into pieces of about 8 KB, in the middle of episodes and between warnings, so that all
of a cell's standard output is joined first. Lines of dashes part the episodes. ``Thought n:`` and ``think[…]`` are
thoughts; ``Action: reset`` is the harness, and what came of it the first observation. The verdict is a score that
WebShop shows, the ``reward`` of the printed result (beside the gold answer, which goes to ``extra``), or what the
running mean (``n mean success fail``) of one episode adds to that of the episode before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.formats.cua_result import literal
from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import join
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import entries, entry, fail, items, needed

_ACTING = re.compile(r"^(?:Action: reset|Action 1: |Act 1: )", re.M)
_RULE = re.compile(r"-{8,}\s*\Z")
_LABEL = re.compile(r"(Thought|Action|Observation|Act|Obs)(?: \d+)?: ?(.*)", re.S)
_ASKED = re.compile(r"\A(?:(\S+) )?(Claim|Question): ?(.*)", re.S)
_RESULT = re.compile(r"\{'[\w ]+':.*\}\s*\Z")
_MEAN = re.compile(r"(\d+) ([\d.e-]+) [\d.e-]+ [\d.e-]+\s*\Z")
_WON = re.compile(r"\d+ r (True|False|[\d.]+) rs ")
_SCORE = re.compile(r"Your score \(min 0\.0, max 1\.0\): (-?[\d.]+)")
_INSTRUCTION = re.compile(r"Instruction: *\n?(.*?)\s*\n\s*\[Search\]", re.S)
_GOAL = re.compile(r"Your task is to: (.+?)\.?\s*$", re.M)
_THINK = re.compile(r"think(?:\[(.*?)\]?|: ?(.*))\s*\Z", re.S)  # a long one is cut before its bracket
_INVALID = re.compile(r"\A\s*Invalid action")
_ENVS = {"Claim": "fever", "Question": "hotpotqa"}


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or "nbformat" not in value or not isinstance(value.get("cells"), list):
        return False
    return any(_ACTING.search(_printed(cell, None)) for cell in entries(value["cells"]))


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    number = 0
    for index, cell in enumerate(items(needed(record, "cells"), "cells")):
        if not isinstance(cell, dict):
            raise fail(f"cells[{index}]", "a cell", cell)
        printed = _printed(cell, place)
        if not _ACTING.search(printed):
            continue
        mean: tuple[int, float] | None = None
        for block in _blocks(printed.splitlines()):
            number += 1
            episode = _episode(block, place, number)
            if block.mean is not None:
                before = 0.0 if block.mean[0] == 1 else mean[1] * mean[0] if mean else None
                if episode.reward is None and before is not None and (not mean or mean[0] == block.mean[0] - 1):
                    episode.reward = round(block.mean[1] * block.mean[0] - before, 6)
                mean = block.mean
            yield episode


def _printed(cell: dict[str, Any], place: Place | None) -> str:
    """Standard output of a cell, as one text."""
    pieces = []
    for output in entries(cell.get("outputs")):
        text = output.get("text")
        if output.get("name") == "stdout" and isinstance(text, str):
            pieces.append(text)
        elif output.get("name") == "stdout" and isinstance(text, list):
            pieces += [line for line in text if isinstance(line, str)]
        elif place is not None:
            place.tally.skip("outputs that are not standard output")
    return "".join(pieces)


@dataclass(slots=True)
class _Block:
    """Lines of one episode, by what they are."""

    head: list[str] = field(default_factory=list)
    parts: list[tuple[str, list[str]]] = field(default_factory=list)
    result: dict[str, Any] | None = None
    mean: tuple[int, float] | None = None
    won: float | None = None

    def line(self, line: str) -> None:
        """Take one line."""
        label = _LABEL.match(line)
        if label:
            word = {"Act": "Action", "Obs": "Observation"}.get(label.group(1), label.group(1))
            self.parts.append((word, [label.group(2)]))
        elif not self.parts:
            self.head.append(line)
        elif _RESULT.match(line) and isinstance(read_result := literal(line.strip()), dict):
            self.result = read_result
        elif mean := _MEAN.match(line):
            self.mean = int(mean.group(1)[:9]), _float(mean.group(2)) or 0.0
        elif won := _WON.match(line):
            self.won = {"True": 1.0, "False": 0.0}.get(won.group(1), _float(won.group(1)))
        else:
            self.parts[-1][1].append(line)


def _blocks(lines: list[str]) -> Iterator[_Block]:
    block = _Block()
    for line in lines:
        if _RULE.match(line):
            if block.parts:
                yield block
            block = _Block()
        elif not block.parts and _ASKED.match(line):
            block.head = [line]
        else:
            block.line(line)
    if block.parts or any(map(_ASKED.match, block.head)):
        yield block


def _episode(block: _Block, place: Place, number: int) -> RawEpisode:
    steps: list[RawStep] = []
    thoughts: list[str] = []
    opening: str | None = None
    waiting: RawStep | None = None
    began = thinks = False
    for word, lines in block.parts:
        text = "\n".join(lines).strip()
        if word == "Thought":
            thoughts.append(text)
        elif word == "Action":
            thinking = _THINK.match(text)
            began, thinks, waiting = text == "reset" and not steps, thinking is not None, None
            if thinking:
                thoughts.append((thinking.group(1) or thinking.group(2) or "").strip())
            elif not began:
                waiting = RawStep(text, thought=join(*thoughts))
                steps.append(waiting)
                thoughts = []
        elif began:
            opening, began = text, False
        elif waiting is not None:
            waiting.observation = text
            waiting.error = _INVALID.match(text) is not None
            waiting = None
        elif not thinks:
            place.tally.lose("result without a call")
    if thoughts:
        place.tally.lose("thoughts without an action", len(thoughts))
    return _with_task(block, steps, opening, number)


def _with_task(block: _Block, steps: list[RawStep], opening: str | None, number: int) -> RawEpisode:
    head = "\n".join(block.head).strip()
    asked = _ASKED.match(head)
    goal = _GOAL.search(head)
    episode = RawEpisode(steps=steps, record=number, initial_observation=opening, reward=block.won)
    if opening is not None:
        shown = _INSTRUCTION.search(opening)
        episode.task, episode.env = shown.group(1).strip() if shown else None, "webshop"
        episode.question_id = head.splitlines()[-1].strip() if head else None
        scores = [score for step in steps if (score := _SCORE.search(step.observation or ""))]
        episode.reward = _float(scores[-1].group(1)) if scores else None
    elif asked:
        episode.question_id, episode.task, episode.env = asked.group(1), asked.group(3).strip(), _ENVS[asked.group(2)]
    elif goal:
        lines = head.splitlines()
        episode.question_id, episode.task, episode.env = lines[0].strip(), goal.group(1), "alfworld"
        episode.initial_observation = "\n".join(lines[2:]).strip() or None
    else:
        episode.task = head or None
    result = block.result or {}
    reward = result.get("reward", result.get("em"))
    if isinstance(reward, (bool, int, float)):
        episode.reward = float(reward)
    extra = {key: value for key, value in result.items() if key not in ("gt_answer", "reward")}
    if "gt_answer" in result:
        extra["target"] = result["gt_answer"]
    episode.extra = extra
    return episode


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


FORMAT = Format("react-notebook", "notebooks of ReAct runs (WebShop, HotPotQA, ALFWorld …)", "record", detect, read)
