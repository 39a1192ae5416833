"""Codex CLI rollouts: JSON lines ``{timestamp, type, payload}`` that begin with ``session_meta``.

``response_item`` lines are what the model saw and wrote; ``event_msg`` lines say the same again for the
screen and are read only for the failures that they alone tell. A head that is repeated with the same id
is a resumed session; one with the id that this session was forked from heads the copied history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, fail, word
from xskill.canon.reading.responses import Items

_TYPES = frozenset({
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
    "inter_agent_communication",
})  # fmt: skip
_INJECTED = re.compile(
    r"\s*<(?:environment_context|user_instructions|permissions|INSTRUCTIONS|turn_aborted)|# AGENTS\.md"
)


def detect(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("payload"), dict) and word(value.get("type")) in _TYPES


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    session: _CodexSession | None = None
    for number, value in values:
        if not isinstance(value, dict) or not isinstance(value.get("payload"), dict):
            place.bad.append(fail("payload", "an object", value.get("payload") if isinstance(value, dict) else value)
                             .at(place.file or "-", number))  # fmt: skip
            continue
        kind, payload = value.get("type"), value["payload"]
        if kind == "session_meta":
            if session is not None and session.is_known_head(payload):
                place.tally.skip("repeated session head")
                continue
            if session is not None:
                yield from session.episode(place)
            session = _CodexSession(payload, number, place)
            continue
        if session is None:
            session = _CodexSession({}, number, place)
        session.add(kind, payload)
    if session is not None:
        yield from session.episode(place)


class _CodexSession:
    def __init__(self, meta: dict[str, Any], number: int, place: Place) -> None:
        self.meta = meta
        self.number = number
        self.place = place
        self.dialog = Dialog()
        self.items = Items(self.dialog, place.tally)
        self.failed: set[str] = set()
        self.claim: str | None = None
        self.model: str | None = None

    def is_known_head(self, meta: dict[str, Any]) -> bool:
        """Whether a further head is this session's own, resumed, or that of the history it copied."""
        return meta.get("id") in (self.meta.get("id"), self.meta.get("forked_from_id"))

    def add(self, kind: Any, payload: dict[str, Any]) -> None:
        if kind == "response_item":
            if payload.get("type") == "message" and payload.get("role") == "user" and self._injected(payload):
                self.place.tally.skip("message injected by the program")
            else:
                self.items.add(payload)
        elif kind == "event_msg":
            self._event(payload)
        elif kind == "turn_context":
            model = payload.get("model")
            self.model = model if isinstance(model, str) else self.model
        else:
            self.place.tally.skip(f"{kind} line")

    def _injected(self, payload: dict[str, Any]) -> bool:
        text = as_text(payload.get("content"))
        return text is not None and _INJECTED.match(text) is not None

    def _event(self, payload: dict[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "task_complete":
            self.claim = "task_complete"
        elif kind == "turn_aborted":
            self.claim = "turn_aborted"
        identity = payload.get("call_id")
        if isinstance(identity, str) and (
            payload.get("success") is False
            or payload.get("exit_code") not in (None, 0)
            or (isinstance(payload.get("result"), dict) and "Err" in payload["result"])
        ):
            self.failed.add(identity)
        else:
            self.place.tally.skip(f"{kind} event")

    def episode(self, place: Place) -> Iterator[RawEpisode]:
        self.items.end()
        if not self.dialog.steps:
            place.tally.skip("session without an action")
            return
        for call in sorted(self.failed):
            self.dialog.mark_failed(call)
        meta = self.meta
        extra: dict[str, Any] = {}
        for key in ("cli_version", "originator", "forked_from_id"):
            if isinstance(meta.get(key), str):
                extra[key] = meta[key]
        if self.model:
            extra["model"] = self.model
        source = meta.get("source")
        marks: tuple[str, ...] = ()
        if isinstance(source, dict) and "subagent" in source:
            marks = ("subagent",)
            parent = at(source, "subagent.thread_spawn.parent_thread_id") or meta.get("parent_thread_id")
            if isinstance(parent, str):
                extra["parent_session"] = parent
        if source == "exec":
            marks += ("headless",)
        if meta.get("forked_from_id"):
            marks += ("forked",)
        identity = meta.get("id")
        yield RawEpisode(
            steps=self.dialog.steps,
            id=identity if isinstance(identity, str) else None,
            task=self.dialog.task,
            initial_observation=self.dialog.initial_observation,
            claim=self.claim,
            marks=marks,
            extra=extra,
            record=self.number,
        )


FORMAT = Format("codex", "Codex CLI rollouts (JSON lines)", "stream", detect, read)
