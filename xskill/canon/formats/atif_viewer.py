"""Runs converted for the ATIF viewer: ``{steps: [{index, role, text, toolCalls, observation}], verifierLog?}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import entry, items, mapping, needed


def detect(value: Any) -> bool:
    steps = value.get("steps") if isinstance(value, dict) else None
    return isinstance(steps, list) and bool(steps) and isinstance(steps[0], dict) and "toolCalls" in steps[0]


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    dialog = Dialog()
    for index, step in enumerate(items(needed(entry(record), "steps"), "steps")):
        step = mapping(step, f"steps[{index}]")
        text = as_text(step.get("text"))
        if step.get("role") != "agent":
            dialog.user(text)
            continue
        listed = items(step.get("toolCalls"), f"steps[{index}].toolCalls")
        calls = [ToolCall(None, str(c.get("name") or "unknown"), call_arguments(c.get("args"))) for c in listed
                 if isinstance(c, dict)]  # fmt: skip
        new = dialog.agent(text, calls, thought=as_text(step.get("reasoning")))
        if new and step.get("observation") is not None:
            new[-1].observation = as_text(step["observation"])  # one text for all calls of the turn
    extra = {key: value for key, value in record.items() if key != "steps"}
    yield RawEpisode(
        steps=dialog.steps,
        id=place.stem if place.number == 1 else None,
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        extra=extra,
    )


FORMAT = Format("atif-viewer", "runs converted for the ATIF viewer", "record", detect, read)
