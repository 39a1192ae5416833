"""The forest of a Claude Code file: which lines make one conversation, and which of its paths is the real one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.episode import Place
from xskill.canon.reading.fields import fail, word

_ROLES = frozenset({"user", "assistant", "tool_use", "tool_result"})
MAX_BRANCHES = 256
"""Abandoned branches of one conversation that are kept; each repeats what it shares with the main path."""


@dataclass(slots=True, eq=False)
class SessionLine:
    """One line that has a place in a conversation."""

    number: int
    value: dict[str, Any]
    session: str | None
    role: str
    """``user``, ``assistant``, an old top-level ``tool_use`` or ``tool_result``; empty: only a link of the chain."""
    parent: SessionLine | None = None

    @property
    def message(self) -> dict[str, Any]:
        message = self.value.get("message")
        return message if isinstance(message, dict) else {}

    @property
    def message_id(self) -> str | None:
        identity = self.message.get("id")
        return identity if isinstance(identity, str) else None

    def parts(self, kind: str) -> list[dict[str, Any]]:
        """Content parts of a kind."""
        content = self.message.get("content")
        if not isinstance(content, list):
            return []
        return [part for part in content if isinstance(part, dict) and part.get("type") == kind]


@dataclass(slots=True)
class SessionPath:
    """Lines of one path in file order; ``shared`` holds the numbers of those that belong to another episode."""

    lines: list[SessionLine]
    shared: set[int]
    is_main: bool
    copied_from: str | None = None
    """Session that the head of the main path was copied from."""


@dataclass(slots=True)
class Thread:
    """One conversation: the main one of a session, or that of a subagent."""

    session: str | None
    side: bool
    agent: str | None
    index: int
    lines: list[SessionLine] = field(default_factory=list)

    def paths(self, place: Place) -> Iterator[SessionPath]:
        """The path to the last message, then the abandoned ones in the order of their last lines."""
        order = {line.number: position for position, line in enumerate(self.lines)}
        parents = [self._message_before(line, order, position) for position, line in enumerate(self.lines)]
        covered: set[int] = set()
        listed: list[SessionPath] = []
        for position in range(len(self.lines) - 1, -1, -1):
            if position in covered:
                continue
            if len(listed) > MAX_BRANCHES:
                place.tally.skip("abandoned branch")
                break
            on_path = self._with_companions(_ancestors(parents, position))
            shared = {self.lines[p].number for p in on_path & covered}
            covered |= on_path
            listed.append(SessionPath([self.lines[p] for p in sorted(on_path)], shared, is_main=not listed))
        if listed:
            self._mark_copied(listed[0])
            yield listed[0]
            yield from reversed(listed[1:])

    def _message_before(self, line: SessionLine, order: dict[int, int], position: int) -> int | None:
        """Position of the message that a line answers; without a known parent, the one before it in the file."""
        parent = line.parent
        while parent is not None and parent.number not in order:
            parent = parent.parent
        if parent is not None:
            return order[parent.number]
        return position - 1 if position else None

    def _with_companions(self, on_path: set[int]) -> set[int]:
        """Add what hangs beside a path and belongs to its turns: further lines of a message, results of its calls."""
        lines = self.lines
        messages = {line.message_id for p in on_path if (line := lines[p]).role == "assistant"} - {None}
        numbers = {lines[p].number for p in on_path}
        calls = {word(part.get("id")) for p in on_path for part in lines[p].parts("tool_use")} | {""}
        for position, line in enumerate(lines):
            if position in on_path:
                continue
            if line.role == "assistant" and line.message_id in messages:
                calls |= {word(part.get("id")) for part in line.parts("tool_use")}
            elif line.role == "user":
                results = line.parts("tool_result")
                answered = {word(part.get("tool_use_id")) for part in results}
                beside = "" not in answered or (line.parent is not None and line.parent.number in numbers)
                if not results or not beside or not answered <= calls:
                    continue
            else:
                continue
            on_path.add(position)
            numbers.add(line.number)
        return on_path

    def _mark_copied(self, path: SessionPath) -> None:
        """The head of a resumed or forked session names the one that it was copied from."""
        for line in path.lines:
            origin = line.value.get("forkedFrom")
            forked = _text(origin.get("sessionId")) if isinstance(origin, dict) else None
            if line.session == self.session and forked in (None, self.session):
                return
            path.shared.add(line.number)
            path.copied_from = forked or line.session


def threads(values: Iterable[tuple[int, Any]], place: Place) -> list[Thread]:
    """Sort the lines of a file into conversations, in the order of their first lines."""
    by_uuid: dict[str, SessionLine] = {}
    seen: dict[tuple[str, str], SessionLine] = {}
    gone: set[str] = set()
    seen_uuids: Counter[str] = Counter()
    lines: list[SessionLine] = []
    for number, value in values:
        if not isinstance(value, dict):
            place.bad.append(fail("", "an object", value).at(place.file or "-", number))
            continue
        kind = value.get("type")
        role = kind if isinstance(kind, str) and kind in _ROLES else ""
        uuid = value.get("uuid")
        line = SessionLine(number, value, _text(value.get("sessionId")), role)
        for key in ("supersedesUuids", "retractedMessageUuids"):
            listed = value.get(key)
            if isinstance(listed, list):
                gone.update(one for one in listed if isinstance(one, str))
        if not isinstance(uuid, str):
            place.tally.skip(f"{kind} line")
            continue
        if role:
            content = sorted_dumps(line.message.get("content", value.get("input", value.get("output"))))
            if (uuid, content) in seen:
                place.tally.skip("line written twice")
                continue
            seen[uuid, content] = line
            seen_uuids[uuid] += 1
        else:
            place.tally.skip(f"{kind} line")
        parent = value.get("parentUuid") or value.get("logicalParentUuid")
        line.parent = by_uuid.get(parent) if isinstance(parent, str) else None
        if role:
            by_uuid.setdefault(uuid, line)
        else:
            by_uuid[uuid] = line  # hooks write one uuid again and again: what follows hangs on the last of them
        lines.append(line)
    return _sorted_into_threads(lines, {uuid for uuid in gone if seen_uuids[uuid] == 1}, place)


def _sorted_into_threads(lines: list[SessionLine], gone: set[str], place: Place) -> list[Thread]:
    own = place.stem if any(line.session == place.stem for line in lines) else None
    by_key: dict[Any, Thread] = {}
    callers: dict[str, Any] = {}
    renamed: dict[Any, Any] = {}
    roots: dict[int, SessionLine] = {}
    last_root: dict[str | None, SessionLine] = {}
    for line in lines:
        side = line.value.get("isSidechain") is True
        agent = _text(line.value.get("agentId"))
        session = line.session if own is None or side else own
        key: Any = session
        if side and agent:
            key = (session, agent)
        elif side:
            root = roots.get(line.parent.number) if line.parent is not None else None
            if root is None:
                root = line if line.role == "user" or session not in last_root else last_root[session]
            roots[line.number] = last_root[session] = root
            key = (session, root.number)
        if not line.role:
            continue
        if line.value["uuid"] in gone:
            place.tally.skip("retracted message")
            continue
        if not side:
            callers.update((word(part.get("id")), key) for part in line.parts("tool_use"))
            answered = {callers.get(word(part.get("tool_use_id")), key) for part in line.parts("tool_result")}
            if line.role == "user" and len(answered) == 1 and key not in by_key and answered != {key}:
                (renamed[key],) = answered  # the session's id changed between a call and its result
            key = renamed.get(key, key)
        if key not in by_key:
            index = sum(1 for thread in by_key.values() if thread.side) + 1
            by_key[key] = Thread(session, side, agent if side else None, index if side else 0)
        by_key[key].lines.append(line)
    return list(by_key.values())


def _ancestors(parents: list[int | None], position: int) -> set[int]:
    path = {position}
    parent = parents[position]
    while parent is not None:
        path.add(parent)
        parent = parents[parent]
    return path


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
