"""Turns of a web agent (what it saw, then what it did) → steps: the part that BrowserGym's relatives share.

What an agent saw comes before its action: what came of an action, its error and its reward stand with the turn after.
Several calls in one action share the turn. A message to the user is talk. An action that the harness could not read
failed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xskill.canon.reading.episode import RawStep
from xskill.canon.reading.web_page import Page

_FENCE = re.compile(r"\A\s*```+(?:\w+\n)?(.*?)(?:```+)?\s*\Z", re.S)
_CALL = re.compile(r"\w+\(.*\)\s*\Z", re.S)
_TALK = re.compile(r"\A\s*(send_msg_to_user|report_infeasible(?:_instructions)?)\((.*)\)\s*\Z", re.S)


@dataclass(slots=True)
class Turn:
    """One turn."""

    page: Page
    action: str | None
    thought: str | None = None
    unread: bool = False
    """The harness could not read the action."""
    error_before: str | None = None
    """What went wrong with the action before."""
    reward_before: float | None = None
    extra: dict[str, Any] | None = None


def web_steps(turns: Sequence[Turn]) -> list[RawStep]:
    """The steps of turns in their order."""
    steps: list[RawStep] = []
    for index, turn in enumerate(turns):
        if steps and index:
            last = steps[-1]
            if turns[index - 1].action:
                last.observation = turn.page.text if last.observation is None else last.observation
                last.reward = turn.reward_before or None
                if turn.error_before:
                    last.error = True
                    last.extra = {**(last.extra or {}), "error": turn.error_before}
        if turn.action:
            steps += _steps(turn, index)
    return steps


def _steps(turn: Turn, index: int) -> list[RawStep]:
    fenced = _FENCE.match(turn.action or "")
    text = (fenced.group(1) if fenced else turn.action or "").strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    commands = lines if len(lines) > 1 and all(_CALL.match(line) for line in lines) else [text]
    steps = [_step(command, turn, index) for command in commands]
    steps[0].thought = turn.thought or None
    steps[0].extra = turn.extra or None
    steps[-1].error = turn.unread
    return steps


def _step(command: str, turn: Turn, index: int) -> RawStep:
    talk = _TALK.match(command)
    if talk and not turn.unread:
        return RawStep(_message(talk.group(2)), kind="respond", turn=index)
    return RawStep(command, turn=index, role=turn.page.role(command))


def _message(argument: str) -> str:
    """The text in the call's quotes."""
    inner = re.sub(r"\A\s*\w+\s*=\s*(?=['\"])", "", argument)
    try:
        value = ast.literal_eval(inner.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return argument
    return value if isinstance(value, str) else argument
