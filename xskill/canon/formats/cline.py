"""Cline's (and Roo Code's) ``api_conversation_history.json``: one list of messages, results as text.

A result has no id: ``[read_file for 'src/a.ts'] Result:`` opens it, so that it goes to the call of that name with
that argument, else to the first of that name, else to the first of the turn. What the program puts into the
user's turn (``<environment_details>``, reminders) is not the user's word; the task is what ``<task>`` holds.

Outcome: none; ``attempt_completion`` is the claim. Lost, and counted: what the program injects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, items, mapping, word
from xskill.canon.reading.session_tree import Repeats, session_folder

_RESULT = re.compile(r"\s*\[(?P<name>[A-Za-z_][\w-]*)(?: for (?P<quoted>.*?))?\] Result:[ \t]*\n?(?P<text>.*)", re.S)
_LONGEST_HEAD = 20_000
_TASK = re.compile(r"\s*<task>(?P<text>.*?)</task>(?P<rest>.*)", re.S)
_SAID = re.compile(r"<(?P<tag>feedback|user_message)>(?P<text>.*?)</(?P=tag)>", re.S)
_INJECTED = re.compile(
    r"\s*(?:<environment_details>|<explicit_instructions|<system-reminder>|# TODO LIST|# task_progress"
    r"|\[ERROR\]|\[TASK RESUMPTION\]|\(The user did not provide|# Next Steps)"
)
_FAILED = re.compile(
    r"\s*(?:The tool execution failed with the following error|The user denied this operation|\[ERROR\]"
    r"|(?:Command [^\n]*\n)?Exit code: [1-9])"
)
_OPEN = re.compile(r"<([a-z]+(?:_[a-z]+)*)>")
_LONG = frozenset({"content", "diff", "args", "arguments", "patch", "result", "response", "question", "command"})
"""Parameters whose value may hold tags itself: they end with the last closing tag."""
_THINKING = re.compile(r"<thinking>(.*?)</thinking>", re.S)
_TOOLS = frozenset({
    "access_mcp_resource", "apply_diff", "apply_patch", "ask_followup_question", "attempt_completion",
    "browser_action", "codebase_search", "edit_file", "execute_command", "fetch_instructions", "insert_content",
    "list_code_definition_names", "list_files", "load_mcp_documentation", "new_rule", "new_task",
    "plan_mode_respond", "read_file", "replace_in_file", "search_and_replace", "search_files", "switch_mode",
    "update_todo_list", "use_mcp_tool", "use_skill", "use_subagents", "web_fetch", "web_search", "write_to_file",
})  # fmt: skip


def detect(value: Any) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value[:8]):
        return False
    if word(value[0].get("role")) not in ("user", "assistant"):
        return False
    return any(
        _RESULT.match(text[:_LONGEST_HEAD]) or text.lstrip().startswith(("<task>", "<environment_details>"))
        for message in value[:8]
        if message.get("role") == "user"
        for text in _texts(message.get("content"))
    )


def _texts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    session = _ClineSession(place)
    repeats = Repeats()
    for index, message in enumerate(items(record, "")):
        message = mapping(message, f"[{index}]")
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": as_text(content)}]
        has_identity = "ts" in message or any(isinstance(part, dict) and part.get("id") for part in parts)
        role = word(message.get("role"))
        if has_identity and repeats.again(message):
            place.tally.skip("message written twice")
        elif role == "assistant":
            model = at(message, "modelInfo.modelId")
            session.model = model if isinstance(model, str) else session.model
            session.agent([mapping(part, f"[{index}].content") for part in parts])
        elif role == "user":
            session.user([mapping(part, f"[{index}].content") for part in parts])
        else:
            place.tally.lose(f"message of role {role}")
    yield from task_episode(session.dialog, session.claim, place, {"model": session.model} if session.model else {})


def task_episode(dialog: Dialog, claim: Any, place: Place, extra: dict[str, Any]) -> Iterator[RawEpisode]:
    """The episode of one file of a task, if anything was done."""
    if not dialog.steps:
        place.tally.lose("session without an action")
        return
    yield RawEpisode(
        steps=dialog.steps,
        id=_task_identity(place),
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        claim=claim,
        extra=extra,
    )


def _task_identity(place: Place) -> str | None:
    """The task's id: every task's files have the same names, and its folder is named by time or by a UUID."""
    folder = session_folder(place)
    return f"{folder}-{place.stem}" if folder is not None else None


class _ClineSession:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.dialog = Dialog()
        self.waiting: list[RawStep] = []
        self.claim: str | None = None
        self.model: str | None = None

    def agent(self, parts: list[dict[str, Any]]) -> None:
        """A message of the agent: its calls are blocks, or XML in its text."""
        texts: list[str | None] = []
        thoughts: list[str | None] = []
        calls: list[ToolCall] = []
        for part in parts:
            kind = word(part.get("type"))
            if kind == "tool_use":
                call = read_call(part, "content")
                calls.append(ToolCall(call.id, call.name, call_arguments(call.arguments)))
            elif kind in ("thinking", "reasoning"):
                thoughts.append(as_text(part.get("thinking") or part.get("text")))
            elif kind == "redacted_thinking":
                self.place.tally.skip("redacted_thinking part")
            else:
                texts.append(as_text([part]))
        text = join(*texts) or ""
        thoughts += [thought.strip() for thought in _THINKING.findall(text)]
        text = _THINKING.sub("", text).strip()
        if not calls:
            text, calls = _xml_calls(text)
        added = self.dialog.agent(text, calls, thought=join(*thoughts))
        if not added and any(thoughts):
            self.place.tally.lose("thought without an action")
        self.waiting = [step for step in added if step.kind == "call"] or self.waiting
        for step in added:
            if step.name == "attempt_completion" and isinstance(step.arguments, dict):
                self.claim = as_text(step.arguments.get("result")) or self.claim

    def user(self, parts: list[dict[str, Any]]) -> None:
        """A message in the user's turn: results, what the program says, and what the user says."""
        step: RawStep | None = None
        for part in parts:
            if part.get("type") == "tool_result":
                step = self._native(part)
                continue
            text = as_text([part]) or ""
            task = _TASK.match(text)
            result = _RESULT.match(text)
            said = _SAID.findall(text) if result is None or result["name"] == "attempt_completion" else []
            if task is not None:
                self.dialog.user(task["text"].strip())
                self._rest(task["rest"].strip())
                step = None
            elif result is not None:
                step = self._result(result, text)
            elif _INJECTED.match(text):
                self.place.tally.skip("message injected by the program")
                step = None
            elif step is not None and not said:
                step.observation = "\n".join(filter(None, (step.observation, text)))
                step.error = step.error or _FAILED.match(text) is not None
            elif not said:
                self.dialog.user(text)
            for _, one in said:
                self.dialog.user(one.strip())

    def _rest(self, text: str) -> None:
        if text and not _INJECTED.match(text):
            self.dialog.user(text)
        elif text:
            self.place.tally.skip("message injected by the program")

    def _native(self, part: dict[str, Any]) -> RawStep | None:
        text = as_text(part.get("content"))
        head = _RESULT.match(text) if text else None
        failed = part.get("is_error") is True or _FAILED.match((head["text"] if head else text) or "") is not None
        step = self.dialog.result(word(part.get("tool_use_id")) or None, head["text"] if head else text, error=failed)
        if step is None:
            self.place.tally.lose("result without a call")
        elif step in self.waiting:
            self.waiting.remove(step)
        return step

    def _result(self, head: re.Match[str], whole: str) -> RawStep | None:
        """Give a result in text to its call."""
        name, quoted = head["name"], (head["quoted"] or "").strip("'")
        named = [step for step in self.waiting if step.name == name or step.name == f"use_{name}"]
        exact = [step for step in named if quoted and quoted in _values(step.arguments)]
        step = next(iter(exact or named or self.waiting), None)
        if step is None:
            self.place.tally.lose("result without a call")
            return None
        self.waiting = [other for other in self.waiting if other is not step]
        text = head["text"]
        step.observation = _SAID.sub("", text).rstrip() if name == "attempt_completion" else text
        step.error = _FAILED.match(text) is not None
        return step


