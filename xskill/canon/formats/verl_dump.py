"""verl's rollout dumps: ``{input, output, score, step, gts?}``, a sampled answer a line; ``step`` is that of training.

The chat is one text whose special tokens are stripped, so that bare lines ``user`` and ``assistant`` part its turns;
calls stand in ``<tool_call>``, their results in ``<tool_response>``. Answers to one input share a question. ``gts`` is
the gold answer and is left out of the task.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join, loads_maybe
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import entry, number, string

_SPECIAL = re.compile(r"<\|im_start\|>(\w+)\n|<\|start_header_id\|>(\w+)<\|end_header_id\|>\n+")
_END = re.compile(r"<\|im_end\|>|<\|eot_id\|>|<\|endoftext\|>|<\|begin_of_text\|>")
_ROLE = re.compile(r"^(system|user|assistant|tool)[ \t]*$\n?", re.M)
_THINK = re.compile(r"\A\s*(?:<think>)?(.*?)</think>", re.S)
_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.S)
_RESPONSE = re.compile(r"<tool_response>\s?(.*?)\s?(?:</tool_response>|\Z)", re.S)
_PLACED = frozenset({"input", "output", "score", "request_id"})


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not {"input", "output", "step"} <= value.keys() or "score" not in value:
        return False
    return isinstance(value["input"], str) and isinstance(value["output"], str)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    given = string(record.get("input"), "input") or ""
    dialog = Dialog()
    for role, text in _turns(given, "user"):
        if role == "user":
            dialog.user(text)
        elif text.strip():
            count = place.tally.skip if role == "system" else place.tally.lose
            count("system message" if role == "system" else "message of the prompt")
    for role, text in _turns(string(record.get("output"), "output") or "", "assistant"):
        if role == "assistant":
            _answer(dialog, text, place)
        else:
            _results(dialog, text, place)
    score = number(record.get("score"), "score")
    correct = record.get("acc")
    digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:16]
    yield RawEpisode(
        steps=dialog.steps,
        id=string(record.get("request_id"), "request_id"),
        question_id=f"q-{digest}",
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        success=correct if isinstance(correct, bool) else None,
        reward=score,
        extra={key: value for key, value in record.items() if key not in _PLACED},
    )


def _turns(text: str, first: str) -> list[tuple[str, str]]:
    """Role and text of each turn; what stands before the first role is of ``first``."""
    text = _END.sub("", _SPECIAL.sub(lambda token: f"\n{token.group(1) or token.group(2)}\n", text))
    parts = _ROLE.split(text)
    turns = [(first, parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    return [(role, said.strip("\n")) for role, said in turns if said.strip()]


def _answer(dialog: Dialog, text: str, place: Place) -> None:
    thinking = _THINK.match(text) if "</think>" in text else None
    thought = thinking.group(1).strip() if thinking else None
    body = text[thinking.end() :] if thinking else text
    inline = _RESPONSE.findall(body)
    calls = []
    for written in _CALL.findall(body):
        call = loads_maybe(written.strip())
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            calls.append(ToolCall(None, call["name"], call.get("arguments", call.get("parameters"))))
        else:
            place.tally.lose("calls that cannot be read")
    said = _RESPONSE.sub("", _CALL.sub("", body)).strip()
    if calls:
        dialog.agent(said or None, calls, thought=thought)
        for result in inline:
            dialog.result(None, result)
    else:
        dialog.agent(body.strip(), thought=thought)


def _results(dialog: Dialog, text: str, place: Place) -> None:
    """What the environment gave back: results, and words of the user beside them."""
    before = dialog.orphans
    for result in _RESPONSE.findall(text):
        dialog.result(None, result)
    if dialog.orphans > before:
        place.tally.lose("result without a call", dialog.orphans - before)
    rest = _RESPONSE.sub("", text).strip()
    waits = bool(dialog.steps) and dialog.steps[-1].kind == "call" and dialog.steps[-1].observation is None
    if rest and waits:
        dialog.result(None, rest)
    else:
        dialog.user(join(as_text(rest)))


FORMAT = Format("verl-dump", "verl's rollout dumps (input, output, score, step)", "record", detect, read)
