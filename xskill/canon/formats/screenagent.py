"""ScreenAgent: one JSON file a step, in a folder a session; the file's name is its time.

A file holds several actions of one turn. ``_neg_plan`` files are synthetic negatives and no steps.
``EvaluateSubTaskAction`` is the agent's own judgement.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.harbor import load
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import entry, items, mapping, string
from xskill.errors import BadRecord


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "session_id" in value and "saved_image_name" in value and "actions" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    yield _episode([record], place, f"{record.get('session_id')}-{place.stem}")


def detect_folder(path: Any) -> bool:
    for file in sorted(path.glob("*.json"))[:1]:
        try:
            return detect(load(file))
        except (BadRecord, OSError):
            return False
    return False


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    records = []
    for file in sorted(path.glob("*.json")):
        if "_neg_plan" in file.name:
            place.tally.skip("synthetic negative")
            continue
        try:
            records.append(mapping(load(file), ""))
        except BadRecord as error:
            place.bad.append(error)
    if records:
        yield _episode(records, place, None)


def _episode(records: list[dict[str, Any]], place: Place, identity: str | None) -> RawEpisode:
    steps: list[RawStep] = []
    claim: str | None = None
    for turn, record in enumerate(records):
        for index, action in enumerate(items(record.get("actions"), "actions")):
            action = mapping(action, f"actions[{index}]")
            name = string(action.get("action_type"), f"actions[{index}].action_type") or "unknown"
            arguments = {key: value for key, value in action.items() if key != "action_type"}
            answer = as_text(record.get("LLM_response_editer_en", record.get("LLM_response_editer")))
            step = RawStep(
                kind="call", name=name, arguments=arguments, turn=turn, thought=answer if index == 0 else None
            )
            steps.append(step)
            if name == "EvaluateSubTaskAction":
                claim = as_text(action.get("situation"))
    first = records[0]
    return RawEpisode(
        steps=steps,
        id=identity or string(first.get("session_id"), "session_id"),
        task=as_text(first.get("task_prompt_en", first.get("task_prompt"))),
        env="screenagent",
        claim=claim,
    )


FORMAT = Format("screenagent", "ScreenAgent step files", "record", detect, read)
FOLDER = Format("screenagent-session", "a ScreenAgent session folder", "folder", detect_folder, read_folder)
