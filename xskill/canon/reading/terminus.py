"""Answers of the Terminus agents (Harbor, Terminal-Bench) → steps, named as Harbor's own trajectories name them.

An answer is a JSON object (``analysis``, ``plan``, ``commands``, ``task_complete``; in the first version
``state_analysis``, ``explanation``, ``is_task_complete``) or the same as XML, at times with words or a fence around
it. Each entry of ``commands`` is a call of ``bash_command``; the end is a call of ``mark_task_complete``. All commands
of an answer run in one terminal, so their one output is the observation of the last.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any

from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import SourceTally
from xskill.canon.reading.fields import as_mapping

_TASK = re.compile(r"Task Description:\s*\n(.*?)(?=\n\s*\n?(?:The )?[Cc]urrent terminal state:|\Z)", re.S)
_OUTPUT = re.compile(r"\A\s*New Terminal Output:\n?")
_THINK = re.compile(r"\A\s*<think>(.*?)</think>", re.S)
_XML = re.compile(r"<commands\s*/?>|<keystrokes[ >]|<task_complete>")
_KEYS = re.compile(r"<keystrokes([^>]*)>(.*?)</keystrokes>", re.S)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_DECODER = json.JSONDecoder()
_TRIES = 20
_WORDS = ("analysis", "state_analysis", "explanation", "plan")
_ENDS = ("task_complete", "is_task_complete")

BAD = "answers that are no Terminus command"


def is_answer(text: str | None) -> bool:
    """Whether a text is an answer of such an agent."""
    return _read(text or "") is not None


def add_turns(dialog: Dialog, turns: Iterable[tuple[str | None, str | None]], tally: SourceTally) -> bool:
    """Feed pairs of prompt and answer into the dialog.

    The first prompt is the task, any further one what came of the answer before it.

    Returns:
        whether the agent said at its end that the task is complete.
    """
    complete = False
    for prompt, answer in turns:
        if prompt is not None:
            _prompt(dialog, prompt)
        complete = _answer(dialog, answer, tally) if answer and not answer.isspace() else complete
    return complete


def _prompt(dialog: Dialog, prompt: str) -> None:
    if dialog.task is None and not dialog.steps:
        described = _TASK.search(prompt)
        dialog.user(described.group(1).strip() if described else prompt.strip())
        return
    seen = _OUTPUT.sub("", prompt)
    if not dialog.steps:
        dialog.user(seen)
        return
    last = dialog.steps[-1]
    last.observation = seen if last.observation is None else join(last.observation, seen)


def _answer(dialog: Dialog, answer: str, tally: SourceTally) -> bool:
    thinking = _THINK.match(answer)
    read = _read(answer)
    if read is None:
        for step in dialog.agent(answer):
            step.error = True  # the harness asks for it again
        tally.skip(BAD)
        return False
    calls = [ToolCall(None, "bash_command", command) for command in read.get("commands", ())]
    complete = any(read.get(key) is True for key in _ENDS)
    if complete:
        calls.append(ToolCall(None, "mark_task_complete", {}))
    words = join(*(as_text(read.get(key)) for key in _WORDS))
    thought = join(thinking.group(1).strip() if thinking else None, words)
    if calls:
        dialog.agent(thought, calls)
    else:
        dialog.agent(answer, thought=thought)  # it waits for the terminal
    return complete


def _read(answer: str) -> dict[str, Any] | None:
    """The answer as an object whose ``commands`` are objects; None for a text of another kind."""
    body = _THINK.sub("", answer, count=1)
    value = _json(body)
    if value is None:
        value = _xml(body) if _XML.search(body) else None
    if value is None:
        return None
    listed = value.get("commands")
    commands = []
    for command in listed if isinstance(listed, list) else ():
        if isinstance(command, str):
            commands.append({"keystrokes": command})
        elif isinstance(command, dict) and isinstance(command.get("keystrokes"), str):
            commands.append(command)
        else:
            return None
    return {**value, "commands": commands}


def _json(text: str) -> dict[str, Any] | None:
    """The first JSON object in the text that holds commands or an end."""
    position = text.find("{")
    for _ in range(_TRIES):
        if position < 0:
            return None
        try:
            value, _ = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            value = None
        fields = as_mapping(value)
        if isinstance(fields.get("commands"), list) or any(isinstance(fields.get(key), bool) for key in _ENDS):
            return fields
        position = text.find("{", position + 1)
    return None


def _xml(text: str) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key in ("analysis", "plan", "task_complete"):
        inner = re.search(rf"<{key}>(.*?)</{key}>", text, re.S)
        if inner:
            value[key] = html.unescape(inner.group(1)).strip()
    value["task_complete"] = value.get("task_complete") == "true"
    commands = []
    for attributes, keys in _KEYS.findall(text):
        settings = {name: _number(given) for name, given in _ATTRIBUTE.findall(attributes)}
        commands.append({"keystrokes": html.unescape(keys), **settings})
    value["commands"] = commands
    return value


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
