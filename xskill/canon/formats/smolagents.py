"""smolagents' memory (``get_full_steps``, ``RunResult``): a list whose items their keys tell apart.

Several calls of one step share one text of observations, which cannot be split: it goes to the last of them.

Outcome: none; the final answer is the claim. Lost: timings, tokens, images; counted: system prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, items, mapping

_CODE = re.compile(r"\s*(?:Code:\s*)?(?:<code>|```(?:py|python)?\s*\n).*", re.S)
_ACTION = frozenset({"tool_calls", "tool_call", "model_output", "llm_output", "code_action"})


def _is_action(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("step_number", value.get("step")), int)
        and bool(_ACTION & value.keys())
        and ("observations" in value or "action_output" in value)
    )


def _steps(value: Any) -> Any:
    return value.get("steps") if isinstance(value, dict) and ("output" in value or "state" in value) else value


def detect(value: Any) -> bool:
    steps = _steps(value)
    return isinstance(steps, list) and any(map(_is_action, steps[:8]))


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    dialog = Dialog()
    claim: str | None = None
    plans: list[str | None] = []
    seen: set[Any] = set()
    for index, item in enumerate(items(_steps(record), "steps")):
        item = mapping(item, f"[{index}]")
        key = (item.get("step_number"), str(item.get("timing", item.get("start_time"))), item.get("model_output"))
        if _is_action(item) and key in seen and key[0] is not None:
            place.tally.skip("step written twice")
        elif _is_action(item):
            seen.add(key)
            answer = _act(dialog, item, plans)
            claim = answer if answer is not None else claim
            plans = []
        elif "task" in item:
            dialog.user(as_text(item["task"]))
        elif "plan" in item:
            plans.append(as_text(item["plan"]))
        elif "system_prompt" in item:
            place.tally.skip("system prompt")
        elif "output" in item:
            claim = as_text(item["output"]) if item["output"] is not None else claim
            place.tally.skip("final answer said again")
        else:
            place.tally.lose("item of no kind that is read")
    if any(plans):
        place.tally.lose("plan without an action")
    if isinstance(record, dict) and record.get("output") is not None:
        claim = as_text(record["output"])
    if not dialog.steps:
        place.tally.lose("run without an action")
        return
    yield RawEpisode(steps=dialog.steps, task=dialog.task, initial_observation=dialog.initial_observation, claim=claim)


def _act(dialog: Dialog, item: dict[str, Any], plans: list[str | None]) -> str | None:
    """Add a step; returns the final answer, of one that gives it."""
    listed = item.get("tool_calls") or ([item["tool_call"]] if item.get("tool_call") else [])
    calls: list[ToolCall] = []
    for call in items(listed, "tool_calls"):
        one = read_call(call)
        calls.append(ToolCall(one.id, one.name, call_arguments(one.arguments)))
    if not calls and item.get("code_action"):
        calls.append(ToolCall(None, "python_interpreter", item["code_action"]))
    output = as_text(item.get("model_output", item.get("llm_output"))) or ""
    text = _CODE.sub("", output).strip() if calls else output
    added = dialog.agent(text, calls, thought=join(*plans))
    if not added:
        return None
    last = added[-1]
    error = item.get("error")
    if error:
        last.error = True
        message = as_text(as_mapping(error).get("message")) or as_text(error)
        last.extra = {**(last.extra or {}), "error": message}
    if last.kind == "call":
        last.observation = as_text(item.get("observations"))
    result = item.get("action_output")
    if item.get("is_final_answer") is True or any(call.name == "final_answer" for call in calls):
        given = at(calls[-1].arguments, "answer") if calls else None
        return as_text(result if result is not None else given)
    return None


FORMAT = Format("smolagents", "smolagents memories (full steps)", "record", detect, read, whole=True)
