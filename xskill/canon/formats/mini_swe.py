"""mini-swe-agent ``.traj.json``: 1.x (``trajectory_format``) with tool calls, older ones as a bare message list.

In the older form the command is a fenced block in the agent's text, and the next user message is its
output, wrapped as ``<returncode>…</returncode><output>…</output>``. The role ``exit`` closes a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import entry, items, mapping, needed, string

_FENCE = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.S)
_CODE = re.compile(r"\s*<returncode>(-?\d+)</returncode>")
_FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def detect(value: Any) -> bool:
    if isinstance(value, dict):
        return str(value.get("trajectory_format", "")).startswith("mini-swe-agent")
    if not isinstance(value, list) or not all(isinstance(m, dict) for m in value[:8]):
        return False
    texts = [m.get("content") for m in value[:8]]
    fenced = any(m.get("role") == "assistant" and _FENCE.search(str(m.get("content"))) for m in value[:8])
    return fenced and any(isinstance(text, str) and _CODE.match(text) for text in texts)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    if isinstance(record, list):
        record = {"messages": record}
    messages = items(needed(entry(record), "messages"), "messages")
    info = mapping(record.get("info"), "info")
    dialog = Dialog()
    closing: str | None = None
    for index, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "exit":
            closing = as_text(message.get("content"))
        elif isinstance(message, dict) and message.get("role") == "assistant" and not message.get("tool_calls"):
            _fenced(dialog, message)
        elif isinstance(message, dict) and message.get("role") == "user" and _waits(dialog):
            _output(dialog.steps[-1], as_text(message.get("content")))
        else:
            add_messages(dialog, [message], place.tally, f"messages[{index}]"[:-3])
    for step in dialog.steps:
        exit_code = _CODE.match(step.observation) if step.observation else None
        step.error = exit_code is not None and exit_code.group(1) != "0"
    if closing is not None and dialog.steps and dialog.steps[-1].observation is None:
        dialog.steps[-1].observation = closing
    extra = {key: info[key] for key in ("submission", "model_stats", "mini_version") if info.get(key)}
    claim = info.get("exit_status")
    if claim is None and dialog.steps and _FINISH in (dialog.steps[-1].action or ""):
        claim = "Submitted"
    yield RawEpisode(
        steps=dialog.steps,
        id=place.stem if place.number == 1 else None,
        question_id=string(record.get("instance_id"), "instance_id"),
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        claim=claim,
        extra=extra,
    )


def _fenced(dialog: Dialog, message: dict[str, Any]) -> None:
    """An answer whose command stands in a fence; without one it is a message."""
    text = as_text(message.get("content")) or ""
    block = _FENCE.search(text)
    if block is None:
        dialog.agent(text)
        return
    around = (text[: block.start()] + text[block.end() :]).strip()
    dialog.steps.append(RawStep(block.group(1), None, around or None, "command", dialog.turn))
    dialog.turn += 1


def _waits(dialog: Dialog) -> bool:
    return bool(dialog.steps) and dialog.steps[-1].kind == "command" and dialog.steps[-1].observation is None


def _output(step: RawStep, text: str | None) -> None:
    step.observation = text or ""


FORMAT = Format("mini-swe-agent", "mini-swe-agent .traj.json (1.x and the older bare list)", "record", detect, read,
                whole=True)  # fmt: skip
