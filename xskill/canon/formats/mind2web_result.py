"""Online-Mind2Web ``result.json``: ``action_history`` with ``thoughts``; ``result_status`` is the agent's word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import entry, items, needed, string

_KNOWN = frozenset({"task_id", "task", "action_history", "thoughts", "result_status"})


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "task_id" in value and isinstance(value.get("action_history"), list)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    thoughts = items(record.get("thoughts"), "thoughts")
    steps = []
    for index, action in enumerate(items(needed(record, "action_history"), "action_history")):
        thought = as_text(thoughts[index]) if index < len(thoughts) else None
        steps.append(RawStep(string(action, f"action_history[{index}]") or "", thought=thought or None))
    task_id = string(record.get("task_id"), "task_id")
    yield RawEpisode(
        steps=steps,
        id=task_id,
        question_id=task_id,
        task=string(record.get("task"), "task"),
        env="online-mind2web",
        claim=record.get("result_status"),
        extra={key: value for key, value in record.items() if key not in _KNOWN},
    )


FORMAT = Format("online-mind2web", "Online-Mind2Web result.json", "record", detect, read)
