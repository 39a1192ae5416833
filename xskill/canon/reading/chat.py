"""Message lists in the OpenAI, Anthropic and LangChain spellings → a :class:`Dialog`.

Read by many formats: the shape of a message is the same wherever it lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xskill.canon.reading.content_text import as_text, join, loads_maybe
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import SourceTally
from xskill.canon.reading.fields import fail, word
from xskill.canon.reading.written_calls import Answer, is_wrapped_answer, written_answers
from xskill.errors import BadRecord

AGENT = frozenset({"assistant", "ai", "model", "gpt", "agent", "AIMessage"})
USER = frozenset({"user", "human", "HumanMessage"})
TOOL = frozenset({"tool", "function", "ipython", "observation", "tool_result", "ToolMessage"})
SYSTEM = frozenset({"system", "developer", "SystemMessage"})

_PARTS = {
    role: part
    for part, roles in (("agent", AGENT), ("tool", TOOL), ("user", USER), ("system", SYSTEM))
    for role in roles
}
_PLAIN = frozenset({"role", "content", "tool_calls", "refusal"})
_THOUGHT_TYPES = frozenset({"thinking", "reasoning", "redacted_thinking"})
_CALL_TYPES = frozenset({"tool_use", "tool_call", "server_tool_use", "function_call", "function"})


def add_messages(dialog: Dialog, messages: Iterable[Any], tally: SourceTally, path: str = "messages") -> None:
    """Feed messages into the dialog, in order.

    Raises:
        BadRecord: a message that is no object.
    """
    orphans, repeated = dialog.orphans, dialog.repeated
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise fail(f"{path}[{index}]", "a message", message)
        role = word(message.get("role") or message.get("type"))
        part = _PARTS.get(role)
        if part == "agent":
            if not _add_plain_agent(dialog, message):
                _add_agent(dialog, message, f"{path}[{index}]")
        elif part == "tool":
            _add_result(dialog, message)
        elif part == "user":
            _add_user(dialog, message.get("content"))
        elif part == "system":
            tally.skip("system message")
        else:
            tally.lose(f"message of role {role}")
    if dialog.orphans > orphans:
        tally.lose("result without a call", dialog.orphans - orphans)
    if dialog.repeated > repeated:
        tally.skip("result that came twice", dialog.repeated - repeated)


def _add_plain_agent(dialog: Dialog, message: dict[str, Any]) -> bool:
    """The usual shape, without a detour: a text and calls of functions by id; False for any other."""
    if not message.keys() <= _PLAIN and any(message[key] for key in message.keys() - _PLAIN):
        return False
    content = message.get("content") or message.get("refusal")
    if content is not None and type(content) is not str:
        return False
    calls = []
    try:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            name, identity = function["name"], call["id"]
            if type(name) is not str or type(identity) is not str or not name or not identity:
                return False
            calls.append((identity, name, function["arguments"]))
    except (TypeError, KeyError):
        return False
    dialog.agent(content, calls)
    return True


def _add_agent(dialog: Dialog, message: dict[str, Any], path: str) -> None:
    content = message.get("content") or message.get("refusal")
    thought = message.get("reasoning_content") or message.get("reasoning")
    calls = list(_calls(message, path))
    text: str | None
    results: list[dict[str, Any]] = []
    if isinstance(content, list):
        texts: list[str] = []
        thoughts: list[str] = []
        ids = {call.id for call in calls if call.id is not None}
        for part in content:
            kind = word(part.get("type")) if isinstance(part, dict) else ""
            if kind in _THOUGHT_TYPES:
                thoughts.append(as_text(part.get("thinking") or part.get("reasoning") or part.get("text")) or "")
            elif kind in _CALL_TYPES:
                call = _call_part(part)
                if call.id is None or call.id not in ids:
                    calls.append(call)
            elif kind.endswith("tool_result"):
                results.append(part)  # of a tool that the model's own server ran
            else:
                texts.append(as_text([part]) or "")
        text = join(*texts)
        thought = join(as_text(thought), *thoughts)
    else:
        text = as_text(content)
    dialog.agent(text, calls, thought=as_text(thought))
    for part in results:
        _add_result_part(dialog, part)


def _calls(message: dict[str, Any], path: str) -> Iterable[ToolCall]:
    listed = message.get("tool_calls")
    if isinstance(listed, str):
        listed = loads_maybe(listed)
    if listed:
        if not isinstance(listed, list):
            raise fail(f"{path}.tool_calls", "a list", listed)
        for index, call in enumerate(listed):
            yield read_call(call, f"{path}.tool_calls[{index}]")
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        yield ToolCall(None, str(legacy.get("name") or "unknown"), legacy.get("arguments"))


def read_call(call: Any, path: str = "tool_calls") -> ToolCall:
    """One entry of a list of calls, in any of its spellings (a JSON string of it too).

    Raises:
        BadRecord: no object, or one without a name.
    """
    if isinstance(call, str):
        call = loads_maybe(call)
    if not isinstance(call, dict):
        raise fail(path, "a call", call)
    function = call.get("function")
    holder = function if isinstance(function, dict) else call
    name = holder.get("name") or call.get("function_name") or (function if isinstance(function, str) else None)
    if not isinstance(name, str) or not name:
        raise BadRecord("a call without a name", path=path)
    arguments: Any = None
    for key in ("arguments", "args", "input", "parameters", "kwargs"):
        if key in holder or key in call:
            arguments = holder[key] if key in holder else call[key]
            break
    identity = call.get("id") or call.get("tool_call_id") or call.get("call_id")
    return ToolCall(str(identity) if identity else None, name, arguments)


def _call_part(part: dict[str, Any]) -> ToolCall:
    inner = part.get("tool_call") if isinstance(part.get("tool_call"), dict) else part
    return read_call(inner, "content")


def _add_user(dialog: Dialog, content: Any) -> None:
    if isinstance(content, list):
        rest = []
        for part in content:
            if isinstance(part, dict) and part.get("type") == "tool_result":
                _add_result_part(dialog, part)
            else:
                rest.append(part)
        content = rest or None
    dialog.user(as_text(content))


def _add_result_part(dialog: Dialog, part: dict[str, Any]) -> None:
    error = bool(part.get("is_error")) or str(part.get("type")).endswith("error")
    content = part.get("content") if "content" in part else part.get("output")
    dialog.result(_id(part.get("tool_use_id") or part.get("id")), as_text(content), error=error)


def _add_result(dialog: Dialog, message: dict[str, Any]) -> None:
    content = message.get("content")
    error = message.get("error")
    failed = bool(error) or message.get("status") == "error" or message.get("is_error") is True
    text = as_text(content)
    if error and not text:
        text = as_text(error.get("message") if isinstance(error, dict) and error.get("message") else error)
    name = message.get("name")
    if text is not None and is_wrapped_answer(text):
        answers = written_answers(text)
    else:
        answers = [Answer(name if isinstance(name, str) else None, text or "")]
    identity = _id(message.get("tool_call_id") or message.get("tool_use_id"))
    for answer in answers:
        dialog.result(identity, answer.text, error=failed, name=answer.name)


def _id(value: Any) -> str | None:
    return str(value) if value else None
