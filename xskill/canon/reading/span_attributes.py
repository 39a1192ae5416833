"""Attributes of a span → what :class:`xskill.canon.reading.spans.TraceSpan` holds.

Three vocabularies: the GenAI semantic conventions (JSON attributes from 1.37 on, message events before, and
pydantic-ai's older names), OpenInference (flattened or nested messages), and OpenLLMetry's ``gen_ai.prompt.N``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.evaluations import Evaluations
from xskill.canon.reading.genai import Message, chat_messages
from xskill.canon.reading.spans import TraceSpan

_OPERATIONS = {
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "execute_tool": "tool",
    "invoke_agent": "agent",
}
_KINDS = {"LLM": "llm", "TOOL": "tool", "AGENT": "agent"}
_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message$")
_EVALUATION = re.compile(r"(?:eval|evaluation)\.([\w.\- ]+?)(?:\.(label|score|value))?$")


def fill(span: TraceSpan, attributes: dict[str, Any], events: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Fill a span from its attributes and events (name, attributes)."""
    events = list(events)
    kind = _OPERATIONS.get(str(attributes.get("gen_ai.operation.name")))
    kind = kind or _KINDS.get(str(attributes.get("openinference.span.kind")).upper())
    if kind is None and any(key.startswith("gen_ai.completion.0.") for key in attributes):
        kind = "llm"
    span.kind = kind or ""
    if span.kind == "llm":
        _model(span, attributes, events)
    elif span.kind == "tool":
        _tool(span, attributes)
    elif span.kind == "agent":
        span.name = _text(attributes, "gen_ai.agent.name", "agent.name", "agent_name") or span.name
    if span.failed and span.error is None:
        for name, inner in events:
            if name == "exception":
                words = [inner.get("exception.type"), inner.get("exception.message")]
                span.error = ": ".join(str(part) for part in words if part) or None


def _model(span: TraceSpan, attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]) -> None:
    if "gen_ai.output.messages" in attributes or "gen_ai.input.messages" in attributes:
        span.history = chat_messages(attributes.get("gen_ai.input.messages"))
        span.answer = chat_messages(attributes.get("gen_ai.output.messages"), "assistant")
        return
    span.history = flattened(attributes, "llm.input_messages", "message")
    span.answer = flattened(attributes, "llm.output_messages", "message")
    if not span.history and not span.answer:
        span.history = flattened(attributes, "gen_ai.prompt", "")
        span.answer = flattened(attributes, "gen_ai.completion", "")
    named = [(name, inner) for name, inner in events if _EVENT.match(name) or name == "gen_ai.choice"]
    listed = loads_maybe(attributes.get("events"))
    if isinstance(listed, list):
        named += [(str(e.get("event.name")), e) for e in listed if isinstance(e, dict)]
    for name, inner in named:
        if name == "gen_ai.choice":
            span.answer += chat_messages(inner.get("message") or inner, "assistant")
        elif event := _EVENT.match(name):
            decoded = {key: loads_maybe(value) for key, value in inner.items()}
            message = {**decoded, "role": inner.get("role") or event.group(1)}
            if event.group(1) == "tool" and "id" in inner:
                message["tool_call_id"] = inner["id"]
            span.history.append(message)
    if not span.answer:
        span.answer = chat_messages(attributes.get("output.value"), "assistant")
    if not span.history:
        span.history = chat_messages(attributes.get("input.value"))


def _tool(span: TraceSpan, attributes: dict[str, Any]) -> None:
    span.tool = _text(attributes, "gen_ai.tool.name", "tool.name") or span.name
    span.call_id = _text(attributes, "gen_ai.tool.call.id", "tool_call.id", "tool.id")
    for key in ("gen_ai.tool.call.arguments", "tool_arguments", "input.value"):
        if key in attributes:
            span.arguments = attributes[key]
            break
    for key in ("gen_ai.tool.call.result", "tool_response", "output.value"):
        if attributes.get(key) is not None:
            span.result = as_text(attributes[key])
            break


def flattened(attributes: dict[str, Any], prefix: str, wrap: str) -> list[Message]:
    """Messages of ``prefix.N.wrap.field`` keys (the numbers sort as numbers), or of a list of such objects."""
    listed = attributes.get(prefix)
    if isinstance(listed, list):
        return [_openinference(_nested(entry, wrap)) for entry in listed if isinstance(entry, dict)]
    rows: dict[int, dict[str, Any]] = {}
    start = prefix + "."
    for key, value in attributes.items():
        if key.startswith(start):
            index, _, rest = key[len(start) :].partition(".")
            if index.isdigit():
                rows.setdefault(int(index), {})[rest] = value
    return [_openinference(_nested(rows[index], wrap)) for index in sorted(rows)]


def _nested(entry: dict[str, Any], wrap: str) -> dict[str, Any]:
    """Undo one level of dotted keys: ``message.tool_calls.0.tool_call.id`` → nested dictionaries and lists."""
    tree: dict[str, Any] = {}
    for key, value in entry.items():
        names = key.split(".")
        holder = tree
        for name in names[:-1]:
            inner = holder.setdefault(name, {})
            if not isinstance(inner, dict):
                break
            holder = inner
        else:
            holder[names[-1]] = value
    inner = tree.get(wrap) if wrap else tree
    return inner if isinstance(inner, dict) else tree


def _openinference(message: dict[str, Any]) -> Message:
    calls = []
    for entry in _rows(message.get("tool_calls")):
        call = _nested(entry, "tool_call")
        function = call.get("function")
        calls.append({"id": call.get("id"), "function": function} if isinstance(function, dict) else call)
    content = message.get("content")
    parts = _rows(message.get("contents"))
    if content is None and parts:
        content = [_nested(part, "message_content") for part in parts]
    role = message.get("role")
    return {
        "role": {"model": "assistant"}.get(str(role), role),
        "content": content,
        "tool_calls": calls or None,
        "tool_call_id": message.get("tool_call_id"),
        "reasoning_content": message.get("reasoning_content"),
    }


def _rows(value: Any) -> list[dict[str, Any]]:
    """A list of objects, or the object of numbered ones that flattened keys make."""
    if isinstance(value, list):
        return [entry for entry in value if isinstance(entry, dict)]
    if isinstance(value, dict):
        keys = sorted((key for key in value if str(key).isdigit()), key=int)
        return [value[key] for key in keys if isinstance(value[key], dict)]
    return []


def evaluations(verdict: Evaluations, attributes: dict[str, Any], events: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Feed what a span says about the outcome: ``gen_ai.evaluation.result`` events, ``eval.*`` attributes."""
    for name, inner in events:
        if name == "gen_ai.evaluation.result":
            judged = str(inner.get("gen_ai.evaluation.name") or "evaluation")
            verdict.feed(judged, inner.get("gen_ai.evaluation.score.label"))
            verdict.feed(judged, inner.get("gen_ai.evaluation.score.value"))
    for key in sorted(attributes):
        if metric := _EVALUATION.match(key):
            verdict.feed(metric.group(1), attributes[key])
    nested = attributes.get("eval")
    if isinstance(nested, dict):
        for name, inner in sorted(nested.items()):
            for value in (inner.get("label"), inner.get("score")) if isinstance(inner, dict) else (inner,):
                verdict.feed(name, value)


def _text(attributes: dict[str, Any], *keys: str) -> str | None:
    return next((attributes[key] for key in keys if isinstance(attributes.get(key), str) and attributes[key]), None)