def _values(arguments: Any) -> set[str]:
    return {value for value in arguments.values() if isinstance(value, str)} if isinstance(arguments, dict) else set()


def _xml_calls(text: str) -> tuple[str, list[ToolCall]]:
    """Calls that a model without native ones writes as XML; and what is left of the text."""
    calls: list[ToolCall] = []
    rest: list[str] = []
    end = position = 0
    while (opened := _OPEN.search(text, position)) is not None:
        name = opened[1]
        close = text.find(f"</{name}>", opened.end()) if name in _TOOLS else -1
        if close < 0:
            position = opened.end()
            continue
        calls.append(ToolCall(None, name, _parameters(text[opened.end() : close])))
        rest.append(text[end : opened.start()])
        end = position = close + len(name) + 3
    return "".join([*rest, text[end:]]).strip(), calls


def _parameters(inner: str) -> dict[str, str]:
    parsed: dict[str, str] = {}
    position = 0
    while (opened := _OPEN.search(inner, position)) is not None:
        closing = f"</{opened[1]}>"
        end = inner.rfind(closing) if opened[1] in _LONG else inner.find(closing, opened.end())
        if end < opened.end():
            position = opened.end()
            continue
        parsed[opened[1]] = inner[opened.end() : end]
        position = end + len(closing)
    return parsed


FORMAT = Format("cline", "Cline and Roo Code API histories (results as text)", "record", detect, read, whole=True)
