"""Qwen Code sessions: JSON lines like Claude Code's (``uuid``, ``parentUuid``) whose messages have ``parts``.

Two lines with one ``uuid`` are two parts of one message; a ``rewind`` line makes a branch of what it undoes.
What a hook, a notification or the program itself put into the user's turn is not the user's word.

Outcome: none is in the log. Lost, and counted: telemetry, titles, notifications, slash commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, entries, fail, word
from xskill.canon.reading.session_tree import PathSteps, Repeats, path_episodes

_ASKED = frozenset({"", "mid_turn_user_message", "agent_launch_prompt", "cron", "realtime_message"})
"""Kinds of user line that ask for something; others are written by the program."""
_FAILED = frozenset({"error", "cancelled"})


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or "sessionId" not in value or not isinstance(value.get("uuid"), str):
        return False
    return isinstance(at(value, "message.parts"), list) or (
        value.get("type") == "system" and isinstance(value.get("systemPayload"), dict)
    )


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    sessions: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    repeats = Repeats()
    for number, value in values:
        if not isinstance(value, dict) or not isinstance(value.get("uuid"), str):
            place.bad.append(fail("uuid", "a line of a session", value).at(place.file or "-", number))
        elif repeats.again(value):
            place.tally.skip("line written twice")
        else:
            sessions.setdefault(word(value.get("sessionId")), []).append((number, value))
    for identity, lines in sessions.items():
        yield from _session(identity or place.stem, lines, place)


def _session(identity: str, lines: list[tuple[int, dict[str, Any]]], place: Place) -> Iterator[RawEpisode]:
    last: dict[str, int] = {}
    first: dict[str, int] = {}
    for position, (_, value) in enumerate(lines):
        first.setdefault(value["uuid"], position)
        last[value["uuid"]] = position
    parents: list[int | None] = []
    before: dict[str, int] = {}
    for position, (_, value) in enumerate(lines):
        uuid, above = value["uuid"], value.get("parentUuid")
        if uuid in before:
            parents.append(before[uuid])  # a further part of the same message
        elif isinstance(above, str) and above in last and first[above] != first[uuid]:
            parents.append(last[above])
        else:
            parents.append(
                None if above is None and value.get("type") == "user" else position - 1 if position else None
            )
        before[uuid] = position
    ends = [value.get("type") != "system" or value.get("subtype") == "rewind" for _, value in lines]
    for _, value in lines:
        if value.get("type") == "system" and value.get("subtype") != "rewind":
            place.tally.skip(f"{word(value.get('subtype')) or 'system'} line")

    def replay(path: list[int], shared: set[int]) -> PathSteps:
        return _replay([(at not in shared, *lines[at]) for at in path], place if not shared else Place(place.stem))

    subagent = any(value.get("agentId") and value.get("isSidechain") is True for _, value in lines[:4])
    marks = ("subagent",) if subagent else ()
    yield from path_episodes(parents, ends, replay, identity, place, marks=marks, first=lines[0][0])


def _replay(lines: list[tuple[bool, int, dict[str, Any]]], place: Place) -> PathSteps:
    replayed = PathSteps(Dialog())
    dialog, extra = replayed.dialog, replayed.extra
    index = 0
    while index < len(lines):
        is_own, _, value = lines[index]
        index += 1
        if is_own and replayed.own is None:
            replayed.own = len(dialog.steps)
        kind = value.get("type")
        parts = entries(at(value, "message.parts"))
        if kind == "assistant":
            while index < len(lines) and lines[index][2]["uuid"] == value["uuid"]:
                more = lines[index][2]
                if more.get("type") != kind:
                    break
                parts = parts + entries(at(more, "message.parts"))
                value = {**value, **{key: item for key, item in more.items() if item}}
                index += 1
            _agent(dialog, parts, place)
            if isinstance(value.get("model"), str):
                extra.setdefault("model", value["model"])
        elif kind == "tool_result":
            _results(dialog, parts, value.get("toolCallResult"), place)
        elif kind == "user":
            _user(dialog, value, parts, place)
        for key, name in (("version", "version"), ("gitBranch", "git_branch")):
            if isinstance(value.get(key), str):
                extra.setdefault(name, value[key])
    return replayed


def _agent(dialog: Dialog, parts: list[dict[str, Any]], place: Place) -> None:
    texts: list[str | None] = []
    thoughts: list[str | None] = []
    calls: list[ToolCall] = []
    for part in parts:
        call = part.get("functionCall")
        if isinstance(call, dict):
            calls.append(ToolCall(word(call.get("id")) or None, word(call.get("name")) or "unknown", call.get("args")))
        elif isinstance(part.get("text"), str):
            (thoughts if part.get("thought") is True else texts).append(part["text"])
        elif part:
            place.tally.skip(f"{next(iter(part))} part")
    added = dialog.agent(join(*texts), calls, thought=join(*thoughts))
    if not added and any(thoughts):
        place.tally.lose("thought without an action")


def _results(dialog: Dialog, parts: list[dict[str, Any]], outcome: Any, place: Place) -> None:
    status = word(outcome.get("status")) if isinstance(outcome, dict) else ""
    orphans = dialog.orphans
    for part in parts:
        response = part.get("functionResponse")
        if not isinstance(response, dict):
            place.tally.lose("part beside a result")
            continue
        answer = response.get("response")
        failed = status in _FAILED
        if isinstance(answer, dict):
            failed = failed or bool(answer.get("error"))
            answer = next((answer[key] for key in ("output", "error") if answer.get(key) is not None), answer or None)
        if answer is None and isinstance(outcome, dict):
            answer = outcome.get("resultDisplay")
        identity = word(response.get("id")) or None
        step = _waiting(dialog, word(response.get("name"))) if identity is None else None
        if step is None:
            dialog.result(identity, as_text(answer), error=failed)
        else:
            step.observation, step.error = as_text(answer), failed
    if dialog.orphans > orphans:
        place.tally.lose("result without a call", dialog.orphans - orphans)


def _waiting(dialog: Dialog, name: str) -> RawStep | None:
    """The first call of that name in the last turn that has no result."""
    match: RawStep | None = None
    for step in reversed(dialog.steps):
        if step.turn != dialog.steps[-1].turn:
            break
        if step.kind == "call" and step.name == name and step.observation is None:
            match = step
    return match


def _user(dialog: Dialog, value: dict[str, Any], parts: list[dict[str, Any]], place: Place) -> None:
    subtype = word(value.get("subtype"))
    if subtype not in _ASKED:
        place.tally.skip(f"{subtype} message")
        return
    shown = at(value, "systemPayload.displayText")
    if isinstance(shown, str) and shown:
        dialog.user(shown)
        return
    texts = [as_text(part["text"]) for part in parts if "text" in part]
    kept = [text for text in texts if text and not text.lstrip().startswith(("<qwen:", "<system-reminder>"))]
    if len(kept) < len(parts):
        place.tally.skip("part that is not the user's word", len(parts) - len(kept))
    dialog.user(join(*kept))


FORMAT = Format("qwen-code", "Qwen Code sessions (JSON lines with `parts`)", "stream", detect, read)
