"""``claude -p --output-format stream-json``: one line a message, each with ``session_id``.

The blocks of one message come as lines of their own with one ``message.id``; ``stream_event`` lines say the same in
pieces; ``parent_tool_use_id`` names the call whose subagent speaks; the ``result`` line repeats the last answer and
says how the run ended, which is the program's word and no verdict.

Outcome: none; the ``result`` text is the claim. Lost, and counted: ``stream_event`` and hook lines, usage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, fail, word
from xskill.canon.reading.session_tree import Repeats

_TYPES = frozenset({"assistant", "user", "stream_event", "result", "system", "rate_limit_event", "tool_progress"})


def detect(value: Any) -> bool:
    if (
        not isinstance(value, dict)
        or word(value.get("type")) not in _TYPES
        or not isinstance(value.get("session_id"), str)
    ):
        return False
    if value["type"] in ("assistant", "user"):
        return isinstance(value.get("message"), dict) and "sessionId" not in value
    return value["type"] != "system" or isinstance(value.get("subtype"), str)


@dataclass(slots=True)
class _StreamThread:
    session: str
    call: str | None
    """The call that started this subagent; null for the main thread."""
    number: int
    messages: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    threads: dict[tuple[str, str | None], _StreamThread] = {}
    repeats = Repeats()
    for number, value in values:
        if not isinstance(value, dict):
            place.bad.append(fail("", "an object", value).at(place.file or "-", number))
            continue
        kind = word(value.get("type"))
        session = word(value.get("session_id"))
        call = word(value.get("parent_tool_use_id")) or None
        if kind == "stream_event":
            place.tally.skip("stream_event line")
        elif repeats.again(value):
            place.tally.skip("line written twice")
        elif kind in ("assistant", "user"):
            thread = threads.setdefault((session, call), _StreamThread(session, call, number))
            thread.messages.append(value)
        else:
            thread = threads.setdefault((session, None), _StreamThread(session, None, number))
            if kind == "result":
                if thread.end:
                    place.tally.skip("result line of an earlier turn")
                thread.end = value
            elif kind == "system" and value.get("subtype") == "init":
                for key, name in (("model", "model"), ("claude_code_version", "version")):
                    if isinstance(value.get(key), str):
                        thread.extra[name] = value[key]
            else:
                place.tally.skip(f"{word(value.get('subtype')) or kind} line")
    prompts = {
        part["id"]: part["input"]["prompt"]
        for thread in threads.values()
        for message in thread.messages
        for part in _parts(message)
        if word(part.get("id")) and isinstance(at(part, "input.prompt"), str)
    }
    for thread in threads.values():
        yield from _episode(thread, prompts, place)


def _parts(value: dict[str, Any]) -> list[dict[str, Any]]:
    content = at(value, "message.content")
    parts = content if isinstance(content, list) else [content]
    return [part if isinstance(part, dict) else {"type": "text", "text": part} for part in parts if part is not None]


def _episode(thread: _StreamThread, prompts: dict[str, str], place: Place) -> Iterator[RawEpisode]:
    dialog = Dialog()
    by_message: dict[str, list[dict[str, Any]]] = {}
    for value in thread.messages:
        identity = word(at(value, "message.id"))
        if value["type"] == "assistant" and identity:
            by_message.setdefault(identity, []).append(value)
    if thread.call is not None and thread.call in prompts:
        dialog.user(prompts[thread.call])
    seen: set[str] = set()
    for value in thread.messages:
        if value["type"] == "user":
            _user(dialog, value, place)
            continue
        identity = word(at(value, "message.id"))
        if identity in by_message:
            _agent(dialog, by_message.pop(identity), seen, place)
        elif not identity:
            _agent(dialog, [value], seen, place)
    if not dialog.steps:
        place.tally.skip("session without an action")
        return
    extra = dict(thread.extra)
    claim: Any = None
    if thread.call is not None:
        extra["parent_session"] = thread.session
    if thread.end:
        claim = as_text(thread.end.get("result")) or word(thread.end.get("subtype")) or None
        extra["result"] = {key: thread.end[key] for key in ("subtype", "is_error") if key in thread.end}
    yield RawEpisode(
        steps=dialog.steps,
        id=f"{thread.session}/{thread.call}" if thread.call is not None else thread.session or None,
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        claim=claim,
        marks=("subagent",) if thread.call is not None else ("headless",),
        extra=extra,
        record=thread.number,
    )


def _agent(dialog: Dialog, lines: list[dict[str, Any]], seen: set[str], place: Place) -> None:
    texts: list[str | None] = []
    thoughts: list[str | None] = []
    calls: list[ToolCall] = []
    repeats = Repeats()
    for part in (part for line in lines for part in _parts(line)):
        kind = word(part.get("type"))
        if repeats.again(part) or (kind == "tool_use" and word(part.get("id")) in seen):
            place.tally.skip("part written twice")
        elif kind in ("tool_use", "server_tool_use"):
            call = read_call(part, "message.content")
            calls.append(ToolCall(call.id, call.name, call_arguments(call.arguments)))
            seen.add(call.id or "")
        elif kind == "thinking":
            thoughts.append(as_text(part.get("thinking")))
        elif kind == "redacted_thinking":
            place.tally.skip("redacted_thinking part")
        else:
            texts.append(as_text([part]))
    seen.discard("")
    added = dialog.agent(join(*texts), calls, thought=join(*thoughts))
    if not added and any(thoughts):
        place.tally.skip("thought without an action")


def _user(dialog: Dialog, value: dict[str, Any], place: Place) -> None:
    texts: list[str | None] = []
    for part in _parts(value):
        if word(part.get("type")).endswith("tool_result"):
            identity, text = word(part.get("tool_use_id")) or None, as_text(part.get("content"))
            if dialog.result(identity, text, error=part.get("is_error") is True) is None:
                place.tally.skip("result without a call")
        else:
            texts.append(as_text([part]))
    text = join(*texts)
    if text is None:
        return
    if value.get("isSynthetic") is True or as_mapping(value.get("message")).get("isMeta"):
        place.tally.skip("message injected by the program")
    elif text != dialog.task or dialog.steps:
        dialog.user(text)


FORMAT = Format("claude-stream", "Claude Code `--output-format stream-json` lines", "stream", detect, read)
