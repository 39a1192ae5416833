"""Cline's ``ui_messages.json``: what the panel showed, one list of ``{ts, type: say|ask, say|ask: KIND, text}``.

Only what was shown is there: a file that was read has its path and not its content.

Outcome: none; ``completion_result`` is the claim. Lost, and counted: drafts, requests, other notices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.cline import task_identity
from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join, loads_maybe
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import as_mapping, items, mapping, word
from xskill.canon.reading.session_tree import Repeats

_OUTPUTS = frozenset({"command_output", "mcp_server_response", "browser_action_result", "subagent_result"})
_ERRORS = frozenset({"error", "diff_error", "clineignore_error", "rooignore_error"})
_ACTIONS = frozenset({"tool", "command", "use_mcp_server", "browser_action_launch", "browser_action", "use_subagents"})
_TALK = frozenset({"followup", "plan_mode_respond", "act_mode_respond"})
_SHOWN = ("searchFiles", "listFiles", "listCodeDefinitionNames", "codebaseSearch", "webFetch", "webSearch")
"""Tools whose ``content`` is what came back."""


def detect(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict)
            and one.get("type") in ("say", "ask")
            and isinstance(one.get(one["type"]), str)
            and "ts" in one
            for one in value[:8]
        )
    )


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    repeats = Repeats()
    messages = [mapping(message, f"[{index}]") for index, message in enumerate(items(record, ""))]
    once = [message for message in messages if not repeats.again(message)]
    if len(once) < len(messages):
        place.tally.skip("message written twice", len(messages) - len(once))
    messages = once
    panel = _Panel(place)
    for index, message in enumerate(messages):
        after = messages[index + 1] if index + 1 < len(messages) else {}
        if message.get("partial") is True and _kind(after) == _kind(message):
            place.tally.skip("draft of the message that follows")
        else:
            panel.add(_kind(message), as_text(message.get("text")) or "")
    panel.speak()
    dialog = panel.dialog
    if not dialog.steps:
        place.tally.lose("session without an action")
        return
    yield RawEpisode(
        steps=dialog.steps,
        id=task_identity(place),
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        claim=panel.claim,
    )


def _kind(message: dict[str, Any]) -> str:
    return word(message.get(word(message.get("type")) or "say"))


class _Panel:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.dialog = Dialog()
        self.last: RawStep | None = None
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.shown: set[tuple[str, str]] = set()
        self.claim: str | None = None

    def add(self, kind: str, text: str) -> None:
        """One message of the panel."""
        if kind == "api_req_started":
            self.speak()
            self.shown.clear()
            self.place.tally.skip("api_req_started message")
        elif (kind in _ACTIONS or kind == "completion_result") and (kind, text) in self.shown:
            self.place.tally.skip("message shown twice")
        elif kind in ("task", "user_feedback"):
            self.speak()
            self.dialog.user(text)
        elif kind == "text":
            self.texts.append(text)
        elif kind == "reasoning":
            self.thoughts.append(text)
        elif kind in _ACTIONS:
            self.shown.add((kind, text))
            self._call(*_action(kind, text))
        elif kind in _OUTPUTS and self.last is not None:
            self.last.observation = "\n".join(filter(None, (self.last.observation, text)))
        elif kind in _ERRORS and self.last is not None and not self.last.error:
            self.last.error = True
            self.last.observation = join(self.last.observation, text)
        elif kind == "completion_result" and text:
            self.shown.add((kind, text))
            self.claim = text
            self._call("attempt_completion", {"result": text}, None)
        elif kind in _TALK:
            asked = as_mapping(loads_maybe(text))
            self.speak()
            self.dialog.agent(as_text(asked.get("question") or asked.get("response")) or text)
            self.last = None
        else:
            self.place.tally.skip(f"{kind} message")

    def speak(self) -> None:
        """What the agent said without acting is a step of its own."""
        if self.texts:
            self.dialog.agent("\n\n".join(self.texts), thought=join(*self.thoughts))
            self.texts, self.thoughts, self.last = [], [], None

    def _call(self, name: str, arguments: Any, observation: str | None) -> None:
        thought = join(*self.thoughts)
        self.last = self.dialog.agent(join(*self.texts), [ToolCall(None, name, arguments)], thought=thought)[0]
        self.last.observation = observation
        self.texts, self.thoughts = [], []


def _action(kind: str, text: str) -> tuple[str, Any, str | None]:
    """Name, arguments, and what came back where the message holds it."""
    if kind == "command":
        return "execute_command", {"command": text}, None
    shown = loads_maybe(text)
    if not isinstance(shown, dict):
        return ("browser_action" if kind.startswith("browser") else kind), {"input": text}, None
    if kind == "use_mcp_server":
        arguments = loads_maybe(shown.get("arguments"))
        name = word(shown.get("toolName")) or "access_mcp_resource"
        return name, arguments if isinstance(arguments, dict) else {"input": arguments, "uri": shown.get("uri")}, None
    name = word(shown.pop("tool", None)) or ("browser_action" if kind.startswith("browser") else kind)
    back: str | None = None
    if name.startswith(_SHOWN):
        back = as_text(shown.pop("content", None))
    elif name == "readFile":
        shown.pop("content", None)  # its absolute path
    return name, shown, back


FORMAT = Format("cline-ui", "Cline and Roo Code UI messages", "record", detect, read, whole=True)
