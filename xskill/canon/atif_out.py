"""Trajectories → ATIF 1.7 (``canon --as atif``), so that other tools read what we read.

ATIF knows calls and messages: an action string or a command becomes a call of ``action`` or ``command``, marked in
the step's ``extra`` so that our reader restores it. ATIF has no outcome: success, reward and what else it has
no field for stand in ``extra.xskill``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from xskill.canon.parse_call import split_json_call
from xskill.canon.text import join
from xskill.records import Step, Trajectory, turns

VERSION = "ATIF-v1.7"
RESTORED = {"action": "action", "command": "command"}
"""Kind of a step → name of the call that stands for it, and of that call's only argument."""

_KEPT = ("question_id", "task_type", "env", "split", "initial_observation")


def to_atif(record: Trajectory) -> dict[str, Any]:
    """One trajectory as an ATIF document."""
    extra = record.extra
    agent: dict[str, Any] = {
        "name": _text(extra.get("agent")) or "unknown",
        "version": _text(extra.get("version")) or "unknown",
    }
    model = _text(extra.get("model"))
    if model:
        agent["model_name"] = model
    steps: list[dict[str, Any]] = []
    if record.task:
        steps.append({"source": "user", "message": record.task})
    steps += _steps(record.steps or [])
    for number, step in enumerate(steps, 1):
        step["step_id"] = number
    kept: dict[str, Any] = {name: getattr(record, name) for name in _KEPT if getattr(record, name) is not None}
    if record.parent is not None:
        kept["parent"] = {"id": record.parent.id, "turn": record.parent.turn, "step": record.parent.step}
    if extra:
        kept["extra"] = extra
    outcome = {
        name: value for name, value in (("success", record.success), ("reward", record.reward)) if value is not None
    }
    return {
        "schema_version": VERSION,
        "session_id": _text(extra.get("parent_session")) or record.id,
        "trajectory_id": record.id,
        "agent": agent,
        "steps": [{"step_id": step.pop("step_id"), **step} for step in steps],
        "extra": {**outcome, "xskill": kept},
    }


def _steps(steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Agent steps, one a turn, and the user's answers."""
    for _, group in groupby(zip(turns(steps), range(len(steps)), steps, strict=True), key=lambda one: one[0]):
        members = [(index, step) for _, index, step in group]
        first = members[0][1]
        made: dict[str, Any] = {"source": "agent", "message": ""}
        calls, results, answers = [], [], []
        kinds: list[str] = []
        for index, step in members:
            if step.kind == "respond":
                made["message"] = join(made["message"], step.action) or ""
                if step.observation:
                    answers.append({"source": "user", "message": step.observation})
                continue
            identity = f"call_{index}"
            name, arguments = _call(step)
            calls.append({"tool_call_id": identity, "function_name": name, "arguments": arguments})
            kinds.append(step.kind)
            if step.observation is not None:
                results.append({"source_call_id": identity, "content": step.observation})
        if first.thought:
            made["reasoning_content"] = first.thought
        if calls:
            made["tool_calls"] = calls
        if results:
            made["observation"] = {"results": results}
        if isinstance(first.logprob, list):
            made["metrics"] = {"logprobs": first.logprob}
        extra: dict[str, Any] = {}
        if any(kind in RESTORED for kind in kinds):
            extra["xskill_kinds"] = kinds
        if any(step.error for _, step in members):
            extra["errors"] = [position for position, (_, step) in enumerate(members) if step.error]
        if extra:
            made["extra"] = extra
        yield made
        yield from answers


def _call(step: Step) -> tuple[str, dict[str, Any]]:
    if step.kind in RESTORED:
        return RESTORED[step.kind], {RESTORED[step.kind]: step.action}
    found = split_json_call(step.action)
    if found is not None:
        return found[0] or "unknown", found[1]
    name, opened, rest = step.action.partition("(")
    return name.strip() or "unknown", {"arguments": rest.removesuffix(")")} if opened else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
