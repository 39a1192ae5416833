"""Codex CLI rollouts: JSON lines ``{timestamp, type, payload}`` that begin with ``session_meta``.

``response_item`` lines are what the model saw and wrote; ``event_msg`` lines say the same again for the
screen and are read only for what they alone tell: failures, commands inside a script (code mode), a task that no item
holds, and turns that were undone (``thread_rolled_back``), which become a branch that was abandoned. A head that is
repeated with the same id is a resumed session; one with the id that this session was forked from heads the copied
history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.code_mode import Inner, executed, script_calls
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode, SourceTally
from xskill.canon.reading.fields import at, fail, word
from xskill.canon.reading.responses import Items, output_text
from xskill.canon.reading.session_tree import PathSteps, one_path

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


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that tells of the work: an item, a command inside a script, or what the user said."""

    payload: dict[str, Any]
    inner: Inner | None = None
    said: str | None = None


class _CodexSession:
    def __init__(self, meta: dict[str, Any], number: int, place: Place) -> None:
        self.meta = meta
        self.number = number
        self.place = place
        self.lines: list[_Line] = []
        self.left: list[tuple[int, list[_Line]]] = []  # undone turns: how much they share with the main line, all lines
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
                self.lines.append(_Line(payload))
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
        inner = executed(payload.get("item")) if kind == "item_completed" else None
        if kind == "thread_rolled_back":
            self._roll_back(payload.get("num_turns"))
            return
        if inner is not None:
            self.lines.append(_Line(payload, inner))
            return
        if kind == "user_message" and isinstance(payload.get("message"), str):
            self.lines.append(_Line(payload, said=payload["message"]))
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

    def _roll_back(self, turns: Any) -> None:
        """The last user turns are undone: the main line goes on from before them."""
        starts = [index for index, line in enumerate(self.lines) if _is_user(line.payload)]
        if not isinstance(turns, int) or turns < 1 or not starts:
            self.place.tally.skip("rollback of no turn")
            return
        kept = starts[-turns] if turns <= len(starts) else 0
        self.left.append((kept, self.lines))
        self.lines = self.lines[:kept]

    def _replay(self, lines: list[_Line], tally: SourceTally, shared: int | None = None) -> PathSteps:
        """The lines as steps; ``own`` is the first step after the ``shared`` first lines."""
        dialog = Dialog()
        items = Items(dialog, tally)
        by_items = any(_is_user(line.payload) for line in lines)
        script: dict[str, Any] | None = None
        inner: list[Inner] = []
        own = None
        for index, line in enumerate(lines):
            if index == shared:
                items.end()
                own = len(dialog.steps)
            item = line.payload
            if line.said is not None:
                if not by_items:
                    items.end()
                    dialog.user(line.said)
            elif line.inner is not None:
                if script is not None:
                    inner.append(line.inner)
                else:
                    tally.skip("item_completed event")
            elif item.get("type") == "custom_tool_call" and item.get("name") == "exec":
                _add_script(items, script, inner, None)
                script, inner = item, []
            elif script is not None and item.get("call_id") == script.get("call_id"):
                _add_script(items, script, inner, item)
                script, inner = None, []
            else:
                items.add(item)
        _add_script(items, script, inner, None)
        items.end()
        for call in sorted(self.failed):
            dialog.mark_failed(call)
        return PathSteps(dialog, own)

    def episode(self, place: Place) -> Iterator[RawEpisode]:
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
        main = self._replay(self.lines, place.tally)
        if not main.dialog.steps:
            place.tally.skip("session without an action")
        else:
            identity = meta.get("id")
            yield RawEpisode(
                steps=main.dialog.steps,
                id=identity if isinstance(identity, str) else None,
                task=main.dialog.task,
                initial_observation=main.dialog.initial_observation,
                claim=self.claim,
                marks=marks,
                extra=extra,
                record=self.number,
            )
        name = meta["id"] if isinstance(meta.get("id"), str) else f"{place.stem}-{self.number}"
        for left, (shared, lines) in enumerate(self.left, 1):
            path = self._replay(lines, SourceTally(), shared)
            path.extra = extra
            yield from one_path(
                path, name, place, marks=marks, first=self.number, left=left, has_main=bool(main.dialog.steps)
            )


def _is_user(payload: dict[str, Any]) -> bool:
    return payload.get("type") == "message" and payload.get("role") == "user"


def _add_script(items: Items, script: dict[str, Any] | None, inner: list[Inner], output: dict[str, Any] | None) -> None:
    """A script becomes the calls that it made, if they are told or can be read; else it stays one call."""
    if script is None:
        return
    calls = inner or script_calls(script.get("input"))
    if not calls:
        items.add(script)
        if output is not None:
            items.add(output)
        return
    identity = script.get("call_id")
    for index, call in enumerate(calls):
        items.call(f"{identity}/{index}" if isinstance(identity, str) else None, call.name, call.arguments)
    items.end()
    last = f"{identity}/{len(calls) - 1}" if isinstance(identity, str) else None
    if inner:
        for index, call in enumerate(inner):
            items.dialog.result(f"{identity}/{index}", call.text, error=call.failed)
    elif output is not None:
        text, failed = output_text(output.get("output"))
        items.dialog.result(last, text, error=failed)


FORMAT = Format("codex", "Codex CLI rollouts (JSON lines)", "stream", detect, read)
