"""tau-bench few-shot demonstrations: lines with ``messages_display``, a rendered transcript.

The rendering lost the calls (``assistant: None`` before a ``tool:`` block): they become calls of
``unknown``. They were written to be shown in a prompt, so they carry the mark ``demo``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import fail

_BLOCK = re.compile(r"^(user|assistant|tool|system): ", re.M)


def detect(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages_display"), str)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    text = record.get("messages_display") if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise fail("messages_display", "a string", text)
    pieces = _BLOCK.split(text)
    blocks = list(zip(pieces[1::2], pieces[2::2], strict=True))
    dialog = Dialog()
    for index, (role, body) in enumerate(blocks):
        body = body.strip("\n")
        if role == "assistant":
            called = index + 1 < len(blocks) and blocks[index + 1][0] == "tool"
            dialog.agent(None if body == "None" else body, [ToolCall(None, "unknown", {})] if called else [])
        elif role == "tool":
            dialog.result(None, body, error=body.startswith("Error"))
        elif role == "user":
            dialog.user(body)
        else:
            place.tally.skip("system message")
    yield RawEpisode(
        steps=dialog.steps,
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        marks=("demo",),
        extra={key: value for key, value in record.items() if key != "messages_display"},
    )


FORMAT = Format("tau-few-shot", "tau-bench few-shot demonstrations (messages_display)", "record", detect, read)
