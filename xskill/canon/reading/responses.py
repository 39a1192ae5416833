"""Items of the OpenAI Responses API → a :class:`Dialog`; Codex and the Agents SDK write the same items.

Reasoning, text and calls of one response are siblings: they are gathered until the response ends (a
result, a user message, or an explicit :meth:`Items.end`), and make one turn.
"""

from __future__ import annotations

import re
from typing import Any

from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join, loads_maybe
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import RawStep, SourceTally

_EXIT = re.compile(r"\s*Exit code: (-?\d+)")
_HEAD = re.compile(
    r"(?:\[?Command:(?:(?!\nOutput:)[\s\S]){0,20000}?\n\]?)?(?:Chunk ID|Wall time)[^\n]*\n"
    r"(?:(?!Output:)[^\n]*\n){0,6}?Process exited with code (-?\d+)"
)
_CALLS = {
    "function_call": ("name", "arguments"),
    "custom_tool_call": ("name", "input"),
    "tool_search_call": ("tool_search", "arguments"),
    "web_search_call": ("web_search", "action"),
    "local_shell_call": ("local_shell", "action"),
    "file_search_call": ("file_search", "queries"),
    "computer_call": ("computer", "action"),
    "code_interpreter_call": ("code_interpreter", "code"),
    "mcp_call": ("name", "arguments"),
    "image_generation_call": ("image_generation", "prompt"),
}
"""Item type → (key of the tool's name, or the name itself; key of its arguments)."""


class Items:
    """Feeds items into a dialog, in order."""

    def __init__(self, dialog: Dialog, tally: SourceTally) -> None:
        self.dialog = dialog
        self.tally = tally
        self._thoughts: list[str | None] = []
        self._texts: list[str | None] = []
        self._calls: list[ToolCall] = []
        self._answers: list[tuple[str, str | None, bool]] = []
        self._written: dict[str, tuple[str, Any]] = {}

    def add(self, item: dict[str, Any]) -> None:
        """One item."""
        kind = item.get("type") or ("message" if "role" in item else None)
        if kind == "message":
            self._message(item)
        elif kind == "reasoning":
            self.reason(item)
        elif isinstance(kind, str) and kind in _CALLS:
            self._call(kind, item)
        elif kind == "tool_call":
            self.call(*read_call(item))
        elif kind == "tool_result":
            self._tool_result(item)
        elif isinstance(kind, str) and kind.endswith(("_output", "call_output")):
            self.result(item)
        else:
            self.tally.lose(f"{kind} item")

    def reason(self, item: dict[str, Any]) -> None:
        """Reasoning, where it is not encrypted."""
        self._thoughts.append(as_text(item.get("summary") or None))
        self._thoughts.append(as_text(item.get("content") or None))

    def result(self, item: dict[str, Any]) -> RawStep | None:
        """What a call returned."""
        self.end()
        identity = item.get("call_id") or item.get("id")
        text, error = output_text(item.get("output", item.get("tools")))
        failed = error or item.get("status") in ("failed", "incomplete")
        step = self.dialog.result(identity if isinstance(identity, str) else None, text, error=failed)
        if step is None:
            self.tally.lose("result without a call")
        return step

    def end(self) -> None:
        """The response is over: what was gathered becomes a turn."""
        if self._calls or self._texts:
            self.dialog.agent(join(*self._texts), self._calls, thought=join(*self._thoughts))
            for identity, text, error in self._answers:
                self.dialog.result(identity, text, error=error)
            self._thoughts, self._texts, self._calls, self._answers = [], [], [], []

    def call(self, identity: str | None, name: str, arguments: Any) -> None:
        """A call of the response at hand; one that was written already, with the same id, counts once."""
        if identity is not None:
            if self._written.get(identity) == (name, arguments):
                self.tally.skip("call written twice")
                return
            self._written[identity] = (name, arguments)
        self._calls.append(ToolCall(identity, name, arguments))

    def _tool_result(self, item: dict[str, Any]) -> None:
        """A result as forks of Codex write it: an object with what the command printed and how it ended."""
        self.end()
        result, name = item.get("result", item.get("output")), item.get("name")
        printed = result if isinstance(result, dict) else {}
        text = join(*(as_text(printed[key]) for key in ("stdout", "stderr", "output") if printed.get(key)))
        failed = printed.get("exitCode", printed.get("exit_code")) not in (None, 0) or item.get("is_error") is True
        identity = item.get("call_id") or item.get("tool_call_id") or item.get("id")
        text = text if printed.keys() & {"stdout", "stderr", "output"} else as_text(result)
        known_as = name if isinstance(name, str) else None
        if not self.dialog.result(identity if isinstance(identity, str) else None, text, error=failed, name=known_as):
            self.tally.skip("result without a call")

    def _message(self, item: dict[str, Any]) -> None:
        role = item.get("role")
        text = as_text(_parts(item.get("content")))
        if role == "assistant":
            self._texts.append(text)
        elif role == "user":
            self.end()
            self._thoughts = []
            self.dialog.user(text)
        else:
            self.tally.skip(f"{role} message")

    def _call(self, kind: str, item: dict[str, Any]) -> None:
        name_key, key = _CALLS[kind]
        name = item.get(name_key) if name_key == "name" else name_key
        arguments = call_arguments(item.get(key))
        if isinstance(arguments, list):
            arguments = {key: arguments}
        identity = item.get("call_id") or item.get("id")
        self.call(identity if isinstance(identity, str) else None, str(name or "unknown"), arguments)
        if kind == "mcp_call" and isinstance(identity, str) and ("output" in item or item.get("error")):
            self._answers.append((identity, as_text(item.get("output") or item.get("error")), bool(item.get("error"))))


def _parts(content: Any) -> Any:
    """Message parts without the empty images that some writers add."""
    if isinstance(content, list):
        return [p for p in content if not (isinstance(p, dict) and "image_url" in p and p["image_url"] is None)] or None
    return content


def output_text(output: Any) -> tuple[str | None, bool]:
    """Text of a call's output, and whether it says that a command failed.

    Codex writes ``{"output": …, "metadata": {"exit_code": 1}}`` as a JSON string, ``Exit code: 1`` as the first line,
    or ``Process exited with code 1`` in a head that ends with ``Output:``; what follows is the command's own, not read.
    """
    decoded = loads_maybe(output)
    if isinstance(decoded, dict) and isinstance(decoded.get("metadata"), dict) and "output" in decoded:
        code = decoded["metadata"].get("exit_code")
        return as_text(decoded["output"]), isinstance(code, int) and code != 0
    if isinstance(output, dict) and isinstance(output.get("text"), str):
        output = output["text"]
    text = as_text(output)
    exit_code = (_EXIT.match(text) or _HEAD.match(text)) if text else None
    return text, exit_code is not None and exit_code.group(1) != "0"
