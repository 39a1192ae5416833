"""LangSmith runs: flat rows in any order, trees with ``child_runs``, or batches ``{post, patch}`` of the SDK.

``dotted_order`` sorts runs and ends in the id of its run. A run that comes more than once is one run: what a later
row tells takes the place of what an earlier one told, and a patch only adds to its run, wherever it stands.
"""

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
    return _is_run(value) or _is_batch(value)


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and "run_type" in value and ("dotted_order" in value or "trace_id" in value)


def _is_batch(value: Any) -> bool:
    """A batch as the SDKs send it: runs that begin under ``post``, what ended them under ``patch``."""
    if not isinstance(value, dict) or not value.keys() & {"post", "patch"}:
        return False
    listed = [value.get("post") or [], value.get("patch") or []]
    if not all(isinstance(runs, list) for runs in listed):
        return False
    runs = [run for one in listed for run in one]
    return bool(runs) and all(isinstance(run, dict) and run.keys() & {"dotted_order", "trace_id"} for run in runs[:8])


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    traces: dict[str, Trace] = {}
    for number, run in _once(values, place):
        span = _span(run, number)
        trace = traces.setdefault(span.trace, Trace())
        trace.spans.append(span)
        if span.parent is None:
            _root(trace, run)
    for trace in traces.values():
        count_wrappers(trace.spans, place)
    yield from episodes(dict(sorted(traces.items(), key=lambda item: min(s.start for s in item[1].spans))), place)


def _once(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every run once, with all that the rows of its id tell, in the order in which the runs first come."""
    runs: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, value in values:
        if _is_run(value):
            rows = [(run, False) for run in _flat(value)]
        elif _is_batch(value):
            rows = [(run, False) for post in value.get("post") or () if isinstance(post, dict) for run in _flat(post)]
            rows += [(run, True) for run in value.get("patch") or () if isinstance(run, dict)]
        else:
            place.tally.lose("records of no known kind")
            continue
        for run, is_patch in rows:
            key = _identity(run)
            first, before = runs.get(key, (number, None))
            if before is not None and not is_patch and before.get("run_type") is not None:
                place.tally.skip("runs written again")
            runs[key] = first, run if before is None else _joined(before, run)
    for number, run in runs.values():
        if run.get("run_type") is None:
            place.tally.lose("patches of a run that is not there")
        else:
            yield number, run


def _identity(run: dict[str, Any]) -> str:
    """Id of a run; that of a patch without one ends its ``dotted_order``."""
    order = run.get("dotted_order")
    last = order.rsplit(".", 1)[-1].partition("Z")[2] if isinstance(order, str) else ""
    return str(run.get("id") or last or run.get("trace_id")).lower()


def _joined(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Two rows of one run: the later fields hold, but what it leaves empty stays; metadata is joined."""
    joined = {**before, **{key: value for key, value in after.items() if value is not None and value != {}}}
    metadata = [at(row, "extra.metadata") for row in (before, after)]
    if isinstance(joined.get("extra"), dict) and any(isinstance(one, dict) and one for one in metadata):
        merged = {key: value for one in metadata if isinstance(one, dict) for key, value in one.items()}
        joined["extra"] = {**joined["extra"], "metadata": merged}
    return joined


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
        id=_identity(run),
        trace=str(run.get("trace_id") or run.get("id")),
        parent=parent.lower() if isinstance(parent, str) else None,
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


FORMAT = Format("langsmith", "LangSmith runs: flat, as trees, or as batches of the SDK", "stream", detect, read)
