"""Gemini CLI chats: one JSON document (up to 0.3x), or JSON lines with a header and ``$set`` patches (0.40 on)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import items, word

_AGENT = frozenset({"gemini", "model"})


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if "sessionId" in value and "projectHash" in value:
        return True
    if "$set" in value and len(value) == 1:
        return True
    return word(value.get("type")) in _AGENT and ("toolCalls" in value or "thoughts" in value or "tokens" in value)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    head: dict[str, Any] | None = None
    messages: dict[Any, dict[str, Any]] = {}
    first = 1
    for number, value in values:
        if not isinstance(value, dict):
            place.tally.skip("line that is no object")
        elif "sessionId" in value and "type" not in value:
            if messages:
                yield from _episode(head or {}, messages, place, first)
            head, messages, first = value, {}, number
            for index, message in enumerate(items(value.get("messages"), "messages")):
                if isinstance(message, dict):
                    messages[word(message.get("id")) or index] = message
        elif isinstance(value.get("$set"), dict):
            head = {**(head or {}), **value["$set"]}
        elif "type" in value:
            identity = value.get("id")
            messages[identity if isinstance(identity, str) else number] = value
        else:
            place.tally.skip("line of another kind")
    if messages:
        yield from _episode(head or {}, messages, place, first)


def _episode(
    head: dict[str, Any], messages: dict[Any, dict[str, Any]], place: Place, first: int
) -> Iterator[RawEpisode]:
    dialog = Dialog()
    model: str | None = None
    for message in messages.values():
        kind = word(message.get("type"))
        if kind in _AGENT:
            model = model or (message["model"] if isinstance(message.get("model"), str) else None)
            _agent(dialog, message)
        elif kind == "user":
            dialog.user(as_text(_content(message)))
        else:
            place.tally.skip(f"{kind} message")
    if not dialog.steps:
        place.tally.skip("session without an action")
        return
    identity = head.get("sessionId")
    yield RawEpisode(
        steps=dialog.steps,
        id=identity if isinstance(identity, str) else None,
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        marks=("subagent",) if head.get("kind") == "subagent" else (),
        extra={"model": model} if model else {},
        record=first,
    )


def _agent(dialog: Dialog, message: dict[str, Any]) -> None:
    thoughts = [
        join(as_text(thought.get("subject")), as_text(thought.get("description")))
        for thought in items(message.get("thoughts"), "thoughts")
        if isinstance(thought, dict)
    ]
    listed = [call for call in items(message.get("toolCalls"), "toolCalls") if isinstance(call, dict)]
    calls = [ToolCall(_text(call.get("id")), str(call.get("name") or "unknown"), call.get("args")) for call in listed]
    steps = dialog.agent(as_text(_content(message)), calls, thought=join(*thoughts))
    for step, call in zip(steps, listed, strict=False):
        response = [
            part["functionResponse"].get("response")
            for part in items(call.get("result"), "result")
            if isinstance(part, dict) and isinstance(part.get("functionResponse"), dict)
        ]
        step.observation = join(*(_response(one) for one in response)) if response else _text(call.get("resultDisplay"))
        step.error = call.get("status") in ("error", "cancelled")


def _response(response: Any) -> str | None:
    if isinstance(response, dict):
        for key in ("output", "error"):
            if key in response:
                return as_text(response[key])
    return as_text(response)


def _content(message: dict[str, Any]) -> Any:
    content = message.get("content")
    return content if content else message.get("parts")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


FORMAT = Format("gemini-cli", "Gemini CLI chats (JSON, or JSON lines from 0.40 on)", "stream", detect, read)
