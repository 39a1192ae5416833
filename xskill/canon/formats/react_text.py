"""ReAct text logs: ``Question:``, then ``Thought n:``, ``Action n:``, ``Observation n:`` blocks.

Source of the form: ReAct (arXiv 2210.03629) and Reflexion's HotpotQA logs. A block runs until the next
label, so observations may wrap over lines. ``Answer is CORRECT`` is the environment's verdict, else the banner of the
section (``BEGIN INCORRECT AGENTS``); an agent that was halted has none. ``Correct answer:`` is the gold answer, which
goes to ``extra`` and never into the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode, RawStep

_LABEL = re.compile(r"(Question|Thought|Action|Observation)(?: (\d+))?: ?(.*)", re.S)
_BANNER = re.compile(r"-{3,} ?(.*?) ?-{3,}\s*$")
_VERDICT = re.compile(r"Answer is (CORRECT|INCORRECT)")
_BEGIN = re.compile(r"^-{3,} ?BEGIN (?:CORRECT|INCORRECT|HALTED)\b.*^Question: ", re.M | re.S)
"""Such a log may hold thousands of questions without an action at its start."""
_SECTION = re.compile(r"\b(INCORRECT|CORRECT|HALTED)\b")
_GOLD = re.compile(r"(?:Correct|Gold|Ground truth|Expected) answer: ?(.*)", re.I | re.S)
_SUCCESS = {"CORRECT": True, "INCORRECT": False, "HALTED": None}


def detect(head: Any) -> bool:
    if not isinstance(head, str):
        return False
    acting = re.search(r"^Action \d+: ", head, re.M) is not None and (
        re.search(r"^Observation \d+: ", head, re.M) is not None
    )
    return acting or _BEGIN.search(head) is not None


def read(lines: Iterable[str], place: Place) -> Iterator[RawEpisode]:
    banner: str | None = None
    episode: _Episode | None = None
    for line in lines:
        if start := _BANNER.match(line):
            banner = start.group(1)
            continue
        label = _LABEL.match(line)
        if label is None:
            gold = _GOLD.match(line)
            if episode is not None and gold:
                episode.end(gold.group(1).strip())
            elif episode is not None:
                episode.more(line)
            continue
        word, number, text = label.groups()
        if (
            word == "Question"
            or (episode is None and number == "1")
            or (episode is not None and word == "Thought" and number == "1" and episode.steps)
        ):
            if episode is not None:
                yield from episode.finish(place)
            episode = _Episode(banner)
        if episode is not None:
            episode.block(word, text)
    if episode is not None:
        yield from episode.finish(place)


class _Episode:
    def __init__(self, banner: str | None) -> None:
        self.banner = banner
        self.question: list[str] = []
        self.thoughts: list[str] = []
        self.steps: list[RawStep] = []
        self.current: list[str] = self.question
        self.observations: list[list[str]] = []
        self.gold: str | None = None

    def block(self, word: str, text: str) -> None:
        self.current = [text]
        if word == "Question":
            self.question = self.current
        elif word == "Thought":
            self.thoughts = self.current
        elif word == "Action":
            self.steps.append(RawStep("", thought="\n".join(self.thoughts).strip() or None))
            self.observations.append([])
            self.actions(self.current)
            self.thoughts = []
        elif self.observations:
            self.observations[-1] = self.current

    def actions(self, block: list[str]) -> None:
        """Remember the lines of the last action's text."""
        self.steps[-1].extra = {"lines": block}

    def more(self, line: str) -> None:
        self.current.append(line)

    def end(self, gold: str) -> None:
        """The gold answer; what follows it belongs to nothing before."""
        self.gold = gold
        self.current = []

    def finish(self, place: Place) -> Iterator[RawEpisode]:
        section = _SECTION.search(self.banner or "")
        verdict = _SUCCESS[section.group(1)] if section else None
        for step, observation in zip(self.steps, self.observations, strict=True):
            step.action = "\n".join((step.extra or {})["lines"]).strip()
            step.extra = None
            step.observation = "\n".join(observation).strip() if observation else None
            if step.observation and (word := _VERDICT.search(step.observation)):
                verdict = word.group(1) == "CORRECT"
        if self.steps or self.question:
            yield RawEpisode(
                steps=self.steps,
                task="\n".join(self.question).strip() or None,
                success=verdict,
                extra={
                    key: value for key, value in (("section", self.banner), ("target", self.gold)) if value is not None
                },
                record=place.number,
            )
            place.number += 1


FORMAT = Format("react", "ReAct text logs: Question, Thought n, Action n, Observation n", "text", detect, read)
