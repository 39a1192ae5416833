"""Calls that a model wrote into its text, as models do whose server does not parse them, and the answers to such calls.

==================================  ==========================================================================
written by                          form
==================================  ==========================================================================
Hermes, Qwen, many open models      ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``
Qwen3-Coder, OpenHands              ``<function=NAME><parameter=KEY>value</parameter></function>``
Llama                               ``<function=NAME>{…}</function>``
Claude's older XML                  ``<invoke name="NAME"><parameter name="KEY">value</parameter></invoke>``
Mistral                             ``[TOOL_CALLS] [{"name": …, "arguments": {…}}]``
==================================  ==========================================================================

Nothing inside a fenced block is a call: there somebody explains one.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from xskill.canon.reading.content_text import as_text, join, loads_maybe

_MARKS = ("<tool_call>", "<function=", "<invoke name=", "[TOOL_CALLS]", "<function_call>")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.S)
_TAGGED = re.compile(r"<(tool_call|function_call)>\s*(\{.*?\})\s*(?:</\1>|\Z)", re.S)
_FUNCTION = re.compile(
    r"(?:<tool_call>\s*)?<function=([^>\s]+)>(.*?)(?:</function>|\Z)(?:\s*</tool_call>)?", re.S
)  # fmt: skip
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.S)
_INVOKE = re.compile(r"<invoke name=\"([^\"]+)\">(.*?)(?:</invoke>|\Z)", re.S)
_INVOKED = re.compile(r"<parameter name=\"([^\"]+)\"[^>]*>\n?(.*?)\n?</parameter>", re.S)
_LISTED = re.compile(r"\[TOOL_CALLS\]\s*(\[.*\])", re.S)
_AROUND = re.compile(r"</?function_calls>")
_THINK = re.compile(r"\A\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.S)

_ANSWER = re.compile(r"<(tool_response|function_response|tool_result|function_result|result)>(.*?)(?:</\1>|\Z)", re.S)
_EXECUTED = re.compile(r"\A\s*EXECUTION RESULT of \[([^\]]+)\]:\s*")
_ANSWERS_AROUND = re.compile(r"</?(?:function_results|tool_responses)>")


class Written(NamedTuple):
    """What a text holds: what is said beside the calls, the reasoning before it, and the calls."""

    text: str | None
    thought: str | None
    calls: list[tuple[None, str, Any]]


class Answer(NamedTuple):
    """One result that came as text: the tool that it names, where it does."""

    name: str | None
    text: str


def written_calls(text: str) -> Written | None:
    """The calls in a text of the agent; None where it holds none.

    >>> written_calls('Look.<tool_call>{"name": "find", "arguments": {"x": 1}}</tool_call>')
    Written(text='Look.', thought=None, calls=[(None, 'find', {'x': 1})])
    """
    if not any(mark in text for mark in _MARKS):
        return None
    thought = None
    thinking = _THINK.match(text)
    if thinking is not None:
        thought, text = thinking.group(1).strip() or None, text[thinking.end() :]
    fences = [match.span() for match in _FENCE.finditer(text)]
    calls: list[tuple[int, int, tuple[None, str, Any]]] = []
    for pattern, read in ((_TAGGED, _tagged), (_FUNCTION, _function), (_INVOKE, _invoked)):
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(first <= start < last for first, last in fences) or any(s <= start < e for s, e, _ in calls):
                continue
            call = read(match)
            if call is not None:
                calls.append((start, end, call))
    listed = _LISTED.search(text)
    if listed is not None and not calls:
        values = loads_maybe(listed.group(1))
        named = [_named(value) for value in values] if isinstance(values, list) else []
        calls = [(listed.start(), listed.end(), call) for call in named if call is not None]
    if not calls:
        return None
    calls.sort(key=lambda place: place[:2])
    said, last = [], 0
    for start, end, _ in calls:
        said.append(text[last:start])
        last = max(last, end)
    said.append(text[last:])
    beside = join(*(_AROUND.sub("", part).strip() for part in said))
    return Written(beside, thought, [call for _, _, call in calls])


def written_answers(text: str) -> list[Answer]:
    """The results in a text that answers written calls: one for each wrapper, else the whole text as one.

    >>> written_answers('<tool_response>{"name": "find", "content": "shelf 12"}</tool_response>')
    [Answer(name='find', text='shelf 12')]
    """
    executed = _EXECUTED.match(text)
    if executed is not None:
        return [Answer(executed.group(1), text[executed.end() :])]
    wrapped = [match.group(2) for match in _ANSWER.finditer(_ANSWERS_AROUND.sub("", text))]
    return [_answer(inner) for inner in wrapped] or [Answer(None, text)]


def is_wrapped_answer(text: str) -> bool:
    """Whether a text says by its form that it is the result of a call."""
    head = text.lstrip()[:64]
    return head.startswith(("<tool_response>", "<function_response>", "<function_results>", "EXECUTION RESULT of ["))


def _answer(inner: str) -> Answer:
    inner = inner.strip()
    value = loads_maybe(inner)
    if isinstance(value, dict) and isinstance(value.get("name"), str) and "content" in value and len(value) <= 3:
        return Answer(value["name"], as_text(value["content"]) or "")
    return Answer(None, inner)


def _tagged(match: re.Match[str]) -> tuple[None, str, Any] | None:
    return _named(loads_maybe(match.group(2).strip()))


def _named(value: Any) -> tuple[None, str, Any] | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return None
    arguments = value.get("arguments", value.get("parameters"))
    return None, value["name"], {} if arguments is None else arguments


def _function(match: re.Match[str]) -> tuple[None, str, Any] | None:
    name, body = match.group(1), match.group(2).strip()
    if body.startswith("{"):
        value = loads_maybe(body)
        return (None, name, value) if isinstance(value, dict) else None
    arguments = {key: loads_number(value) for key, value in _PARAMETER.findall(body)}
    return (None, name, arguments) if arguments or not body else None


def _invoked(match: re.Match[str]) -> tuple[None, str, Any] | None:
    return None, match.group(1), {key: loads_number(value) for key, value in _INVOKED.findall(match.group(2))}


def loads_number(text: str) -> Any:
    """A parameter's text; lists and objects that stand there as JSON are decoded, anything else stays text."""
    return loads_maybe(text) if text[:1] in "{[" else text
