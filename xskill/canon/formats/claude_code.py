"""Claude Code sessions: JSON lines that form a forest, in a file of their own or in a project folder.

What a session file really holds (1.0 to 2.1): the lines of one message are several lines with one
``message.id``; results of parallel calls hang beside the path; rewinding leaves dead branches; compaction
writes lines again under their old ``uuid``; parents can be missing; older versions write subagents inline
(``isSidechain``), newer ones into ``SESSION/subagents/agent-*.jsonl``; a resumed file begins with a copy of
another session. Here: the path to the last message is the episode, an abandoned path is a branch of it with
``parent``, a subagent is an episode of its own, a copied head makes the other session the ``parent``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.claude_forest import SessionLine, Thread, threads
from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join, sorted_dumps
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.json_text import parse
from xskill.errors import BadRecord
from xskill.records import Parent

_BARE = frozenset({
    "summary", "file-history-snapshot", "queue-operation", "permission-mode", "mode", "last-prompt", "ai-title",
    "custom-title", "agent-name", "pr-link", "frame-link", "relocated", "worktree-state", "tag",
})  # fmt: skip
_INJECTED = re.compile(r"\s*(?:Caveat: The messages below|<(?:command-|local-command-|bash-|system-reminder|task-))")
_HEAD_LINES = 40


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str) or "." in value["type"]:
        return False
    if "sessionId" not in value:
        return value["type"] in ("summary", "file-history-snapshot") and ("leafUuid" in value or "messageId" in value)
    if "messages" in value or "projectHash" in value:
        return False
    return "uuid" in value or "parentUuid" in value or value["type"] in _BARE


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    for thread in threads(values, place):
        yield from _episodes(thread, place)


def detect_folder(path: Any) -> bool:
    """A project folder: its own JSON lines files are sessions."""
    for file in sorted(path.glob("*.jsonl"))[:3]:
        for line in _head(file):
            try:
                if detect(parse(line)[0]):
                    return True
            except BadRecord:
                continue
    return False


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    """All sessions of a project folder, and their subagents' files."""
    for file in sorted(path.glob("*.jsonl")) + sorted(path.glob("*/subagents/*.jsonl")):
        inner = Place(file.stem, file.name, file, place.tally, bad=place.bad)
        for episode in read(_values(file, inner), inner):
            episode.extra = {**episode.extra, "session_file": file.name}
            yield episode


