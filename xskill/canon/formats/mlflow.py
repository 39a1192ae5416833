"""MLflow traces (v3; v2 names too): ``Trace.to_json`` lines, rows of ``search_traces``, and FileStore folders.

Every attribute is JSON inside a string. Assessments are unordered; an invalid one was overridden. In a
FileStore the outcome lies in YAML files beside the spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.harbor import load
from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, entry, items, mapping, needed
from xskill.canon.reading.flat_yaml import read_flat_yaml
from xskill.canon.reading.genai import chat_messages
from xskill.canon.reading.spans import TraceSpan
from xskill.canon.reading.traces import Trace, count_wrappers, trace_to_episodes
from xskill.errors import BadRecord

_KINDS = {"CHAT_MODEL": "llm", "LLM": "llm", "TOOL": "tool", "AGENT": "agent"}
_HIDDEN = ("mlflow.trace.", "mlflow.source.", "mlflow.user", "mlflow.artifactLocation", "mlflow.trace_schema")


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(at(value, "data.spans"), list) and isinstance(value.get("info"), dict):
        return True
    return isinstance(value.get("trace"), str) and "trace_metadata" in value and "spans" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    if isinstance(record.get("trace"), str):
        inner = loads_maybe(record["trace"])
        if not detect(inner):
            raise BadRecord("the column holds no MLflow trace", path="trace")
        record = inner
    info = mapping(needed(record, "info"), "info")
    yield from _trace(
        info,
        items(at(needed(record, "data"), "spans"), "data.spans"),
        items(info.get("assessments"), "assessments"),
        place,
    )


def detect_folder(path: Any) -> bool:
    return bool(_stored(path))


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    """Every trace below a FileStore, an experiment, or one trace's folder."""
    for folder in _stored(path):
        try:
            info = read_flat_yaml((folder / "trace_info.yaml").read_text("utf-8", "replace"))
            info["tags"] = {
                file.name: file.read_text("utf-8", "replace")
                for file in sorted(folder.glob("tags/*"))
                if file.is_file()
            }
            assessments = [
                read_flat_yaml(file.read_text("utf-8", "replace")) for file in sorted(folder.glob("assessments/*.yaml"))
            ]
            spans = items(mapping(load(folder / "artifacts" / "traces.json"), "").get("spans"), "spans")
            yield from _trace(info, spans, assessments, place)
        except BadRecord as error:
            place.bad.append(error.at(str(folder)))


def _stored(path: Path) -> list[Path]:
    """Folders of single traces in a FileStore."""
    patterns = ("trace_info.yaml", "traces/*/trace_info.yaml", "*/traces/*/trace_info.yaml")
    return sorted(
        file.parent
        for pattern in patterns
        for file in path.glob(pattern)
        if (file.parent / "artifacts" / "traces.json").is_file()
    )


def _trace(info: dict[str, Any], spans: list[Any], assessments: list[Any], place: Place) -> Iterator[RawEpisode]:
    identity = str(info.get("trace_id") or info.get("request_id") or place.stem)
    trace = Trace([_span(span, identity, number) for number, span in enumerate(spans) if isinstance(span, dict)])
    count_wrappers(trace.spans, place)
    tags = info.get("tags")
    kept = {k: v for k, v in tags.items() if not k.startswith(_HIDDEN)} if isinstance(tags, dict) else {}
    if kept:
        trace.extra["metadata"] = kept
    if info.get("state") == "ERROR" or info.get("status") == "ERROR":
        trace.extra["error"] = next((s.error for s in trace.spans if s.failed and s.parent is None), None) or "ERROR"
    for one in sorted((a for a in assessments if isinstance(a, dict)), key=lambda a: str(a.get("assessment_id"))):
        if one.get("valid") is False:
            place.tally.skip("overridden assessment")
            continue
        if isinstance(one.get("feedback"), dict):
            trace.verdict.feed(str(one.get("assessment_name") or one.get("name")), one["feedback"].get("value"))
        elif "expectation" in one:
            trace.extra.setdefault("expectations", {})[str(one.get("assessment_name"))] = at(one, "expectation.value")
    for episode in trace_to_episodes(identity, trace, place):
        episode.record = None
        yield episode


def _span(span: dict[str, Any], trace: str, number: int) -> TraceSpan:
    written = span.get("attributes")
    attributes = {key: loads_maybe(value) for key, value in written.items()} if isinstance(written, dict) else {}
    attributes = {key: loads_maybe(_unquoted(value)) for key, value in attributes.items()}
    parent = span.get("parent_span_id") or span.get("parent_id")
    status = span.get("status") if isinstance(span.get("status"), dict) else {}
    code = str(at(status, "code") or span.get("status_code") or "")
    result = TraceSpan(
        id=str(span.get("span_id") or at(span, "context.span_id")),
        trace=trace,
        parent=parent if isinstance(parent, str) else None,
        name=str(span.get("name")),
        start=span["start_time_unix_nano"] if isinstance(span.get("start_time_unix_nano"), int) else 0,
        kind=_KINDS.get(str(attributes.get("mlflow.spanType")), ""),
        failed=code.endswith("ERROR"),
        error=at(status, "message") or None,
        number=number,
    )
    inputs, outputs = attributes.get("mlflow.spanInputs"), attributes.get("mlflow.spanOutputs")
    if result.kind == "llm":
        result.history = chat_messages(inputs)
        result.answer = chat_messages(outputs, "assistant")
    elif result.kind == "tool":
        result.tool = result.name
        result.arguments = inputs
        identity = attributes.get("tool_call_id")
        result.call_id = identity if isinstance(identity, str) else None
        result.result = as_text(outputs)
    return result


def _unquoted(value: Any) -> Any:
    r"""A JSON string inside the string (``"\"TOOL\""``)."""
    return loads_maybe(value) if isinstance(value, str) and value[:1] == '"' else value


FORMAT = Format("mlflow", "MLflow traces (Trace.to_json, search_traces rows)", "record", detect, read)
FOLDER = Format("mlflow-store", "an MLflow FileStore, experiment or trace folder", "folder", detect_folder, read_folder)
