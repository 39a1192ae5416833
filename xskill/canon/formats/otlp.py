"""OTLP JSON: ``resourceSpans`` as SDKs, the Collector's file exporter and Phoenix write them, and console records.

Spans arrive when they end, traces are spread over lines, ids are hex, numbers may be strings, keys are camelCase or
snake_case, and a value may name all its alternatives with nulls. The attributes are GenAI or OpenInference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import loads_maybe
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, entries
from xskill.canon.reading.span_attributes import evaluations, fill
from xskill.canon.reading.spans import TraceSpan
from xskill.canon.reading.traces import Trace, count_wrappers, episodes

_SNAKE = re.compile(r"_([a-z])")
_KEPT = ("session.id", "eval.case_id", "service.name", "metadata", "tag.tags", "gen_ai.request.model", "llm.model_name")
_MAX_DEPTH = 32


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("resourceSpans", value.get("resource_spans")), list):
        return True
    data = value.get("data")
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "start_time_unix_nano" in data[0]


def detect_console(value: Any) -> bool:
    """The record of an SDK's console exporter (``ReadableSpan.to_json``)."""
    return (
        isinstance(value, dict)
        and isinstance(at(value, "context.trace_id"), str)
        and isinstance(value.get("attributes"), dict)
        and str(value.get("kind", "")).startswith("SpanKind.")
    )


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    traces: dict[str, Trace] = {}
    for number, value in values:
        for resource, span in _raw_spans(value):
            attributes = decode_attributes(span.get("attributes"))
            one = TraceSpan(
                id=_text(span.get("spanId")),
                trace=_text(span.get("traceId")) or f"trace-{number}",
                parent=_text(span.get("parentSpanId")) or None,
                name=_text(span.get("name")),
                start=_nanos(span.get("startTimeUnixNano")),
                failed=at(span, "status.code") in (2, "STATUS_CODE_ERROR", "2"),
                error=at(span, "status.message") or None,
                number=number,
            )
            events = [
                (_text(event.get("name")), decode_attributes(event.get("attributes")))
                for event in entries(span.get("events"))
            ]
            add_span(traces, one, attributes, events, resource)
    yield from _finish(traces, place)


def read_console(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    traces: dict[str, Trace] = {}
    for number, value in values:
        if not detect_console(value):
            place.tally.skip("line of another kind")
            continue
        one = TraceSpan(
            id=_hex(at(value, "context.span_id")),
            trace=_hex(at(value, "context.trace_id")),
            parent=_hex(value.get("parent_id")) or None,
            name=_text(value.get("name")),
            start=_text(value.get("start_time")),
            failed=at(value, "status.status_code") == "ERROR",
            error=at(value, "status.description") or None,
            number=number,
        )
        events = [
            (_text(event.get("name")), as_mapping(event.get("attributes"))) for event in entries(value.get("events"))
        ]
        add_span(traces, one, value["attributes"], events, as_mapping(at(value, "resource.attributes")))
    yield from _finish(traces, place)


def add_span(
    traces: dict[str, Trace],
    span: TraceSpan,
    attributes: dict[str, Any],
    events: list[tuple[str, dict[str, Any]]],
    resource: dict[str, Any],
) -> None:
    """Put a span with its attributes into its trace, and what they say of the whole into ``extra``."""
    trace = traces.setdefault(span.trace, Trace())
    fill(span, attributes, events)
    trace.spans.append(span)
    evaluations(trace.verdict, attributes, events)
    for key in _KEPT:
        value = attributes.get(key, resource.get(key))
        if value not in (None, "") and key not in trace.extra:
            trace.extra[key] = loads_maybe(value)


def _finish(traces: dict[str, Trace], place: Place) -> Iterator[RawEpisode]:
    for trace in traces.values():
        count_wrappers(trace.spans, place)
    yield from episodes(traces, place)


def _raw_spans(value: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(resource attributes, span with camelCase keys) of one line or document."""
    if not isinstance(value, dict):
        return
    for span in entries(value.get("data")):
        yield {}, _camel(span)
    for group in entries(value.get("resourceSpans") or value.get("resource_spans")):
        resource = decode_attributes(at(group, "resource.attributes"))
        for scope in entries(group.get("scopeSpans") or group.get("scope_spans")):
            for span in entries(scope.get("spans")):
                yield resource, _camel(span)


def decode_attributes(listed: Any) -> dict[str, Any]:
    """``[{key, value: {stringValue: …}}]`` as a dictionary of plain values."""
    if not isinstance(listed, list):
        return {}
    return {
        entry["key"]: _value(entry.get("value"), 0)
        for entry in listed
        if isinstance(entry, dict) and isinstance(entry.get("key"), str)
    }


def _value(value: Any, depth: int) -> Any:
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return None
    for key, inner in value.items():
        if inner is None:
            continue
        name = _SNAKE.sub(lambda m: m.group(1).upper(), key)
        if name == "intValue":
            return int(inner) if isinstance(inner, (int, str)) and str(inner).lstrip("-").isdigit() else inner
        if name == "arrayValue":
            return [_value(item, depth + 1) for item in at(inner, "values") or []]
        if name == "kvlistValue":
            pairs = [entry for entry in at(inner, "values") or [] if isinstance(entry, dict)]
            return {str(entry.get("key")): _value(entry.get("value"), depth + 1) for entry in pairs}
        return inner
    return None


def _camel(span: dict[str, Any]) -> dict[str, Any]:
    if "spanId" in span:
        return span
    return {_SNAKE.sub(lambda m: m.group(1).upper(), key): value for key, value in span.items()}


def _nanos(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _hex(value: Any) -> str:
    return _text(value).removeprefix("0x")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


FORMAT = Format("otlp", "OTLP JSON traces with GenAI or OpenInference attributes", "stream", detect, read)
CONSOLE = Format("otel-console", "spans as the OpenTelemetry console exporter prints them", "stream", detect_console,
                 read_console)  # fmt: skip
