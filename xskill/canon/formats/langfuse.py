"""Langfuse exports: ``{trace, observations}``; inputs, outputs and metadata are JSON strings, observations unordered.

OpenTelemetry attributes lie inside ``metadata.attributes`` where the trace came in that way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, entry, items, mapping, needed
from xskill.canon.reading.genai import chat_messages
from xskill.canon.reading.span_attributes import fill
from xskill.canon.reading.spans import TraceSpan
from xskill.canon.reading.traces import Trace, count_wrappers, trace_to_episodes

_KINDS = {"GENERATION": "llm", "TOOL": "tool", "AGENT": "agent"}
_KEPT = ("name", "sessionId", "tags", "environment", "release", "version")


def detect(value: Any) -> bool:
    return (
        isinstance(value, dict) and isinstance(value.get("observations"), list) and isinstance(value.get("trace"), dict)
    )


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    head = mapping(needed(record, "trace"), "trace")
    identity = str(head.get("id") or place.stem)
    spans = [_span(o, identity, n) for n, o in enumerate(items(needed(record, "observations"), "observations"))
             if isinstance(o, dict)]  # fmt: skip
    trace = Trace(spans)
    count_wrappers(spans, place)
    trace.extra = {key: head[key] for key in _KEPT if head.get(key) not in (None, [], "")}
    trace.task = _task(head.get("input"))
    for score in items(head.get("scores"), "trace.scores"):
        if isinstance(score, dict):
            value = score.get("stringValue") if score.get("dataType") == "CATEGORICAL" else score.get("value")
            if score.get("dataType") == "BOOLEAN" and value in (0, 1):
                value = bool(value)
            trace.verdict.feed(str(score.get("name")), value)
    for episode in trace_to_episodes(identity, trace, place):
        episode.record = None
        yield episode


def _span(observation: dict[str, Any], trace: str, number: int) -> TraceSpan:
    parent = observation.get("parentObservationId")
    span = TraceSpan(
        id=str(observation.get("id")),
        trace=trace,
        parent=parent if isinstance(parent, str) else None,
        name=str(observation.get("name") or ""),
        start=str(observation.get("startTime")),
        failed=observation.get("level") == "ERROR",
        error=observation.get("statusMessage") if isinstance(observation.get("statusMessage"), str) else None,
        number=number,
    )
    attributes = at(loads_maybe(observation.get("metadata")), "attributes")
    if isinstance(attributes, dict):
        fill(span, attributes, [])
    span.kind = _KINDS.get(str(observation.get("type")), span.kind)
    output = loads_maybe(observation.get("output"))
    if not span.kind and isinstance(output, dict) and output.get("type") == "tool" and "tool_call_id" in output:
        span.kind = "tool"  # LangGraph's tool nodes come as plain spans
    if span.kind == "llm":
        history = chat_messages(observation.get("input"))
        answer = chat_messages(observation.get("output"), "assistant")
        span.history, span.answer = history or span.history, answer or span.answer
    elif span.kind == "tool":
        span.tool = span.tool or span.name
        span.arguments = loads_maybe(observation.get("input")) if observation.get("input") else span.arguments
        if isinstance(output, dict) and "tool_call_id" in output:
            span.call_id = output["tool_call_id"] if isinstance(output["tool_call_id"], str) else None
            span.result = as_text(output.get("content"))
        elif observation.get("output") is not None:
            span.result = as_text(observation["output"])
    return span


def _task(given: Any) -> str | None:
    """What the trace was asked: its input as text, or the last thing the user said in it."""
    value = loads_maybe(loads_maybe(given))
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "messages" in value:
        spoken = [as_text(m.get("content")) for m in chat_messages(value) if m.get("role") == "user"]
        return spoken[-1] if spoken else None
    return None


FORMAT = Format("langfuse", "Langfuse trace exports", "record", detect, read)
