"""OpenHands V1 events: a list (or JSON lines) of events told apart by ``kind``.

Actions and observations join by ``tool_call_id``; events of one ``llm_response_id`` are one turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, items, word

_KINDS = frozenset({
    "ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "AgentErrorEvent", "UserRejectObservation",
    "Condensation", "CondensationRequest", "ConversationErrorEvent", "ConversationStateUpdateEvent", "PauseEvent",
})  # fmt: skip
_ADDED = ("security_risk", "summary")
"""Arguments that the harness adds to every tool."""


def detect(value: Any) -> bool:
    return isinstance(value, dict) and word(value.get("kind")) in _KINDS and "source" in value


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    dialog = Dialog()
    waiting: list[dict[str, Any]] = []
    extra: dict[str, Any] = {}
    claim: str | None = None
    for _, event in values:
        if not isinstance(event, dict):
            place.tally.lose("line that is no object")
            continue
        kind = event.get("kind")
        if waiting and (kind != "ActionEvent" or event.get("llm_response_id") != waiting[0].get("llm_response_id")):
            _act(dialog, waiting)
            waiting = []
        if kind == "ActionEvent":
            waiting.append(event)
            if event.get("tool_name") == "finish":
                claim = "finish"
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            _observe(dialog, event, place)
        elif kind == "MessageEvent":
            text = as_text(at(event, "llm_message.content"))
            if event.get("source") == "agent":
                dialog.agent(text, thought=as_text(at(event, "llm_message.reasoning_content")))
            else:
                dialog.user(text)
        elif kind == "ConversationErrorEvent":
            extra["error"] = {key: event[key] for key in ("code", "detail") if key in event}
        else:
            place.tally.skip(f"{kind}")
    if waiting:
        _act(dialog, waiting)
    if not dialog.steps and dialog.task is None:
        return
    yield RawEpisode(
        steps=dialog.steps,
        id=place.stem,
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        claim=claim,
        extra=extra,
    )


def _act(dialog: Dialog, events: list[dict[str, Any]]) -> None:
    calls: list[ToolCall] = []
    added: list[dict[str, Any]] = []
    thoughts: list[str | None] = []
    for event in events:
        tool_call = event.get("tool_call")
        called: dict[str, Any] = tool_call if isinstance(tool_call, dict) else {}
        arguments = call_arguments(called.get("arguments"))
        if not called:
            action = event.get("action")
            arguments = {k: v for k, v in action.items() if k != "kind"} if isinstance(action, dict) else {}
        extra = {}
        if isinstance(arguments, dict):
            extra = {key: arguments[key] for key in _ADDED if key in arguments}
            arguments = {key: value for key, value in arguments.items() if key not in _ADDED}
        identity = called.get("id") or event.get("tool_call_id")
        name = called.get("name") or event.get("tool_name") or "unknown"
        calls.append(ToolCall(identity if isinstance(identity, str) else None, str(name), arguments))
        added.append(extra)
        thoughts += [as_text(event.get("reasoning_content")), *_thinking(event), as_text(event.get("thought") or None)]
    for step, extra in zip(dialog.agent(None, calls, thought=join(*thoughts)), added, strict=True):
        step.extra = extra or None


def _thinking(event: dict[str, Any]) -> list[str | None]:
    blocks = items(event.get("thinking_blocks"), "thinking_blocks")
    return [as_text(block.get("thinking")) for block in blocks if isinstance(block, dict)]


def _observe(dialog: Dialog, event: dict[str, Any], place: Place) -> None:
    observation = event.get("observation")
    failed = event.get("kind") != "ObservationEvent"
    if isinstance(observation, dict):
        text = as_text(observation.get("content"))
        code = observation.get("exit_code")
        failed = failed or observation.get("is_error") is True or (isinstance(code, int) and code not in (0, -1))
    else:
        text = as_text(observation or event.get("error") or event.get("rejection_reason"))
    identity = event.get("tool_call_id")
    if dialog.result(identity if isinstance(identity, str) else None, text, error=failed) is None:
        place.tally.lose("observation without an action")


FORMAT = Format("openhands", "OpenHands V1 events", "stream", detect, read)
