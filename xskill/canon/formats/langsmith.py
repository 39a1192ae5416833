"""LangSmith runs: flat rows in any order, or trees with ``child_runs``; ``dotted_order`` sorts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at
from xskill.canon.reading.genai import chat_messages
from xskill.canon.reading.spans import TraceSpan
from xskill.canon.reading.traces import Trace, count_wrappers, episodes

_KINDS = {"llm": "llm", "tool": "tool"}


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "run_type" in value and ("dotted_order" in value or "trace_id" in value)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    traces: dict[str, Trace] = {}
    for number, value in values:
        if not detect(value):
            place.tally.skip("line of another kind")
            continue
        for run in _flat(value):
            span = _span(run, number)
            trace = traces.setdefault(span.trace, Trace())
            trace.spans.append(span)
            if span.parent is None:
                _root(trace, run)
    for trace in traces.values():
        count_wrappers(trace.spans, place)
    yield from episodes(dict(sorted(traces.items(), key=lambda item: min(s.start for s in item[1].spans))), place)


def _flat(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A run and all below it."""
    waiting = [run]
    while waiting:
        one = waiting.pop()
        yield one
        children = one.get("child_runs")
        waiting += [child for child in children or [] if isinstance(child, dict)] if isinstance(children, list) else []


def _span(run: dict[str, Any], number: int) -> TraceSpan:
    parent = run.get("parent_run_id")
    error = run.get("error")
    span = TraceSpan(
        id=str(run.get("id")),
        trace=str(run.get("trace_id") or run.get("id")),
        parent=parent if isinstance(parent, str) else None,
        name=str(run.get("name")),
        start=str(run.get("dotted_order") or run.get("start_time")),
        kind=_KINDS.get(str(run.get("run_type")), ""),
        failed=bool(error),
        error=error if isinstance(error, str) else None,
        number=number,
    )
    inputs, outputs = run.get("inputs"), run.get("outputs")
    if span.kind == "llm":
        span.history = chat_messages(inputs)
        span.answer = chat_messages(outputs, "assistant")
    elif span.kind == "tool":
        span.tool = span.name
        span.arguments = (
            loads_maybe(at(inputs, "input")) if isinstance(inputs, dict) and set(inputs) == {"input"} else inputs
        )
        identity = at(run, "extra.tool_call_id") or at(outputs, "output.tool_call_id")
        span.call_id = identity if isinstance(identity, str) else None
        span.result = _result(outputs)
    return span


def _result(outputs: Any) -> str | None:
    output = outputs.get("output", outputs or None) if isinstance(outputs, dict) else outputs
    if isinstance(output, dict):
        message = output["kwargs"] if isinstance(output.get("kwargs"), dict) else output
        if message.get("type") == "tool" or "tool_call_id" in message:
            return as_text(message.get("content"))
    return as_text(output)


def _root(trace: Trace, run: dict[str, Any]) -> None:
    metadata = at(run, "extra.metadata")
    if isinstance(metadata, dict):
        trace.extra["metadata"] = {key: value for key, value in metadata.items() if not key.startswith("ls_")}
    if isinstance(run.get("error"), str):
        trace.extra["error"] = run["error"]
    stats = run.get("feedback_stats")
    for name, one in sorted(stats.items()) if isinstance(stats, dict) else ():
        if isinstance(one, dict):
            trace.verdict.feed(name, one.get("avg"))


FORMAT = Format("langsmith", "LangSmith runs, flat or as trees", "stream", detect, read)
