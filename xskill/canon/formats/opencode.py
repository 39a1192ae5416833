"""OpenCode sessions: ``opencode export`` documents, and the storage folder they are made from.

An export is ``{info, messages: [{info, parts}]}``; the folder holds ``session/*/ID.json``, ``message/SESSION/*.json``
and ``part/MESSAGE/*.json`` (older: parts lie flat in ``part/``). A part of type ``tool`` is a call and its result.

Outcome: none. What was reverted is a branch. Lost, and counted: files, patches, snapshots, synthetic texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, entry, fail, items, mapping, word
from xskill.canon.reading.json_text import parse
from xskill.canon.reading.session_tree import PathSteps, one_path
from xskill.errors import BadRecord

_FAILED = frozenset({"error", "failed", "failure"})
_DONE = frozenset({"completed", "success"}) | _FAILED
_MAX_FILE = 1 << 28
_GROWING = re.compile(r"prt_[0-9a-f]{10}")


Message = tuple[dict[str, Any], list[dict[str, Any]]]


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("info"), dict) or "id" not in value["info"]:
        return False
    messages = value.get("messages")
    return isinstance(messages, list) and all(
        isinstance(one, dict) and isinstance(one.get("info"), dict) and isinstance(one.get("parts"), list)
        for one in messages[:3]
    )


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    messages: list[Message] = []
    for index, one in enumerate(items(record.get("messages"), "messages")):
        one = mapping(one, f"messages[{index}]")
        parts = [mapping(part, f"messages[{index}].parts") for part in items(one.get("parts"), "parts")]
        messages.append((mapping(one.get("info"), f"messages[{index}].info"), parts))
    yield from _session(mapping(record.get("info"), "info"), messages, place)


def detect_folder(path: Any) -> bool:
    return any(
        (root / "session").is_dir() and (root / "message").is_dir() and next(_files(root / "session"), None) is not None
        for root in (path, path / "storage")
    )


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    root = path if (path / "session").is_dir() else path / "storage"
    messages = _by_owner(root / "message", "sessionID", place)
    parts = _by_owner(root / "part", "messageID", place)
    for child in sorted(root.iterdir()):
        if child.name not in ("session", "message", "part") and child.is_dir():
            place.tally.skip(f"file of {child.name}", sum(1 for _ in _files(child)))
    sessions = [value for _, value in _loaded(root / "session", place)]
    sessions.sort(key=lambda one: (_time(one), word(one.get("id"))))
    for info in sessions:
        mine = messages.pop(word(info.get("id")), [])
        turns = [(one, parts.pop(word(one.get("id")), [])) for one in mine]
        try:
            yield from _session(info, turns, place)
        except BadRecord as error:
            place.bad.append(error.at(f"session {info.get('id')}"))
    for name, left in (("message of no session", messages), ("part of no message", parts)):
        if left:
            place.tally.skip(name, sum(map(len, left.values())))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(folder.glob("*.json"))
        yield from sorted(folder.glob("*/*.json"))


def _loaded(folder: Path, place: Place) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in _files(folder):
        try:
            if file.stat().st_size > _MAX_FILE:
                raise BadRecord(f"more than {_MAX_FILE >> 20} MiB")
            value = parse(file.read_bytes())[0]
            if not isinstance(value, dict):
                raise fail("", "an object", value)
        except (BadRecord, OSError) as error:
            bad = error if isinstance(error, BadRecord) else BadRecord(str(error.strerror))
            place.bad.append(bad.at(str(file)))
            continue
        yield file, value


def _by_owner(folder: Path, key: str, place: Place) -> dict[str, list[dict[str, Any]]]:
    """Records by what they belong to: their field says it, else the folder they lie in."""
    parsed: dict[str, list[dict[str, Any]]] = {}
    for file, value in _loaded(folder, place):
        owner = word(value.get(key)) or (file.parent.name if file.parent != folder else "")
        parsed.setdefault(owner, []).append(value)
    return parsed


def _time(value: dict[str, Any]) -> float:
    for path in ("time.created", "time.start", "state.time.start"):
        moment = at(value, path)
        if isinstance(moment, (int, float)) and not isinstance(moment, bool):
            return float(moment)
    return float("inf")


def _session(info: dict[str, Any], messages: list[Message], place: Place) -> Iterator[RawEpisode]:
    """The session; what was undone in it is a branch."""
    if all(_time(one) != float("inf") for one, _ in messages):
        messages = sorted(messages, key=lambda pair: (_time(pair[0]), word(pair[0].get("id"))))
    undone = at(info, "revert.messageID")
    cut = next((i for i, (one, _) in enumerate(messages) if undone and one.get("id") == undone), len(messages))
    extra: dict[str, Any] = {}
    models = (one.get("modelID") or at(one, "model.modelID") for one, _ in messages if one.get("role") == "assistant")
    for key, value in (("title", info.get("title")), ("version", info.get("version")), ("model", next(models, None))):
        if isinstance(value, str) and value:
            extra[key] = value
    parent = word(info.get("parentID"))
    if parent:
        extra["parent_session"] = parent

    identity = word(info.get("id")) or f"{place.stem}-{place.number}"
    marks = ("subagent",) if parent else ()
    dialog = Dialog()
    _replay(dialog, messages[:cut], place)
    yield from one_path(PathSteps(dialog, 0, extra=extra), identity, place, marks=marks)
    if cut < len(messages):
        undone_too = Dialog()
        _replay(undone_too, messages[:cut], Place(place.stem))
        own = len(undone_too.steps)
        _replay(undone_too, messages[cut:], place)
        kept = bool(dialog.steps)
        branch = PathSteps(undone_too, own, extra=dict(extra))
        yield from one_path(branch, identity, place, marks=marks, left=1, has_main=kept)


def _replay(dialog: Dialog, messages: list[Message], place: Place) -> None:
    seen: set[str] = set()
    for one, parts in messages:
        identity = word(one.get("id"))
        if identity and identity in seen:
            place.tally.skip("message written twice")
            continue
        seen.add(identity)
        role = word(one.get("role"))
        if role == "user":
            _user(dialog, _in_order(_once(parts, place)), place)
        elif role == "assistant":
            _agent(dialog, one, _in_order(_once(parts, place)), place)
        else:
            place.tally.lose(f"message of role {role}")


def _once(parts: list[dict[str, Any]], place: Place) -> list[dict[str, Any]]:
    """Parts by id, the last word of each."""
    last: dict[Any, dict[str, Any]] = {}
    for index, part in enumerate(parts):
        identity = word(part.get("id")) or index
        if identity in last:
            place.tally.skip("part written twice")
        last[identity] = part
    return list(last.values())


def _in_order(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts by their ids, which grow with time; other writers' parts by their times, as far as they have any."""
    if all(_GROWING.match(word(part.get("id"))) for part in parts):
        return sorted(parts, key=lambda part: word(part["id"]))
    times: list[float] = []
    for part in parts:
        moment = _time(part)
        times.append(moment if moment != float("inf") else times[-1] if times else 0.0)
    return [part for _, _, part in sorted(zip(times, range(len(parts)), parts, strict=True), key=lambda one: one[:2])]


