"""OpenAI-style chats: lines or documents with ``messages``, or a bare list of messages.

Beside ``messages`` the usual names of harnesses are understood: ``id``, ``task``, ``success``,
``reward``, ``score``, ``question_id``, ``task_type``, ``env``, ``split``, ``metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import AGENT, SYSTEM, TOOL, USER, add_messages
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import boolean, fail, items, number, string

_ROLES = AGENT | USER | TOOL | SYSTEM
_KNOWN = frozenset({
    "messages", "id", "task", "success", "reward", "question_id", "task_type", "env", "split", "tools", "functions",
})  # fmt: skip


def is_messages(value: Any) -> bool:
    """Whether a value is a list of chat messages."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in value[:20])
        and any(m["role"] in _ROLES for m in value[:20])
    )


def detect(value: Any) -> bool:
    if isinstance(value, dict):
        messages = value.get("messages")
        return is_messages(messages) or (messages == [] and len(value) > 1)
    return is_messages(value)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    if is_messages(record):
        record = {"messages": record}
    if not isinstance(record, dict) or "messages" not in record:
        raise fail("", "an object with messages", record)
    dialog = Dialog()
    messages = items(record["messages"], "messages")
    add_messages(dialog, messages, place.tally)
    if "tools" in record or "functions" in record:
        place.tally.skip("tool definitions")
    extra = {key: value for key, value in record.items() if key not in _KNOWN}
    reward = number(record.get("reward"), "reward")
    if reward is None and "score" in record and isinstance(record["score"], (int, float, str)):
        reward = number(extra.pop("score"), "score")
    yield RawEpisode(
        steps=dialog.steps,
        id=string(record.get("id"), "id"),
        question_id=string(record.get("question_id"), "question_id"),
        task=string(record.get("task"), "task") or dialog.task,
        task_type=string(record.get("task_type"), "task_type"),
        env=string(record.get("env"), "env"),
        split=string(record.get("split"), "split"),
        initial_observation=dialog.initial_observation,
        success=boolean(record.get("success"), "success"),
        reward=reward,
        extra=extra,
    )


FORMAT = Format(
    "openai-chat", "chat messages with tool calls, one episode a record", "record", detect, read, whole=True
)
