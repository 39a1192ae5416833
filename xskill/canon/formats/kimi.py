"""Kimi's session files: the wire of kimi-code (1.4), and the wire and the context of the older kimi-cli.

kimi-code writes ``turn.prompt`` and ``context.append_loop_event`` lines; kimi-cli's wire writes ``{timestamp,
message: {type, payload}}`` with answers in pieces; its context is a list of messages with ``_checkpoint`` lines.
A subagent's events lie nested in the wire, with call ids that its parent uses too: it is an episode of its own.

Outcome: none. Lost, and counted: requests, usage, approvals, checkpoints, compactions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, entries, fail, word
from xskill.canon.reading.session_tree import Repeats, session_folder

_LINES = ("context.", "turn.", "llm.request", "llm.tools_snapshot", "usage.record", "tools.set_active", "config.update")
_LOOP = frozenset({"step.begin", "step.end", "content.part", "tool.call", "tool.result"})
_WIRE = frozenset({
    "TurnBegin", "TurnEnd", "StepBegin", "StepInterrupted", "StepRetry", "ContentPart", "ToolCall", "ToolCallPart",
    "ToolResult", "SubagentEvent", "StatusUpdate", "ApprovalRequest", "ApprovalResponse", "CompactionBegin",
    "CompactionEnd",
})  # fmt: skip
_CONTEXT = frozenset({"_system_prompt", "_checkpoint", "_usage"})
_CHECKPOINT = re.compile(r"\s*<system>CHECKPOINT \d+</system>\s*$")
_ERROR = re.compile(r"\s*<system>ERROR\b")


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = word(value.get("type"))
    if kind == "metadata":
        return "protocol_version" in value
    if kind.startswith(_LINES):
        return "time" in value
    if word(value.get("role")) in _CONTEXT:
        return True
    return "timestamp" in value and word(at(value, "message.type")) in _WIRE and "payload" in value["message"]


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    main = _KimiSession(place)
    first = 1
    repeats = Repeats()
    for index, (number, value) in enumerate(values):
        first = number if index == 0 else first
        if not isinstance(value, dict):
            place.bad.append(fail("", "an object", value).at(place.file or "-", number))
        elif repeats.again(value) and ("time" in value or "timestamp" in value) and not _is_piece(value):
            place.tally.skip("line written twice")
        elif "role" in value:
            main.context(value)
        elif isinstance(value.get("message"), dict) and "timestamp" in value:
            main.wire(as_mapping(value["message"]))
        else:
            main.line(value)
    yield from main.episodes(session_folder(place) or place.stem, first)


def _is_piece(value: dict[str, Any]) -> bool:
    """Pieces of an answer can be equal and still be two."""
    return word(at(value, "message.type")) in ("ContentPart", "ToolCallPart", "SubagentEvent")


class _KimiSession:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.dialog = Dialog()
        self.is_subagent = False
        self.children: dict[str, _KimiSession] = {}
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[list[Any]] = []
        self._results: list[tuple[str | None, str | None, bool]] = []

    def line(self, value: dict[str, Any]) -> None:
        """A line of kimi-code."""
        kind = word(value.get("type"))
        event = as_mapping(value.get("event"))
        inner = word(event.get("type"))
        if kind == "turn.prompt":
            self.end()
            origin = word(at(value, "origin.kind"))
            self.is_subagent = self.is_subagent or origin == "subagent" or at(value, "origin.name") == "subagent"
            self.dialog.user(as_text(value.get("input")))
        elif kind != "context.append_loop_event" or inner not in _LOOP:
            echo = kind == "context.append_message"
            self.place.tally.skip("message said again" if echo else f"{inner or kind or 'unknown'} line")
        elif inner in ("step.begin", "step.end"):
            self.end()
        elif inner == "content.part":
            part = as_mapping(event.get("part"))
            if part.get("type") == "think":
                self._thoughts.append(as_text(part.get("think")) or "")
            else:
                self._texts.append(as_text([part]) or "")
        elif inner == "tool.call":
            name = word(event.get("name")) or "unknown"
            self._calls.append([word(event.get("toolCallId")) or None, name, event.get("args")])
        else:
            result = as_mapping(event.get("result"))
            text = as_text(result.get("output", result.get("content")))
            self._result(word(event.get("toolCallId")) or None, text, result.get("isError") is True)

    def wire(self, message: dict[str, Any]) -> None:
        """A message on the wire of kimi-cli."""
        kind, payload = word(message.get("type")), as_mapping(message.get("payload"))
        if kind == "TurnBegin":
            self.end()
            self.dialog.user(as_text(payload.get("user_input")))
        elif kind in ("StepBegin", "TurnEnd", "StepInterrupted"):
            self.end()
        elif kind == "StepRetry":
            if self._texts or self._thoughts or self._calls:
                self.place.tally.skip("answer that was tried again")
            self._texts, self._thoughts, self._calls = [], [], []
        elif kind == "ContentPart":
            target = self._thoughts if payload.get("type") == "think" else self._texts
            piece = as_text(payload.get("think") if payload.get("type") == "think" else [payload]) or ""
            if target:
                target[-1] += piece
            else:
                target.append(piece)
        elif kind == "ToolCall":
            function = as_mapping(payload.get("function"))
            name = word(function.get("name")) or "unknown"
            self._calls.append([word(payload.get("id")) or None, name, function.get("arguments") or ""])
        elif kind == "ToolCallPart" and self._calls:
            self._calls[-1][2] = f"{self._calls[-1][2]}{payload.get('arguments_part') or ''}"
        elif kind == "ToolResult":
            back = as_mapping(payload.get("return_value"))
            text = as_text(back.get("output")) or as_text(back.get("message"))
            self._result(word(payload.get("tool_call_id")) or None, text, back.get("is_error") is True)
        elif kind == "SubagentEvent":
            name = word(payload.get("parent_tool_call_id")) or word(payload.get("agent_id")) or "subagent"
            self.children.setdefault(name, _KimiSession(self.place)).wire(as_mapping(payload.get("event")))
        else:
            self.place.tally.skip(f"{kind or 'unknown'} message")

    def context(self, message: dict[str, Any]) -> None:
        """A message of kimi-cli's context."""
        role = word(message.get("role"))
        content = message.get("content")
        text = as_text(content)
        if role == "user":
            if text and _CHECKPOINT.match(text):
                self.place.tally.skip("checkpoint")
            else:
                self.dialog.user(text)
        elif role == "assistant":
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            thoughts = [as_text(part.get("think")) for part in entries(parts) if part.get("type") == "think"]
            texts = [as_text([part]) for part in parts if at(part, "type") != "think" and at(part, "text") is not None]
            calls = [read_call(call) for call in message.get("tool_calls") or ()]
            added = [ToolCall(call.id, call.name, call_arguments(call.arguments)) for call in calls]
            self.dialog.agent(join(*texts), added, thought=join(*thoughts))
        elif role == "tool":
            failed = bool(text and _ERROR.match(text))
            self._give(word(message.get("tool_call_id")) or None, text, failed)
        else:
            self.place.tally.skip(f"{role.strip('_')} line")

    def end(self) -> None:
        """The step is over: what was gathered becomes a turn."""
        calls = [ToolCall(identity, name, call_arguments(arguments)) for identity, name, arguments in self._calls]
        added = self.dialog.agent(join(*self._texts), calls, thought=join(*self._thoughts))
        if not added and any(self._thoughts):
            self.place.tally.lose("thought without an action")
        self._texts, self._thoughts, self._calls = [], [], []
        results, self._results = self._results, []
        for result in results:
            self._give(*result)

    def _result(self, identity: str | None, text: str | None, error: bool) -> None:
        if any(call[0] == identity for call in self._calls):
            self._results.append((identity, text, error))  # its call becomes a step when all of the turn are in
        else:
            self._give(identity, text, error)

    def _give(self, identity: str | None, text: str | None, error: bool) -> None:
        if self.dialog.result(identity, text, error=error) is None:
            self.place.tally.lose("result without a call")

    def episodes(self, identity: str, first: int, parent: str | None = None) -> Iterator[RawEpisode]:
        """The session, then its subagents."""
        self.end()
        dialog = self.dialog
        if dialog.steps:
            yield RawEpisode(
                steps=dialog.steps,
                id=identity,
                task=dialog.task,
                initial_observation=dialog.initial_observation,
                marks=("subagent",) if parent is not None or self.is_subagent else (),
                extra={"parent_session": parent} if parent is not None else {},
                record=first,
            )
        else:
            self.place.tally.lose("session without an action")
        prompts = {
            index: step.arguments.get("prompt") for index, step in enumerate(dialog.steps)
            if isinstance(step.arguments, dict)
        }  # fmt: skip
        agents = [prompt for prompt in prompts.values() if isinstance(prompt, str)]
        for index, (name, child) in enumerate(self.children.items()):
            if child.dialog.task is None and index < len(agents) == len(self.children):
                child.dialog.task = agents[index]
            yield from child.episodes(f"{identity}/{name}", first, identity)


FORMAT = Format("kimi", "Kimi sessions: the wire of kimi-code, wire and context of kimi-cli", "stream", detect, read)
