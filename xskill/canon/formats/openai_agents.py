"""The OpenAI Agents SDK's own trace export: lines with ``object`` ``trace`` or ``trace.span``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at
from xskill.canon.reading.genai import chat_messages
from xskill.canon.reading.spans import TraceSpan
from xskill.canon.reading.traces import Trace, count_wrappers, episodes

_KINDS = {"generation": "llm", "response": "llm", "function": "tool", "agent": "agent"}


def detect(value: Any) -> bool:
    return (
        isinstance(value, dict) and value.get("object") in ("trace", "trace.span") and isinstance(value.get("id"), str)
    )


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    traces: dict[str, Trace] = {}
    for number, value in values:
        if not detect(value):
            place.tally.skip("line of another kind")
        elif value["object"] == "trace":
            trace = traces.setdefault(value["id"], Trace())
            trace.extra.update({key: value[key] for key in ("workflow_name", "group_id", "metadata") if value.get(key)})
        else:
            span = _span(value, number)
            traces.setdefault(span.trace, Trace()).spans.append(span)
    for trace in traces.values():
        count_wrappers(trace.spans, place)
    yield from episodes(traces, place)


def _span(value: dict[str, Any], number: int) -> TraceSpan:
    data = value["span_data"] if isinstance(value.get("span_data"), dict) else {}
    error = value.get("error")
    span = TraceSpan(
        id=value["id"],
        trace=str(value.get("trace_id")),
        parent=value["parent_id"] if isinstance(value.get("parent_id"), str) else None,
        name=str(data.get("name") or data.get("type")),
        start=str(value.get("started_at")),
        kind=_KINDS.get(str(data.get("type")), ""),
        failed=bool(error),
        error=as_text(at(error, "data.error") or at(error, "message")),
        number=number,
    )
    if span.kind == "llm":
        span.history = chat_messages(data.get("input"))
        span.answer = chat_messages(data.get("output") or data.get("response"), "assistant")
    elif span.kind == "tool":
        span.tool = span.name
        span.arguments = data.get("input")
        span.result = as_text(data.get("output"))
    return span


FORMAT = Format("openai-agents", "trace export of the OpenAI Agents SDK", "stream", detect, read)
