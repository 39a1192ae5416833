"""``codex exec --json``: JSON lines ``thread.started``, ``turn.*``, ``item.started|updated|completed``.

An item is written when it starts, when it grows and when it ends: the last line of it holds. Item ids can begin
anew with every turn. The prompt is not in the stream, so the task is null.

Outcome: none; how the last turn ended is the claim. Lost, and counted: todo lists, notices, usage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, fail, word

_ITEMS = frozenset({"item.started", "item.updated", "item.completed"})
_HEADS = frozenset({"thread.started", "session.created"})
_TURNS = frozenset({"turn.started", "turn.completed", "turn.failed"})
_CALLS = frozenset({"command_execution", "mcp_tool_call", "file_change", "web_search", "collab_tool_call", "tool_call"})
_TEXTS = frozenset({"agent_message", "assistant_message"})


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or "data" in value:
        return False
    kind = word(value.get("type"))
    if kind in _ITEMS:
        return isinstance(value.get("item"), dict)
    if kind in _HEADS:
        return "thread_id" in value or "session_id" in value
    return kind in _TURNS and value.keys() <= {"type", "usage", "error"}


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    thread: _ExecThread | None = None
    for number, value in values:
        if not isinstance(value, dict):
            place.bad.append(fail("", "an event", value).at(place.file or "-", number))
            continue
        kind = word(value.get("type"))
        if kind in _HEADS:
            identity = word(value.get("thread_id")) or word(value.get("session_id")) or None
            if thread is not None and identity is not None and identity == thread.identity:
                place.tally.skip("repeated thread.started line")
                continue
            if thread is not None:
                yield from thread.episode(place)
            thread = _ExecThread(identity, number)
        else:
            if thread is None:
                thread = _ExecThread(None, number)
            thread.add(kind, value, place)
    if thread is not None:
        yield from thread.episode(place)


@dataclass(slots=True)
class _Item:
    value: dict[str, Any]
    group: int
    """Calls that ran at the same time share one."""
    turn: int

    @property
    def kind(self) -> str:
        return word(self.value.get("type")) or word(self.value.get("item_type"))


@dataclass(slots=True)
class _ExecThread:
    identity: str | None
    number: int
    items: list[_Item] = field(default_factory=list)
    by_id: dict[str, _Item] = field(default_factory=dict)
    running: dict[str, _Item] = field(default_factory=dict)
    groups: int = 0
    turns: int = 0
    claim: str | None = None

    def add(self, kind: str, value: dict[str, Any], place: Place) -> None:
        """One event."""
        item = value.get("item")
        if kind in _ITEMS and isinstance(item, dict):
            self._item(item, kind == "item.completed")
        elif kind == "turn.started":
            self.by_id = {}
            self.groups += 1
            self.turns += 1
        elif kind in _TURNS:
            self.claim = kind
            place.tally.skip(f"{kind} line")
        else:
            place.tally.skip(f"{kind} line")

    def _item(self, value: dict[str, Any], ended: bool) -> None:
        identity = word(value.get("id"))
        seen = self.by_id.get(identity) or self.running.get(identity)
        if identity and seen is not None and seen.kind == (word(value.get("type")) or word(value.get("item_type"))):
            seen.value = value
        else:
            self.groups += not self.running
            seen = _Item(value, self.groups, self.turns)
            self.items.append(seen)
        self.by_id[identity] = seen
        if seen.kind in _CALLS and not ended:
            self.running[identity] = seen
        else:
            self.running.pop(identity, None)

    def episode(self, place: Place) -> Iterator[RawEpisode]:
        """The thread as an episode."""
        dialog = self._dialog(place)
        if not dialog.steps:
            place.tally.skip("thread without an action")
            return
        yield RawEpisode(
            steps=dialog.steps, id=self.identity, claim=self.claim, marks=("headless",), record=self.number
        )

    def _dialog(self, place: Place) -> Dialog:
        dialog = Dialog()
        thoughts: list[str | None] = []
        texts: list[str | None] = []
        index = 0
        while index < len(self.items):
            item = self.items[index]
            index += 1
            if item.kind == "reasoning":
                thoughts.append(as_text(item.value.get("text")))
            elif item.kind in _TEXTS:
                texts.append(as_text(item.value.get("text")))
                if self._speaks(index):
                    dialog.agent(join(*texts), thought=join(*thoughts))
                    texts, thoughts = [], []
            elif item.kind in _CALLS:
                together = [item]
                while index < len(self.items) and self.items[index].group == item.group:
                    if self.items[index].kind in _CALLS:
                        together.append(self.items[index])
                    else:
                        place.tally.skip(f"{self.items[index].kind} item beside calls")
                    index += 1
                calls = [ToolCall(None, *_call(one)) for one in together]
                for step, one in zip(dialog.agent(join(*texts), calls, thought=join(*thoughts)), together, strict=True):
                    step.observation, step.error = _outcome(one)
                texts, thoughts = [], []
            else:
                place.tally.skip(f"{item.kind} item")
        dialog.agent(join(*texts), thought=join(*thoughts))
        return dialog

    def _speaks(self, index: int) -> bool:
        """Whether what the agent just said stands alone: another turn follows, or nothing of the agent's."""
        if index == len(self.items) or self.items[index].turn != self.items[index - 1].turn:
            return True
        return self.items[index].kind not in (_CALLS | {"reasoning"} | _TEXTS)


def _call(item: _Item) -> tuple[str, Any]:
    value = item.value
    if item.kind == "command_execution":
        return "shell", {"command": value.get("command")}
    if item.kind == "file_change":
        return "apply_patch", {"changes": value.get("changes")}
    if item.kind == "web_search":
        return "web_search", {"query": value.get("query")}
    name = word(value.get("tool")) or word(value.get("name")) or item.kind
    if item.kind == "collab_tool_call":
        return name, {"prompt": value.get("prompt"), "receivers": value.get("receiver_thread_ids")}
    server = word(value.get("server"))
    return (f"{server}.{name}" if server else name), call_arguments(value.get("arguments"))


def _outcome(item: _Item) -> tuple[str | None, bool]:
    """What came back, and whether the call failed."""
    value = item.value
    status = word(value.get("status"))
    failed = status in ("failed", "declined") or bool(value.get("error"))
    if item.kind == "command_execution":
        code = value.get("exit_code")
        output = as_text(value.get("aggregated_output"))
        if code is None and not output:
            return None, failed
        return output, failed or code not in (None, 0)
    result = as_mapping(value.get("result"))
    text = as_text(result.get("content") or result.get("structured_content") or result or None)
    if text is None and value.get("error"):
        text = as_text(at(value, "error.message") or value["error"])
    return text, failed or result.get("isError") is True or result.get("is_error") is True


FORMAT = Format("codex-exec", "`codex exec --json` event streams", "stream", detect, read)
