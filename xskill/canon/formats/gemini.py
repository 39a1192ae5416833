"""Gemini CLI chats: one JSON document (up to 0.3x), or JSON lines with a header and patches (0.40 on).

``$set`` changes the header, and with ``messages`` what was said so far; ``$rewindTo`` takes back a message and all that
followed, which becomes a branch that was abandoned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode, SourceTally
from xskill.canon.reading.fields import items, word
from xskill.canon.reading.session_tree import PathSteps, one_path

_AGENT = frozenset({"gemini", "model"})


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if "sessionId" in value and "projectHash" in value:
        return True
    if len(value) == 1 and ("$set" in value or "$rewindTo" in value):
        return True
    return word(value.get("type")) in _AGENT and ("toolCalls" in value or "thoughts" in value or "tokens" in value)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    chat: _GeminiChat | None = None
    for number, value in values:
        if not isinstance(value, dict):
            place.tally.skip("line that is no object")
        elif "sessionId" in value and "type" not in value:
            if chat is not None and chat.messages:
                yield from chat.episodes(place)
            chat = _GeminiChat(value, number)
            chat.replace(value.get("messages"))
        elif value.keys() & {"$set", "$rewindTo", "type"}:
            chat = chat or _GeminiChat({}, number)
            chat.add(value, number, place)
        else:
            place.tally.skip("line of another kind")
    if chat is not None and chat.messages:
        yield from chat.episodes(place)


class _GeminiChat:
    """One chat: its messages by id, and the ends that were rewound."""

    def __init__(self, head: dict[str, Any], number: int) -> None:
        self.head = head
        self.number = number
        self.messages: dict[Any, dict[str, Any]] = {}
        self.left: list[tuple[int, list[dict[str, Any]]]] = []

    def replace(self, listed: Any) -> None:
        """All messages so far, as a document or a patch lists them."""
        self.messages = {}
        for index, message in enumerate(items(listed, "messages")):
            if isinstance(message, dict):
                self.messages[word(message.get("id")) or index] = message

    def add(self, value: dict[str, Any], number: int, place: Place) -> None:
        """A line after the header."""
        if isinstance(value.get("$set"), dict):
            patch = dict(value["$set"])
            if "messages" in patch:
                self.replace(patch.pop("messages"))
            self.head = {**self.head, **patch}
        elif "$rewindTo" in value:
            self._rewind(value["$rewindTo"], place)
        else:
            identity = value.get("id")
            self.messages[identity if isinstance(identity, str) else number] = value

    def _rewind(self, identity: Any, place: Place) -> None:
        order = list(self.messages)
        if not isinstance(identity, str) or identity not in self.messages:
            place.tally.skip("rewind to no message")
            return
        kept = order.index(identity)
        self.left.append((kept, list(self.messages.values())))
        self.messages = {key: self.messages[key] for key in order[:kept]}

    def episodes(self, place: Place) -> Iterator[RawEpisode]:
        """The chat as it stands in the end, then what was rewound."""
        main = _replay(self.messages.values(), place.tally)
        identity = self.head.get("sessionId")
        marks = ("subagent",) if self.head.get("kind") == "subagent" else ()
        if main.dialog.steps:
            yield RawEpisode(
                steps=main.dialog.steps,
                id=identity if isinstance(identity, str) else None,
                task=main.dialog.task,
                initial_observation=main.dialog.initial_observation,
                marks=marks,
                extra=main.extra,
                record=self.number,
            )
        else:
            place.tally.skip("session without an action")
        name = identity if isinstance(identity, str) else f"{place.stem}-{self.number}"
        for left, (shared, messages) in enumerate(self.left, 1):
            path = _replay(messages, SourceTally(), shared)
            yield from one_path(
                path, name, place, marks=marks, first=self.number, left=left, has_main=bool(main.dialog.steps)
            )


def _replay(messages: Iterable[dict[str, Any]], tally: SourceTally, shared: int | None = None) -> PathSteps:
    dialog = Dialog()
    own, model = None, None
    for index, message in enumerate(messages):
        if index == shared:
            own = len(dialog.steps)
        kind = word(message.get("type"))
        if kind in _AGENT:
            model = model or (message["model"] if isinstance(message.get("model"), str) else None)
            _agent(dialog, message)
        elif kind == "user":
            dialog.user(as_text(_content(message)))
        else:
            tally.skip(f"{kind} message")
    return PathSteps(dialog, own, extra={"model": model} if model else {})


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
