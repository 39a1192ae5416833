"""Sessions of pi and of OpenClaw, which is built on it: JSON lines, a ``session`` head, then entries.

From version 2 on entries have ``id`` and ``parentId`` and make a tree whose last entry is the current one; version 1
has neither, and the order of the lines holds. OpenClaw can name a call or the session as ``parentId``; such an entry
follows the line before it.

Outcome: none. Lost, and counted: changes of the model, compactions, custom entries, commands of the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join, loads_maybe
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, fail, word
from xskill.canon.reading.session_tree import PathSteps, Repeats, path_episodes

_ENTRIES = frozenset({
    "model_change", "thinking_level_change", "compaction", "branch_summary", "custom", "custom_message", "label",
    "session_info",
})  # fmt: skip
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "system", "custom"})
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|$)")
_SENDER = re.compile(
    r"\s*(?:[A-Z][^\n]*\((?:untrusted|trusted) metadata\):\s*```[a-z]*\n.*?\n```\s*)+"
    r"(?:\[[^\]\n]*\d:\d\d[^\]\n]*\]\s*)?",
    re.S,
)
_LONGEST_WRAPPER = 20_000
_STOPPED = frozenset({"error", "aborted"})
_ERROR_STATUS = frozenset({"error", "failed", "failure"})

Entry = tuple[int, dict[str, Any]]


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or "sessionId" in value or "payload" in value or "session_id" in value:
        return False
    kind = word(value.get("type"))
    if kind == "session":
        return "cwd" in value and isinstance(value.get("id"), str) and "timestamp" in value
    if kind == "message":
        return (
            isinstance(value.get("message"), dict)
            and word(value["message"].get("role")) in _ROLES
            and ("timestamp" in value or "parentId" in value)
        )
    return kind in _ENTRIES and "timestamp" in value and ("parentId" in value or "modelId" in value)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    head: dict[str, Any] = {}
    entries: list[Entry] = []
    repeats = Repeats()
    for number, value in values:
        if not isinstance(value, dict):
            place.bad.append(fail("", "an object", value).at(place.file or "-", number))
        elif repeats.again(value):
            place.tally.skip("line written twice")
        elif value.get("type") == "session":
            if entries:
                yield from _session(head, entries, place)
            head, entries = value, []
        else:
            entries.append((number, value))
    if entries:
        yield from _session(head, entries, place)
    elif head:
        place.tally.lose("session without an action")


def _session(head: dict[str, Any], entries: list[Entry], place: Place) -> Iterator[RawEpisode]:
    by_id = {value["id"]: at for at, (_, value) in enumerate(entries) if isinstance(value.get("id"), str)}
    parents: list[int | None] = []
    for position, (_, value) in enumerate(entries):
        above = value.get("parentId")
        if isinstance(above, str) and by_id.get(above, position) != position:
            parents.append(by_id[above])
        elif "parentId" in value and above is None:
            parents.append(None)
        else:
            parents.append(position - 1 if position else None)
    for _, value in entries:
        if value.get("type") != "message":
            place.tally.skip(f"{word(value.get('type')) or 'unknown'} entry")
    ends = [value.get("type") in ("message", "branch_summary") for _, value in entries]
    above_session = word(head.get("parentSession"))
    extra = {"parent_session": above_session.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".jsonl")}

    def replay(path: list[int], shared: set[int]) -> PathSteps:
        lines = [(at not in shared, entries[at][1]) for at in path]
        return _replay(lines, extra if above_session else {}, Place(place.stem) if shared else place)

    identity = word(head.get("id")) or place.stem
    yield from path_episodes(parents, ends, replay, identity, place, first=entries[0][0])


def _replay(lines: list[tuple[bool, dict[str, Any]]], extra: dict[str, Any], place: Place) -> PathSteps:
    replayed = PathSteps(Dialog(), extra=dict(extra))
    dialog = replayed.dialog
    for is_own, value in lines:
        if is_own and replayed.own is None:
            replayed.own = len(dialog.steps)
        if value.get("type") != "message":
            if value.get("type") == "session_info" and isinstance(value.get("name"), str):
                replayed.extra["title"] = value["name"]
            continue
        message = as_mapping(value.get("message"))
        role = word(message.get("role"))
        if role == "user":
            _user(dialog, message, place)
        elif role == "assistant":
            if isinstance(message.get("model"), str):
                replayed.extra.setdefault("model", message["model"])
            _agent(dialog, message, place)
        elif role == "toolResult":
            _result(dialog, message, place)
        elif role == "bashExecution":
            place.tally.skip("command of the user")
        else:
            place.tally.lose(f"message of role {role}")
    return replayed


def _user(dialog: Dialog, message: dict[str, Any], place: Place) -> None:
    text = as_text(message.get("content")) or ""
    wrapper = _SENDER.match(text[:_LONGEST_WRAPPER])
    text = text[wrapper.end() :] if wrapper is not None else text
    if _COMMAND.match(text) and not dialog.steps and dialog.task is None:
        place.tally.skip("slash command of the user")
    else:
        dialog.user(text)


def _agent(dialog: Dialog, message: dict[str, Any], place: Place) -> None:
    texts: list[str | None] = []
    thoughts: list[str | None] = []
    calls: list[ToolCall] = []
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            texts.append(as_text(part))
        elif part.get("type") == "toolCall":
            arguments = part.get("arguments", part.get("partialJson"))
            calls.append(ToolCall(word(part.get("id")) or None, word(part.get("name")) or "unknown", arguments))
        elif part.get("type") == "thinking":
            thoughts.append(as_text(part.get("thinking")))
        else:
            texts.append(as_text([part]))
    stopped = word(message.get("stopReason"))
    added = dialog.agent(join(*texts), calls, thought=join(*thoughts))
    if stopped in _STOPPED:
        if added and not calls:
            added[0].extra = {"stopped": stopped}
        elif not added:
            place.tally.skip(f"answer that ended with {stopped}")
    elif not added:
        place.tally.skip("empty message of the agent")


def _result(dialog: Dialog, message: dict[str, Any], place: Place) -> None:
    text = as_text(message.get("content"))
    shown = loads_maybe(text.strip()) if text and len(text) < 10_000 else None
    status = at(message, "details.status") or (shown.get("status") if isinstance(shown, dict) else None)
    error = message.get("isError") is True or word(status) in _ERROR_STATUS
    if dialog.result(word(message.get("toolCallId")) or None, text, error=error) is None:
        place.tally.lose("result without a call")


FORMAT = Format("pi", "pi and OpenClaw sessions (JSON lines)", "stream", detect, read)
