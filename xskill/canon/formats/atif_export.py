"""Trajectories → ATIF 1.7 (``canon --as atif``), so that other tools read what we read.

ATIF knows calls and messages: an action string or a command becomes a call of ``action`` or ``command``. The steps
that a branch copied from its parent are ``is_copied_context``. ATIF has no outcome: success and reward stand in
``extra``. What else it has no field for stands in ``extra.xskill``, of the document and of each step
(:mod:`xskill.canon.formats.atif_turns`), so that our reader gives back the same trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec

from xskill.canon.actions.parse_call import split_json_call
from xskill.canon.formats.atif_turns import RESTORED, marks
from xskill.canon.reading.content_text import join
from xskill.records import Step, Trajectory, turns

VERSION = "ATIF-v1.7"
UNKNOWN = "unknown"
"""Stands for the agent's name and version, which ATIF demands, where the log does not tell them."""

_TOLD = ("schema", "id", "task", "success", "reward")
"""Fields of a trajectory that the document tells elsewhere than in ``extra.xskill``."""


def to_atif(record: Trajectory) -> dict[str, Any]:
    """One trajectory as an ATIF document."""
    extra = record.extra
    agent: dict[str, Any] = {
        "name": _text(extra.get("agent")) or UNKNOWN,
        "version": _text(extra.get("version")) or UNKNOWN,
    }
    model = _text(extra.get("model"))
    if model:
        agent["model_name"] = model
    steps: list[dict[str, Any]] = []
    if record.task is not None:
        steps.append({"source": "user", "message": record.task})
    parent = record.parent
    copied = 0 if parent is None else parent.turn if parent.step is None else parent.step
    steps += _steps(record.steps or [], copied)
    kept = msgspec.to_builtins(msgspec.structs.replace(record, steps=None))
    for name in _TOLD:
        kept.pop(name, None)
    if record.steps is None:
        kept["steps"] = None
    outcome = {
        name: value for name, value in (("success", record.success), ("reward", record.reward)) if value is not None
    }
    return {
        "schema_version": VERSION,
        "session_id": _text(extra.get("parent_session")) or record.id,
        "trajectory_id": record.id,
        "agent": agent,
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "extra": {**outcome, "xskill": kept},
    }


def _steps(steps: list[Step], copied: int) -> Iterator[dict[str, Any]]:
    """Agent steps, one a turn, and the user's answers; the first ``copied`` steps of ours are another trajectory's."""
    for _, group in groupby(zip(turns(steps), range(len(steps)), steps, strict=True), key=lambda one: one[0]):
        members = [(index, step) for _, index, step in group]
        first, context = members[0][1], {"is_copied_context": True} if members[0][0] < copied else {}
        written: dict[str, Any] = {"source": "agent", "message": ""}
        calls, results = [], []
        for index, step in members:
            if step.kind == "respond":
                written["message"] = join(written["message"], step.action) or ""
                continue
            identity = f"call_{index}"
            name, arguments = _call(step)
            calls.append({"tool_call_id": identity, "function_name": name, "arguments": arguments})
            if step.observation is not None:
                results.append({"source_call_id": identity, "content": step.observation})
        thoughts = [step.thought for _, step in members if step.thought is not None]
        if thoughts:
            written["reasoning_content"] = thoughts[0] if len(thoughts) == 1 else join(*thoughts) or ""
        if calls:
            written["tool_calls"] = calls
        if results:
            written["observation"] = {"results": results}
        if isinstance(first.logprob, list):
            written["metrics"] = {"logprobs": first.logprob}
        answers = [step.observation for _, step in members if step.kind == "respond" and step.observation is not None]
        written["extra"] = {"xskill": marks(written, [step for _, step in members], answers)}
        yield {**written, **context}
        yield from ({"source": "user", "message": answer, **context} for answer in answers)


def _call(step: Step) -> tuple[str, dict[str, Any]]:
    if step.kind in RESTORED:
        return RESTORED[step.kind], {RESTORED[step.kind]: step.action}
    parts = split_json_call(step.action)
    if parts is not None:
        return parts[0] or UNKNOWN, parts[1]
    name, opened, rest = step.action.partition("(")
    return name.strip() or UNKNOWN, {"arguments": rest.removesuffix(")")} if opened else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
