"""Copilot CLI event logs: JSON lines ``{type, data, id, parentId}`` with dotted event types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, items

_PREFIXES = ("session.", "assistant.", "user.message", "tool.", "system.message", "hook.")


def detect(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"].startswith(_PREFIXES)
        and isinstance(value.get("data"), dict)
    )


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    session: _CopilotSession | None = None
    for number, value in values:
        if not detect(value):
            place.tally.skip("line of another kind")
            continue
        kind, data = value["type"], value["data"]
        if kind == "session.start":
            if session is not None:
                yield from session.episode(place)
            session = _CopilotSession(data, number)
        else:
            if session is None:
                session = _CopilotSession({}, number)
            session.add(kind, data, place)
    if session is not None:
        yield from session.episode(place)


class _CopilotSession:
    def __init__(self, data: dict[str, Any], number: int) -> None:
        self.data = data
        self.number = number
        self.dialog = Dialog()
        self.requested: set[str] = set()
        self.thoughts: list[str | None] = []
        self.claim: str | None = None

    def add(self, kind: str, data: dict[str, Any], place: Place) -> None:
        if kind == "user.message":
            self.dialog.user(as_text(data.get("content")))
        elif kind == "assistant.reasoning":
            self.thoughts.append(as_text(data.get("content")))
        elif kind == "assistant.message":
            calls = [
                ToolCall(_text(request.get("toolCallId")), *read_call(request)[1:])
                for request in items(data.get("toolRequests"), "data.toolRequests")
                if isinstance(request, dict)
            ]
            begun = {call.id for call in calls if call.id in self.requested}
            if begun:
                place.tally.skip("request of a call that had begun", len(begun))
                calls = [call for call in calls if call.id not in begun]
            self.requested.update(call.id for call in calls if call.id)
            thought = join(*self.thoughts, as_text(data.get("reasoningText")))
            self.dialog.agent(as_text(data.get("content")), calls, thought=thought)
            self.thoughts = []
        elif kind == "tool.execution_start":
            identity = _text(data.get("toolCallId"))
            if identity is None or identity not in self.requested:
                self.requested |= {identity} if identity is not None else set()
                self.dialog.agent(
                    None, [ToolCall(identity, str(data.get("toolName") or "unknown"), data.get("arguments"))]
                )
        elif kind == "tool.execution_complete":
            text = as_text(at(data, "result.content") or at(data, "error.message") or data.get("result"))
            if not self.dialog.result(_text(data.get("toolCallId")), text, error=data.get("success") is False):
                place.tally.skip("result without a call")
        elif kind == "session.task_complete":
            self.claim = "task_complete"
        else:
            place.tally.skip(f"{kind} event")

    def episode(self, place: Place) -> Iterator[RawEpisode]:
        if not self.dialog.steps:
            place.tally.skip("session without an action")
            return
        version = _text(self.data.get("copilotVersion"))
        yield RawEpisode(
            steps=self.dialog.steps,
            id=_text(self.data.get("sessionId")),
            task=self.dialog.task,
            initial_observation=self.dialog.initial_observation,
            claim=self.claim,
            extra={"version": version} if version else {},
            record=self.number,
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


FORMAT = Format("copilot-cli", "Copilot CLI event logs (JSON lines)", "stream", detect, read)
