"""SkillRL memories: ``{memory_id, tags, content: {task_meta, refined_trajectory}}``.

The steps were rewritten by a model after the run (``extra.refined``); failures have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, entry, items, mapping, needed, string

_OUTCOMES = {"success": True, "failure": False}


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "memory_id" in value and isinstance(at(value, "tags.outcome"), str)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    content = mapping(needed(record, "content"), "content")
    refined = content.get("refined_trajectory")
    if isinstance(refined, dict):
        refined = refined.get("refined_trajectory")
    steps = []
    for index, step in enumerate(items(refined, "content.refined_trajectory")):
        step = mapping(step, f"content.refined_trajectory[{index}]")
        action = string(step.get("action"), f"content.refined_trajectory[{index}].action") or ""
        seen, thought = as_text(step.get("critical_observation")), as_text(step.get("reasoning"))
        steps.append(RawStep(action, observation=seen, thought=thought or None))
    tags = mapping(record.get("tags"), "tags")
    if content.get("strategic_guidelines"):
        place.tally.skip("strategic guidelines")
    environment = string(tags.get("environment"), "tags.environment")
    extra = {key: value for key, value in tags.items() if key not in ("environment", "outcome")}
    extra["description"] = record.get("contextual_description")
    extra["refined"] = True
    yield RawEpisode(
        steps=steps,
        id=string(record.get("memory_id"), "memory_id"),
        task=as_text(at(content, "task_meta.original_goal")),
        env=environment.lower() if environment else None,
        success=_OUTCOMES.get(str(tags.get("outcome")).lower()),
        extra={key: value for key, value in extra.items() if value is not None},
    )


FORMAT = Format("skillrl-memories", "SkillRL generated memories (refined trajectories)", "record", detect, read)
