"""Terminus episodes: ``{episode, prompt, response}`` for each turn, as Harbor keeps them under ``agent/episode-N``.

The output of a turn's commands is the prompt of the next. ``task_complete`` is the agent's claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import entry
from xskill.canon.reading.terminus import add_turns, is_answer

_NUMBER = re.compile(r"(\d+)\D*\Z")
_RUN = ("run_id", "trial_name", "session_id", "trial_id", "task")
_OWN = frozenset({"episode", "prompt", "response"})


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not {"episode", "prompt", "response"} <= value.keys():
        return False
    return episode_number(value["episode"]) is not None and isinstance(value["response"], (str, dict))


def episode_number(value: Any) -> int | None:
    """Number of an episode: ``3``, ``"episode-3"``, ``"episode-3.txt"``."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    if isinstance(value, int):
        return value
    digits = _NUMBER.search(value)
    return int(digits.group(1)[:9]) if digits else None


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    """Rows of one trial, in any order; a number that comes again with another content begins the next trial."""
    trials: dict[Any, dict[int, tuple[int, dict[str, Any]]]] = {}
    for number, value in values:
        if not detect(value):
            place.tally.lose("records of no known kind")
            continue
        turn = episode_number(value["episode"]) or 0
        name = tuple(str(value.get(key)) for key in _RUN)
        copy = 0
        while turn in (rows := trials.setdefault((name, copy), {})) and rows[turn][1] != value:
            copy += 1
        if turn in rows:
            place.tally.skip("repeated records")
        rows.setdefault(turn, (number, value))
    for index, rows in enumerate(trials.values()):
        yield _episode([rows[turn] for turn in sorted(rows)], place, index)


def _episode(rows: list[tuple[int, dict[str, Any]]], place: Place, index: int) -> RawEpisode:
    dialog = Dialog()
    turns = [(_text(row["prompt"]), as_text(row["response"])) for _, row in rows]
    complete = add_turns(dialog, turns, place.tally)
    first = entry(rows[0][1])
    return RawEpisode(
        steps=dialog.steps,
        task=dialog.task,
        claim=True if complete else None,
        extra={key: value for key, value in first.items() if key not in _OWN},
        record=rows[0][0],
        suffix=None if index == 0 else str(index),
    )


def _text(prompt: Any) -> str | None:
    """A prompt as text; of a list of messages the last one counts."""
    if isinstance(prompt, list) and prompt and isinstance(prompt[-1], dict) and "role" in prompt[-1]:
        prompt = prompt[-1].get("content")
    return as_text(prompt)


def speaks(messages: Iterable[Any]) -> bool:
    """Whether one of these messages is an answer of a Terminus agent."""
    return any(
        isinstance(m, dict) and m.get("role") == "assistant" and is_answer(as_text(m.get("content"))) for m in messages
    )


FORMAT = Format("terminus-episodes", "Terminus episodes: prompt and response of each turn", "stream", detect, read)