def _user(dialog: Dialog, parts: list[dict[str, Any]], place: Place) -> None:
    texts: list[str | None] = []
    for part in parts:
        if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored"):
            texts.append(as_text(part.get("text")))
        else:
            place.tally.skip("synthetic text" if part.get("type") == "text" else f"{word(part.get('type'))} part")
    dialog.user(join(*texts))


def _agent(dialog: Dialog, info: dict[str, Any], parts: list[dict[str, Any]], place: Place) -> None:
    """A message is one loop of the model: its calls up to a ``step-finish`` make a turn, a text at the end talks."""
    texts: list[str | None] = []
    thoughts: list[str | None] = []
    calls: list[dict[str, Any]] = []

    def flush() -> None:
        added = dialog.agent(join(*texts), [_call(part) for part in calls], thought=join(*thoughts))
        for step, part in zip(added, calls, strict=False):
            step.observation, step.error = _outcome(part)
        if not added and any(thoughts):
            place.tally.lose("thought without an action")
        texts.clear()
        thoughts.clear()
        calls.clear()

    for part in parts:
        kind = word(part.get("type"))
        if kind == "tool":
            calls.append(part)
        elif kind == "text" and not part.get("synthetic") and not part.get("ignored"):
            if calls:
                flush()
            texts.append(as_text(part.get("text")))
        elif kind == "reasoning":
            if calls:
                flush()
            thoughts.append(as_text(part.get("text")))
        else:
            if kind == "step-start":
                flush()
            place.tally.skip("synthetic text" if kind == "text" else f"{kind or 'unknown'} part")
    before = len(dialog.steps)
    flush()
    failure = info.get("error")
    if failure:
        name = word(as_mapping(failure).get("name")) or "error"
        last = dialog.steps[-1] if len(dialog.steps) > before else None
        if last is not None and last.kind == "respond":
            last.extra = {**(last.extra or {}), "stopped": name}
        else:
            place.tally.skip(f"message that ended with {name}")


def _call(part: dict[str, Any]) -> ToolCall:
    return ToolCall(None, word(part.get("tool")) or "unknown", at(part, "state.input"))


def _outcome(part: dict[str, Any]) -> tuple[str | None, bool]:
    """What came back, and whether the call failed; a call that was still running has nothing."""
    state = as_mapping(part.get("state"))
    status = word(state.get("status"))
    if status not in _DONE:
        return None, False
    code = at(state, "metadata.exit")
    failed = status in _FAILED or (isinstance(code, (int, float)) and code != 0)
    text = as_text(state.get("error")) if status in _FAILED and state.get("error") else as_text(state.get("output"))
    return text, failed


FORMAT = Format("opencode", "OpenCode sessions (`opencode export`)", "record", detect, read)
FOLDER = Format(
    "opencode-storage", "an OpenCode storage folder: all its sessions", "folder", detect_folder, read_folder
)
