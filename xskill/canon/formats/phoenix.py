"""Arize Phoenix spans: rows of its dataframe (``attributes.llm…`` columns), and of its REST API.

A table has turned integers into floats and absent values into nulls; nested lists keep dotted keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.otlp import add_span
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, at, entries
from xskill.canon.reading.spans import TraceSpan
from xskill.canon.reading.traces import Trace, count_wrappers, episodes

_PREFIX = "attributes."


def detect(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "span_kind" in value
        and "status_code" in value
        and ("context.trace_id" in value or isinstance(at(value, "context.trace_id"), str))
    )


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    traces: dict[str, Trace] = {}
    for number, value in values:
        if not detect(value):
            place.tally.skip("line of another kind")
            continue
        attributes = value.get("attributes")
        if not isinstance(attributes, dict):
            attributes = {
                key.removeprefix(_PREFIX): inner
                for key, inner in value.items()
                if key.startswith(_PREFIX) and inner is not None
            }
        span = TraceSpan(
            id=str(at(value, "context.span_id")),
            trace=str(at(value, "context.trace_id")),
            parent=value["parent_id"] if isinstance(value.get("parent_id"), str) else None,
            name=str(value.get("name")),
            start=str(value.get("start_time")),
            failed=value["status_code"] == "ERROR",
            error=value.get("status_message") or None,
            number=number,
        )
        kind = {"openinference.span.kind": value["span_kind"]}
        events = [(str(e.get("name")), as_mapping(e.get("attributes"))) for e in entries(value.get("events"))]
        add_span(traces, span, {**kind, **attributes}, events, {})
    for trace in traces.values():
        count_wrappers(trace.spans, place)
    yield from episodes(dict(sorted(traces.items(), key=lambda item: _begin(item[1]))), place)


def _begin(trace: Trace) -> tuple[str, str]:
    """Rows come newest first; traces are given in the order of time."""
    return min((span.start, span.id) for span in trace.spans)


FORMAT = Format("phoenix", "Arize Phoenix spans (dataframe rows, REST)", "stream", detect, read)