def _values(file: Path, place: Place) -> Iterator[tuple[int, Any]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                yield number, parse(line)[0]
            except BadRecord as error:
                place.bad.append(error.at(str(file), number, raw=line))


def _head(file: Path) -> Iterator[bytes]:
    with file.open("rb") as lines:
        for _ in range(_HEAD_LINES):
            line = lines.readline(1 << 22)
            if not line:
                return
            yield line


def _episodes(thread: Thread, place: Place) -> Iterator[RawEpisode]:
    """The thread's episode, then its abandoned branches."""
    main: str | None = None
    n_branches = 0
    for path in thread.paths(place):
        dialog, own = _replay(path.lines, path.shared, place)
        if not dialog.steps or own == len(dialog.steps):
            place.tally.skip("session without an action" if path.is_main else "abandoned prompt")
            continue
        identity = _identity(thread, place)
        marks: tuple[str, ...] = ("subagent",) if thread.side else ()
        parent: Parent | None = None
        if main is None:
            main = identity
            if path.copied_from is not None:
                parent = _parent(path.copied_from, dialog, own)
        else:
            n_branches += 1
            parent, identity = _parent(main, dialog, own), f"{identity}/abandoned-{n_branches}"
            marks += ("abandoned",)
        if _headless(path.lines):
            marks += ("headless",)
        yield RawEpisode(
            steps=dialog.steps,
            id=identity,
            task=dialog.task,
            initial_observation=dialog.initial_observation,
            parent=parent,
            marks=marks,
            extra=_extra(thread, path.lines, place),
            record=path.lines[0].number,
        )


def _identity(thread: Thread, place: Place) -> str:
    if not thread.side:
        return thread.session or place.stem
    name = f"agent-{thread.agent}" if thread.agent else f"sidechain-{thread.index}"
    return f"{_parent_session(thread, place) or place.stem}/{name}"


def _parent_session(thread: Thread, place: Place) -> str | None:
    """Session that started a subagent: the folder above ``subagents/``, else what the lines say."""
    folder = place.path.resolve().parent if place.path is not None else None
    return folder.parent.name if folder is not None and folder.name == "subagents" else thread.session


def _parent(identity: str, dialog: Dialog, own: int) -> Parent:
    turns = sorted({step.turn or 0 for step in dialog.steps[:own]})
    return Parent(id=identity, turn=len(turns), step=None if own == len(turns) else own)


def _headless(lines: list[SessionLine]) -> bool:
    return any(
        str(line.value.get("entrypoint", "")).startswith("sdk") or line.value.get("promptSource") == "sdk"
        for line in lines[:5]
    )


def _extra(thread: Thread, lines: list[SessionLine], place: Place) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if thread.side:
        extra["parent_session"] = _parent_session(thread, place)
        meta = place.path.with_suffix(".meta.json") if place.path is not None and thread.agent else None
        if meta is not None and meta.is_file():
            try:
                described = parse(meta.read_bytes())[0]
            except (BadRecord, OSError):
                described = None
            if isinstance(described, dict) and described.get("agentType"):
                extra["agent_type"] = described["agentType"]
    for name, key in (("version", "version"), ("gitBranch", "git_branch"), ("entrypoint", "entrypoint")):
        value = next((line.value[name] for line in lines if isinstance(line.value.get(name), str)), None)
        if value:
            extra[key] = value
    models = (line.message.get("model") for line in lines if line.role == "assistant")
    model = next((m for m in models if isinstance(m, str)), None)
    if model:
        extra["model"] = model
    return extra


def _replay(lines: list[SessionLine], shared: set[int], place: Place) -> tuple[Dialog, int]:
    """Steps of a path; and the index of the first one that does not come from its shared lines."""
    dialog = Dialog()
    by_message: dict[str, list[SessionLine]] = {}
    lines = [line for line in lines if not _synthetic(line, place)]
    for line in lines:
        if line.role == "assistant" and line.message_id is not None:
            by_message.setdefault(line.message_id, []).append(line)
    own: int | None = None
    handled: set[str] = set()
    for line in lines:
        if own is None and line.number not in shared:
            own = len(dialog.steps)
        if line.role == "assistant":
            if line.message_id is None:
                _agent(dialog, [line], place)
            elif line.message_id not in handled:
                handled.add(line.message_id)
                _agent(dialog, by_message[line.message_id], place)
        elif line.role == "tool_use":
            dialog.agent(None, [ToolCall(None, str(line.value.get("name") or "unknown"), line.value.get("input"))])
        elif line.role == "tool_result":
            _old_result(dialog, line)
        else:
            _user(dialog, line, place)
    if dialog.orphans:
        place.tally.skip("result without a call", dialog.orphans)
    return dialog, len(dialog.steps) if own is None else own


def _old_result(dialog: Dialog, line: SessionLine) -> None:
    """A result that is a line of its own."""
    contents = (line.value.get("output"), line.value.get("content"), line.message.get("content"))
    identity = line.value.get("tool_use_id") or line.message.get("tool_use_id")
    dialog.result(
        identity if isinstance(identity, str) else None,
        as_text(next((content for content in contents if content is not None), None)),
        error=line.value.get("is_error") is True,
    )


def _synthetic(line: SessionLine, place: Place) -> bool:
    """Whether the program itself wrote the message (an API error, an interruption)."""
    if line.role != "assistant":
        return False
    if not line.value.get("isApiErrorMessage") and line.message.get("model") != "<synthetic>":
        return False
    place.tally.skip("message made by the program")
    return True


def _agent(dialog: Dialog, lines: list[SessionLine], place: Place) -> None:
    texts: list[str | None] = []
    thoughts: list[str | None] = []
    calls: list[ToolCall] = []
    before: set[str] = set()  # parts of the lines before: some writers repeat a message as it grows
    for line in lines:
        content = line.message.get("content")
        parts = [(part, sorted_dumps(part)) for part in (content if isinstance(content, list) else [content])]
        for part, spelling in parts:
            if spelling in before:
                place.tally.skip("part written again")
                continue
            if not isinstance(part, dict):
                texts.append(as_text(part))
                continue
            kind = part.get("type")
            if kind == "thinking":
                thoughts.append(as_text(part.get("thinking")))
            elif kind in ("tool_use", "server_tool_use"):
                call = read_call(part, f"line {line.number}")
                calls.append(ToolCall(call.id, call.name, call_arguments(call.arguments)))
            elif kind in ("redacted_thinking", "fallback"):
                place.tally.skip(f"{kind} part")
            else:
                texts.append(as_text([part]))
        before.update(spelling for _, spelling in parts)
    dialog.agent(join(*texts), calls, thought=join(*thoughts))


def _user(dialog: Dialog, line: SessionLine, place: Place) -> None:
    content = line.message.get("content")
    texts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            identity = part.get("tool_use_id")
            dialog.result(
                identity if isinstance(identity, str) else None,
                as_text(part.get("content")),
                error=part.get("is_error") is True,
            )
        elif part is not None:
            texts.append(as_text([part]) or "")
    text = join(*texts)
    if text is None:
        return
    if line.value.get("isCompactSummary"):
        place.tally.skip("summary written by compaction")
    elif line.value.get("isMeta") or _INJECTED.match(text):
        place.tally.skip("message injected by the program")
    else:
        dialog.user(text)


FORMAT = Format("claude-code", "Claude Code sessions (JSON lines), subagent files too", "stream", detect, read)
FOLDER = Format(
    "claude-code-project", "a Claude Code project folder: all its sessions", "folder", detect_folder, read_folder
)
