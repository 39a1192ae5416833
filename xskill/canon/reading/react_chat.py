"""Agents that write their action into the text (``Thought: … Action: …``) and get the observation as a user message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xskill.canon.reading.chat import AGENT, SYSTEM, USER
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import RawStep, SourceTally
from xskill.canon.reading.fields import entries, word

_ACTION = re.compile(r"(?:^|\n)[ \t]*Action:[ \t]*\n?(.*)\Z", re.S)
_THOUGHT = re.compile(r"\A\s*(?:Thought|THOUGHT):[ \t]*\n?")
_OBSERVATION = re.compile(r"\A\s*Observation:[ \t]*\n?")


def is_react(messages: Sequence[Any]) -> bool:
    """Whether at least half of the agent's messages name an action in their text, and none makes a call."""
    spoken = [m for m in entries(messages) if word(m.get("role")) in AGENT]
    if not spoken or any(m.get("tool_calls") or m.get("function_call") for m in spoken):
        return False
    acting = sum(1 for m in spoken if isinstance(m.get("content"), str) and _ACTION.search(m["content"]))
    return acting * 2 >= len(spoken) and acting > 0


def add_react(dialog: Dialog, messages: Sequence[Any], tally: SourceTally) -> None:
    """Feed messages of the ``role``/``content`` form into the dialog: actions as steps, user messages as observations.

    What the agent says before its first action (an ``OK`` to the instructions) was put there by the harness.
    """
    waiting: RawStep | None = None
    for message in messages:
        if not isinstance(message, dict):
            continue
        role, text = word(message.get("role")), as_text(message.get("content"))
        if role in AGENT:
            action = _ACTION.search(text or "")
            if action is not None and text is not None:
                thought = _THOUGHT.sub("", text[: action.start()]).strip()
                waiting = RawStep(action.group(1).strip(), thought=thought or None, turn=dialog.turn)
                dialog.steps.append(waiting)
                dialog.turn += 1
            elif dialog.steps:
                dialog.agent(text)
                waiting = None
            else:
                tally.skip("scripted answer before the first action")
        elif role in USER:
            if waiting is not None:
                waiting.observation = _OBSERVATION.sub("", text or "")
                waiting = None
            else:
                dialog.user(text)
        elif role in SYSTEM:
            tally.skip("system message")
        else:
            tally.lose(f"message of role {role}")
