"""Messages of any model API or framework → the chat messages that :mod:`xskill.canon.reading.chat` reads.

Understood: OpenAI chat and Responses items, Anthropic, GenAI semantic conventions (``parts``), OpenTelemetry
message events, LangChain constructors, Gemini contents; JSON strings of them, and the wrappings in which they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.fields import word

Message = dict[str, Any]

_ITEMS = frozenset({"function_call", "custom_tool_call", "mcp_call"})
_MAX_DEPTH = 6


def chat_messages(value: Any, role: str = "user", depth: int = 0) -> list[Message]:
    """The messages in a value of unknown shape; bare text is a message of ``role``."""
    value = loads_maybe(value)
    if depth > _MAX_DEPTH or value is None:
        return []
    if isinstance(value, str):
        return [{"role": role, "content": value}] if value.strip() else []
    if isinstance(value, dict):
        return _from_object(value, role, depth)
    if isinstance(value, list):
        if value and all(isinstance(inner, list) for inner in value):
            return chat_messages(value[0], role, depth + 1)
        return list(_joined(message for item in value for message in chat_messages(item, role, depth + 1)))
    return []


def _from_object(value: dict[str, Any], role: str, depth: int) -> list[Message]:
    for key in ("messages", "output", "generations", "choices"):
        inner = loads_maybe(value.get(key))
        if isinstance(inner, list) and inner and not isinstance(value.get("role"), str):
            return chat_messages(inner[:1] if key == "choices" else inner, role, depth + 1)
    if isinstance(value.get("message"), dict):
        return chat_messages(value["message"], role, depth + 1)
    if value.get("lc") is not None and isinstance(value.get("kwargs"), dict):
        value = value["kwargs"]
    if word(value.get("type")) in _ITEMS:
        identity = value.get("call_id") or value.get("id")
        arguments = value.get("arguments", value.get("input"))
        call = {"id": identity, "name": value.get("name") or "unknown", "arguments": arguments}
        return [{"role": "assistant", "content": None, "tool_calls": [call], "_item": True}]
    if str(value.get("type")).endswith("call_output"):
        return [{"role": "tool", "tool_call_id": value.get("call_id"), "content": value.get("output")}]
    if value.get("type") == "reasoning":
        thought = as_text(value.get("summary") or value.get("content") or None)
        return [{"role": "assistant", "content": None, "reasoning_content": thought, "_item": True}]
    if isinstance(value.get("parts"), list):
        return list(_from_parts(value, role))
    kind = value.get("role") or value.get("type")
    if not isinstance(kind, str):
        return []
    message = {**value, "role": kind if isinstance(value.get("role"), str) else _framework_role(kind, role)}
    inner = value.get("additional_kwargs")
    if isinstance(inner, dict) and inner.get("tool_calls") and not value.get("tool_calls"):
        message["tool_calls"] = inner["tool_calls"]
    content = value.get("content")
    if message["role"] == "tool" and isinstance(content, dict) and content.get("type") == "function":
        return []  # a tool's definition among the messages
    if value.get("type") == "message" and message["role"] == "assistant":
        message["_item"] = True
    return [message]


def _framework_role(kind: str, role: str) -> str:
    return {"human": "user", "ai": "assistant", "AIMessage": "assistant", "HumanMessage": "user"}.get(
        kind, kind if kind in ("system", "tool", "assistant", "user", "function") else role
    )


def _from_parts(value: dict[str, Any], role: str) -> Iterator[Message]:
    """A message made of parts: GenAI semantic conventions, or a Gemini content."""
    content: list[Any] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    results: list[Message] = []
    for part in value["parts"]:
        if not isinstance(part, dict):
            content.append(part)
            continue
        kind = part.get("type")
        if kind == "tool_call" or "functionCall" in part:
            called = part.get("functionCall") or part
            arguments = called.get("arguments", called.get("args"))
            calls.append({"id": called.get("id"), "name": called.get("name"), "arguments": arguments})
        elif kind == "tool_call_response" or "functionResponse" in part:
            response = part.get("functionResponse") or part
            text = response.get("result", response.get("response"))
            if isinstance(text, dict) and len(text) == 1 and text.keys() & {"output", "result", "error"}:
                (text,) = text.values()
            name = response.get("name")
            results.append({"role": "tool", "tool_call_id": response.get("id"), "name": name, "content": text})
        elif kind in ("reasoning", "thinking") or part.get("thought") is True:
            thoughts.append(as_text(part.get("content", part.get("text"))) or "")
        else:
            content.append(part)
    speaker = value.get("role")
    speaker = "assistant" if speaker == "model" else speaker if isinstance(speaker, str) else role
    yield from results
    if content or calls or thoughts:
        yield {
            "role": speaker,
            "content": content or None,
            "tool_calls": calls or None,
            "reasoning_content": "\n\n".join(thoughts) or None,
        }


def _joined(messages: Iterator[Message]) -> Iterator[Message]:
    """Items of one response (reasoning, text, calls) become one message of the agent."""
    waiting: Message | None = None
    for message in messages:
        if not message.get("_item"):
            if waiting is not None:
                yield waiting
                waiting = None
            yield message
            continue
        if waiting is None:
            waiting = {"role": "assistant", "content": None, "tool_calls": [], "reasoning_content": None, "_item": True}
        waiting["tool_calls"] = (waiting["tool_calls"] or []) + (message.get("tool_calls") or [])
        for key in ("content", "reasoning_content"):
            parts = [as_text(one) for one in (waiting[key], message.get(key)) if one]
            waiting[key] = "\n\n".join(part for part in parts if part) or None
    if waiting is not None:
        yield waiting
