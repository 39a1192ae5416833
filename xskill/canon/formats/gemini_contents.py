"""Contents of the Gemini API: a list of ``{role, parts}``, or an object that holds it as ``contents``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import boolean, items, number, string
from xskill.canon.reading.genai import chat_messages

_OWN = frozenset({"contents", "id", "question_id", "task", "success", "reward", "systemInstruction", "tools"})


def _are_contents(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and isinstance(m.get("parts"), list) and "content" not in m for m in value[:20])
        and any(m.get("role") in ("user", "model") for m in value[:20])
    )


def detect(value: Any) -> bool:
    return _are_contents(value.get("contents") if isinstance(value, dict) else value)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = {"contents": record} if isinstance(record, list) else record
    dialog = Dialog()
    contents = items(record.get("contents"), "contents")
    add_messages(dialog, [message for content in contents for message in chat_messages(content)], place.tally)
    for key, what in (("systemInstruction", "system message"), ("tools", "tool definitions")):
        if record.get(key):
            place.tally.skip(what)
    yield RawEpisode(
        steps=dialog.steps,
        id=string(record.get("id"), "id"),
        question_id=string(record.get("question_id"), "question_id"),
        task=string(record.get("task"), "task") or dialog.task,
        initial_observation=dialog.initial_observation,
        success=boolean(record.get("success"), "success"),
        reward=number(record.get("reward"), "reward"),
        extra={key: value for key, value in record.items() if key not in _OWN},
    )


FORMAT = Format("gemini-contents", "contents of the Gemini API (role and parts)", "record", detect, read, whole=True)
