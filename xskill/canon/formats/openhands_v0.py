"""OpenHands V0: lists of events (``action`` + ``args``, ``observation`` + ``cause``), alone or as a row's ``history``.

An observation names the action that caused it; before 0.20 events have no ids, and it follows its action. The
resolver's ``success`` is a model's guess; ``test_result.report.resolved`` is what the tests say.

Outcome: that report. Lost, and counted: system, recall and state events, errors that belong to no action.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, fail, items, string, word

_CALLS = frozenset({
    "run", "run_ipython", "read", "edit", "write", "browse", "browse_interactive", "delegate", "call_tool_mcp",
    "task_tracking", "add_task", "modify_task", "push", "send_pr",
})  # fmt: skip
_OTHERS = frozenset({
    "message", "system", "finish", "reject", "think", "recall", "null", "change_agent_state", "agent_state_changed",
    "condensation", "condensation_request", "summarize", "initialize", "start", "pause", "resume", "stop", "kill",
    "loop_recovery",
})  # fmt: skip
_ACTIONS = _CALLS | _OTHERS
_SETTINGS = frozenset({
    "thought", "is_input", "blocking", "is_static", "cwd", "hidden", "confirmation_state", "security_risk", "timeout",
    "keep_prompt", "is_confirmed", "action_risk", "kernel_init_code", "include_extra", "impl_source", "task_completed",
    "set_active", "action", "observation", "id", "timestamp", "source", "message", "cause", "tool_call_metadata",
    "llm_metrics", "agent_state", "return_axtree", "translated_ipython_code",
})  # fmt: skip
_SILENT = frozenset({"null", "agent_state_changed", "recall", "think", "condense", "loop_detection"})


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or ("action" in value) == ("observation" in value):
        return False
    if "observation" in value:
        return (
            isinstance(value["observation"], str) and ("content" in value or "extras" in value) and "role" not in value
        )
    return isinstance(value["action"], str) and value["action"] in _ACTIONS


def _events(value: Any) -> list[Any]:
    """Events of a list; older ones come in pairs of an action and its observation."""
    events: list[Any] = []
    for one in value:
        events.extend(one if isinstance(one, list) else [one])
    return events


def detect(value: Any) -> bool:
    if isinstance(value, dict):
        value = value.get("history") if "schema" not in value else None
    if not isinstance(value, list) or not value:
        return False
    events = _events(value[:12])
    return all(map(_is_event, events)) and any("args" in event or "observation" in event for event in events)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    row = record if isinstance(record, dict) else {}
    events = _events(items(row.get("history") if isinstance(record, dict) else record, "history"))
    dialog, claim = _replay(events, place)
    if not dialog.steps:
        place.tally.lose("run without an action")
        return
    identity = string(row.get("instance_id"), "instance_id")
    extra: dict[str, Any] = {}
    for key in ("success", "error", "result_explanation"):
        if row.get(key) is not None:
            extra[f"harness_{key}"] = row[key]
    metrics = at(row, "metrics.accumulated_cost")
    if isinstance(metrics, (int, float)):
        extra["cost"] = metrics
    resolved = at(row, "test_result.report.resolved")
    if resolved is None:
        resolved = at(row, "report.resolved")
    yield RawEpisode(
        steps=dialog.steps,
        id=identity,
        question_id=identity,
        task=dialog.task or as_text(row.get("instruction")),
        initial_observation=dialog.initial_observation,
        success=resolved if isinstance(resolved, bool) else None,
        claim=claim,
        extra=extra,
    )


def _replay(events: list[Any], place: Place) -> tuple[Dialog, str | None]:
    dialog = Dialog()
    claim: str | None = None
    thoughts: list[str | None] = []
    response: tuple[Any, int] = (None, -1)
    has_ids = any(isinstance(event, dict) and "id" in event for event in events)
    quiet: set[Any] = set()
    seen: set[Any] = set()
    for index, event in enumerate(events):
        if not isinstance(event, dict):
            raise fail(f"history[{index}]", "an event", event)
        if event.get("id") is not None and event["id"] in seen:
            place.tally.skip("event written twice")
            continue
        seen.add(event.get("id"))
        if "action" not in event:
            _observe(dialog, event, has_ids, quiet, place)
            continue
        kind = word(event["action"])
        args = event["args"] if isinstance(event.get("args"), dict) else event
        thought = as_text(args.get("thought")) or None
        identity = str(event["id"]) if "id" in event else None
        if kind == "message":
            is_agent = event.get("source") == "agent" or ("source" not in event and dialog.task is not None)
            text = as_text(args.get("content"))
            if is_agent:
                dialog.agent(text, thought=join(*thoughts))
                thoughts = []
            else:
                dialog.user(text)
        elif kind == "think":
            thoughts.append(thought)
        elif kind in ("finish", "reject"):
            claim = as_text(args.get("final_thought")) or thought or as_text(args.get("message")) or kind
            arguments = {"message": as_text(args.get("final_thought")) or thought}
            reason = thought if args.get("final_thought") else None
            dialog.agent(None, [ToolCall(identity, kind, arguments)], thought=join(*thoughts, reason))
            thoughts = []
        elif kind in _CALLS:
            step = dialog.agent(None, [_call(kind, identity, args)], thought=join(*thoughts, thought))[0]
            thoughts = []
            made_by = at(event, "tool_call_metadata.model_response.id")
            if made_by is not None and made_by == response[0]:
                step.turn = response[1]
            response = (made_by, step.turn or 0)
        else:
            quiet.add(event.get("id"))
            place.tally.skip(f"{kind or 'unknown'} action")
    if any(thoughts):
        place.tally.lose("thought without an action")
    return dialog, claim


def _call(kind: str, identity: str | None, args: dict[str, Any]) -> ToolCall:
    if kind == "call_tool_mcp":
        return ToolCall(identity, word(args.get("name")) or kind, args.get("arguments"))
    kept = {key: value for key, value in args.items() if key not in _SETTINGS and value not in (None, "", [], {})}
    if kind in ("read", "edit") and (kept.get("start"), kept.get("end")) in ((0, -1), (1, -1)):
        kept.pop("start"), kept.pop("end")
    return ToolCall(identity, "execute_bash" if kind == "run" else kind, kept)


def _observe(dialog: Dialog, event: dict[str, Any], has_ids: bool, quiet: set[Any], place: Place) -> None:
    kind = word(event.get("observation"))
    cause = event.get("cause")
    if kind in _SILENT or (cause is not None and cause in quiet):
        place.tally.skip(f"{kind} observation")
        return
    if cause is None and has_ids:
        place.tally.lose(f"{kind} observation without an action")
        return
    extras = as_mapping(event.get("extras"))
    text = as_text(event.get("content"))
    code = at(extras, "metadata.exit_code")
    code = event.get("exit_code", extras.get("exit_code")) if code is None else code
    failed = kind in ("error", "user_rejected") or (isinstance(code, int) and code not in (0, -1))
    failed = failed or (kind in ("read", "edit") and (text or "").startswith("ERROR:"))
    if dialog.result(str(cause) if cause is not None else None, text, error=failed) is None:
        place.tally.lose("result without a call")


FORMAT = Format("openhands-v0", "OpenHands V0 event lists and output.jsonl rows", "record", detect, read, whole=True)
