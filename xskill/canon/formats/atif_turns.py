"""One step of ATIF is one turn of ours: what its fields tell of our steps, and marks of what they do not tell.

``steps[].extra.xskill`` holds one object for each of our steps in the turn, in order: those fields of
:class:`xskill.records.Step` for which ATIF has none, or which its fields would give back otherwise. ``kind`` is
left out of a call's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join, sorted_dumps
from xskill.canon.reading.dialog import call_arguments
from xskill.canon.reading.fields import at, items, mapping, string
from xskill.errors import BadRecord
from xskill.records import Step, convert

RESTORED = {"action": "action", "command": "command"}
"""Kind of a step → name of the call that stands for it, and of that call's only argument."""


def marks(written: dict[str, Any], steps: Sequence[Step], answers: Sequence[str]) -> list[dict[str, Any]]:
    """What the ATIF step ``made`` and the user's answers to it do not tell of the steps of ours that it stands for."""
    readable = _told(written, [step.kind for step in steps], answers)
    assert readable is not None
    return [_mark(step, one) for step, one in zip(steps, readable, strict=True)]


def restored(written: dict[str, Any], answers: Sequence[str], path: str) -> list[Step] | None:
    """The steps of ours that an ATIF step stands for; None for one without marks, or changed since it got them.

    Raises:
        BadRecord: a mark breaks the contract of steps.
    """
    listed = at(written, "extra.xskill")
    if not isinstance(listed, list) or not listed or not all(isinstance(mark, dict) for mark in listed):
        return None
    readable = _told(written, [mark.get("kind", "call") for mark in listed], answers)
    if readable is None:
        return None
    steps = []
    for index, (one, mark) in enumerate(zip(readable, listed, strict=True)):
        try:
            steps.append(convert({"kind": "call", **one, **mark}, Step))
        except BadRecord as error:
            error.path = f"{path}.extra.xskill[{index}].{error.path}"
            raise
    return steps


def _told(written: dict[str, Any], kinds: Sequence[Any], answers: Sequence[str]) -> list[dict[str, Any]] | None:
    """Fields of our steps of these kinds that an ATIF step tells; None where its calls or results are not theirs."""
    calls = [read_call(call, "tool_calls") for call in items(written.get("tool_calls"), "tool_calls")]
    results = items(mapping(written.get("observation"), "observation").get("results"), "observation.results")
    contents = dict(map(_result, results))
    responds = sum(kind == "respond" for kind in kinds)
    if len(calls) != len(kinds) - responds or not contents.keys() <= {call.id for call in calls}:
        return None
    waiting = iter(calls)
    readable: list[dict[str, Any]] = []
    for kind in kinds:
        if kind == "respond":
            answer = (answers[0] if len(answers) == 1 else join(*answers)) if responds == 1 else None
            readable.append({"action": as_text(written.get("message")) or "", "observation": answer})
            continue
        call = next(waiting)
        name, arguments = RESTORED.get(kind) if isinstance(kind, str) else None, call_arguments(call.arguments)
        if name is not None and call.name == name and isinstance(arguments, dict) and set(arguments) == {name}:
            action = as_text(arguments[name]) or ""
        else:
            text = arguments if isinstance(arguments, str) else sorted_dumps(arguments)
            action = f"{call.name}({text})"
        readable.append({"action": action, "observation": contents.get(call.id)})
    readable[0]["thought"] = as_text(written.get("reasoning_content"))
    readable[0]["logprob"] = mapping(written.get("metrics"), "metrics").get("logprobs")
    return readable


def _mark(step: Step, readable: dict[str, Any]) -> dict[str, Any]:
    """Fields of a step, where they differ from what is told of it."""
    has = msgspec.to_builtins(step)
    mark: dict[str, Any] = {} if step.kind == "call" else {"kind": step.kind}
    mark.update({name: value for name, value in has.items() if name != "kind" and readable.get(name) != value})
    mark.update({name: None for name, value in readable.items() if value is not None and name not in has})
    return mark


def _result(result: Any) -> tuple[str | None, str | None]:
    """The call that a result belongs to, and its text."""
    result = mapping(result, "observation.results")
    return string(result.get("source_call_id"), "observation.results.source_call_id"), as_text(result.get("content"))
