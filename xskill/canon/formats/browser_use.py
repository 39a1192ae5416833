"""browser-use's ``AgentHistoryList``: ``{history: [{model_output, result, state, metadata}]}``.

A step of the model may hold several actions; results go to them by position, and actions after a change of the page
have none. ``done`` is the agent's own word; ``judgement`` is that of a judge. The task is not in the file.

Outcome: ``judgement.verdict``. Lost, and counted: steps in which the model failed; the pages but for their URLs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, entry, items, mapping, string, word
from xskill.canon.reading.session_tree import Repeats

_THOUGHTS = ("thinking", "evaluation_previous_goal", "valuation_previous_goal", "memory", "next_goal")


def detect(value: Any) -> bool:
    history = value.get("history") if isinstance(value, dict) else None
    return (
        isinstance(history, list)
        and bool(history)
        and all(
            isinstance(step, dict) and "model_output" in step and "result" in step and "state" in step
            for step in history[:3]
        )
    )


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    dialog = Dialog()
    claim: str | None = None
    extra: dict[str, Any] = {}
    verdict: bool | None = None
    repeats = Repeats()
    for index, step in enumerate(items(record.get("history"), "history")):
        step = mapping(step, f"history[{index}]")
        if isinstance(step.get("metadata"), dict) and repeats.again(step):
            place.tally.skip("step written twice")
            continue
        results = _as_list(step.get("result"))
        output = step.get("model_output")
        actions = [one for one in _as_list(at(output, "action")) if isinstance(one, dict) and one]
        if output is None or not actions:
            failure = next((as_text(one["error"]) for one in results if at(one, "error")), None)
            place.tally.lose("step in which the model gave no action")
            if failure and dialog.steps:
                last = dialog.steps[-1]
                last.extra = {**(last.extra or {}), "model_failed": failure}
            continue
        calls = [ToolCall(None, next(iter(one)), next(iter(one.values()))) for one in actions]
        added = dialog.agent(None, calls, thought=_thought(as_mapping(output)))
        elements = items(at(step, "state.interacted_element"), "state.interacted_element")
        url = at(step, "state.url")
        if isinstance(url, str) and url:
            added[0].extra = {"url": url}
        for position, call in enumerate(added):
            element = as_mapping(elements[position]) if position < len(elements) else {}
            call.role = (word(element.get("tag_name")) or word(element.get("node_name"))).lower() or None
            if position < len(results):
                result = as_mapping(results[position])
                call.observation, call.error = _outcome(result)
                judged = at(result, "judgement.verdict")
                verdict = judged if isinstance(judged, bool) else verdict
                if isinstance(judged, bool):
                    extra |= {"scorer": "judgement", "judgement": result["judgement"]}
            if call.name == "done":
                claim = as_text(at(call.arguments, "text")) or claim
                if isinstance(at(call.arguments, "success"), bool):
                    extra["claimed_success"] = call.arguments["success"]
        if len(results) < len(added):
            place.tally.lose("action without a result", len(added) - len(results))
        elif len(results) > len(added):
            place.tally.lose("result without an action", len(results) - len(added))
    if not dialog.steps:
        place.tally.lose("history without an action")
        return
    yield RawEpisode(
        steps=dialog.steps,
        id=string(record.get("id"), "id"),
        task=as_text(record.get("task")),
        success=verdict,
        claim=claim,
        extra=extra,
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _thought(output: dict[str, Any]) -> str | None:
    inner = output.get("current_state")
    state = inner if isinstance(inner, dict) else output
    return join(*(as_text(state.get(key)) for key in _THOUGHTS))


def _outcome(result: dict[str, Any]) -> tuple[str | None, bool]:
    error = as_text(result.get("error"))
    text = as_text(result.get("extracted_content")) or error or as_text(result.get("long_term_memory"))
    return text, bool(error)


FORMAT = Format("browser-use", "browser-use agent histories", "record", detect, read)
