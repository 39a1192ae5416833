"""Goose sessions: JSON lines, a header, then messages whose parts are ``toolRequest`` and ``toolResponse``.

Outcome: none. Lost: token counts; counted: parts of other kinds and what only the user was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, fail, word
from xskill.canon.reading.session_tree import Repeats

_CALLS = frozenset({"toolRequest", "frontendToolRequest"})
_PARTS = _CALLS | {"toolResponse", "toolConfirmationRequest", "contextLengthExceeded", "summarizationRequested"}


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if _is_header(value):
        return True
    content = value.get("content")
    return (
        "created" in value
        and isinstance(content, list)
        and any(isinstance(part, dict) and word(part.get("type")) in _PARTS for part in content)
    )


def _is_header(value: dict[str, Any]) -> bool:
    return "working_dir" in value and ("message_count" in value or "description" in value) and "role" not in value


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    session: _GooseSession | None = None
    repeats = Repeats()
    for number, value in values:
        if not isinstance(value, dict):
            place.bad.append(fail("", "an object", value).at(place.file or "-", number))
        elif _is_header(value):
            if session is not None and not session.dialog.steps and session.dialog.task is None:
                place.tally.skip("header without a message")
            elif session is not None and repeats.again(value):
                place.tally.skip("header written twice")
                continue
            elif session is not None:
                yield from session.episode(place)
            repeats.again(value)
            session = _GooseSession(value, number)
        elif "created" in value and repeats.again(value):
            place.tally.skip("message written twice")
        else:
            session = session or _GooseSession({}, number)
            session.add(value, place)
    if session is not None:
        yield from session.episode(place)


class _GooseSession:
    def __init__(self, head: dict[str, Any], number: int) -> None:
        self.head = head
        self.number = number
        self.dialog = Dialog()

    def add(self, message: dict[str, Any], place: Place) -> None:
        """One message: results lie in messages of the user."""
        role = word(message.get("role"))
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if role not in ("user", "assistant"):
            place.tally.lose(f"message of role {role}")
            return
        texts: list[str | None] = []
        thoughts: list[str | None] = []
        calls: list[ToolCall] = []
        failed: list[tuple[str | None, str | None]] = []
        for part in parts:
            part = as_mapping(part)
            kind = word(part.get("type"))
            identity = word(part.get("id")) or None
            if kind in _CALLS:
                call, bad = _request(part)
                calls.append(call)
                if bad is not None:
                    failed.append((identity, bad))
            elif kind == "toolResponse":
                text, error = _response(as_mapping(part.get("toolResult")))
                if self.dialog.result(identity, text, error=error) is None:
                    place.tally.lose("result without a call")
            elif kind in ("thinking", "reasoning"):
                thoughts.append(as_text(part.get("thinking") or part.get("text")))
            elif kind == "text" and role == "user" and at(message, "metadata.userVisible") is False:
                place.tally.skip("message injected by the program")
            elif kind in ("text", "image"):
                texts.append(as_text([part]))
            else:
                place.tally.skip(f"{kind} part")
        if role == "user":
            self.dialog.user(join(*texts))
            return
        added = self.dialog.agent(join(*texts), calls, thought=join(*thoughts))
        for identity, _ in failed:
            self.dialog.mark_failed(identity or "")
        if not added and any(thoughts):
            place.tally.lose("thought without an action")

    def episode(self, place: Place) -> Iterator[RawEpisode]:
        """The session as an episode."""
        dialog = self.dialog
        if not dialog.steps:
            place.tally.lose("session without an action")
            return
        description = self.head.get("description")
        parent = bool(self.head.get("parent_session_id"))
        yield RawEpisode(
            steps=dialog.steps,
            id=word(self.head.get("id")) or None,
            task=dialog.task,
            initial_observation=dialog.initial_observation,
            marks=("subagent",) if parent else (),
            extra={"description": description} if isinstance(description, str) and description else {},
            record=self.number,
        )


def _request(part: dict[str, Any]) -> tuple[ToolCall, str | None]:
    """The call; and the error, of one that Goose could not parse."""
    call = as_mapping(part.get("toolCall"))
    value = call.get("value") if "value" in call else call
    value = as_mapping(value)
    bad = as_text(call.get("error")) if call.get("status") == "error" or call.get("error") else None
    name = word(value.get("name")) or "unparsed_call"
    arguments = value.get("arguments") if bad is None or value.get("name") else {"error": bad}
    return ToolCall(word(part.get("id")) or None, name, arguments), bad


def _response(result: dict[str, Any]) -> tuple[str | None, bool]:
    """What a tool returned, without the copy that is for the user's eyes alone."""
    if result.get("status") == "error" or "error" in result:
        return as_text(result.get("error")), True
    value = result.get("value", result if "content" in result else None)
    error = isinstance(value, dict) and value.get("isError") is True
    content = value.get("content", value.get("structuredContent")) if isinstance(value, dict) else value
    if isinstance(content, list):
        kept = [part for part in content if at(part, "annotations.audience") != ["user"]]
        content = kept or content or None
    return as_text(content), error


FORMAT = Format("goose", "Goose sessions (JSON lines)", "stream", detect, read)
