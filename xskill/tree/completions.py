"""Generated text → the actions that it names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec

from xskill.canon.actions.parse_call import split_json_call
from xskill.canon.reading.content_text import sorted_dumps

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S)
_TOOL_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.S)
_BLOCK = re.compile(r"^[ \t]*```\w*[ \t]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.S | re.M)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*[ \t]*$", re.M)
_LEAD = re.compile(r"^\s*(?:[-*•>]\s+|\(?\d{1,3}[.):]\s+)?(?:action(?:\s+\d+)?\s*:\s*)?", re.I)
_NO_ACTION = re.compile(r"^\s*(?:thought|thinking|reasoning|observation|plan)(?:\s+\d+)?\s*:", re.I)
_NO_JSON = (msgspec.MsgspecError, TypeError, ValueError, RecursionError)
"""What text that is no JSON, or an object that has no JSON form, makes the decoder and the encoder raise: half a
surrogate pair, an integer of more digits than Python converts, lists without end."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a completion says in one piece: a call, a fenced block, or the text of a message between these."""

    text: str
    lines: tuple[str, ...]
    """The actions that it names when each line is one."""
    aside: bool = False
    """Text beside a ``<tool_call>``: it may be a thought."""


def parse_actions(completion: Any, *, blocks: bool = False) -> list[str]:
    """The actions that a completion names, in order, as raw text.

    One a line; list markers, ``Action:``, code fences and quotes around the whole are dropped, as are thoughts
    (``Thought: …``, ``<think>…</think>``) and hallucinated observations. A tool call, as a field of a chat message, in
    ``<tool_call>`` tags or as a line ``{"name", "arguments"}``, becomes ``name({json})``; text beside the calls of a
    message is a thought. Anything else gives [].

    Args:
        completion: text, a chat message, or a list of these (of messages only the assistant's count).
        blocks: if there are fenced code blocks, each is one action, and the text around them is none.
    """
    return [line for part in parse_parts(completion, blocks=blocks) for line in part.lines]


def parse_parts(completion: Any, *, blocks: bool = False) -> list[Part]:
    """The same, for whoever knows that a message, or a command, may have several lines."""
    if isinstance(completion, str):
        return _of_text(completion, blocks)
    if isinstance(completion, Mapping):
        calls = completion.get("tool_calls")
        called = [_from_call(call) for call in calls] if isinstance(calls, (list, tuple)) else []
        if any(called):
            return [Part(call, (call,)) for call in called if call]
        content = completion.get("content")
        parts = content if isinstance(content, (list, tuple)) else [{"text": content}]
        texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
        return _of_text("\n".join(text for text in texts if isinstance(text, str)), blocks)
    if isinstance(completion, (list, tuple)):
        mine = [m for m in completion if isinstance(m, str) or _is_assistants(m)]
        return [part for message in mine for part in parse_parts(message, blocks=blocks)]
    return []


def _is_assistants(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role", "assistant") == "assistant"


def _of_text(text: str, blocks: bool) -> list[Part]:
    text = _THINKING.sub("", text)
    if blocks and (fenced := [block.strip() for block in _BLOCK.findall(text)]):
        return [Part(block, (block,)) for block in fenced if block]
    text, tags = _TOOL_CALL.subn(lambda match: "\n" + " ".join(match.group(1).split()) + "\n", text)
    text = _FENCE.sub("", text)
    named = [(line, _from_line(line)) for line in text.splitlines() if not _NO_ACTION.match(line)]
    parts: list[Part] = []
    for is_call, group in groupby([pair for pair in named if pair[1]], lambda pair: is_call_text(pair[1])):
        pairs = list(group)
        if is_call:
            parts += [Part(action, (action,)) for _, action in pairs]
        else:
            parts.append(Part("\n".join(line for line, _ in pairs), tuple(action for _, action in pairs), tags > 0))
    return parts


def is_call_text(action: str) -> bool:
    """Whether an action is a call ``name({json})``, and not a line of code like ``x = f()``."""
    call = split_json_call(action)
    return call is not None and not any(map(str.isspace, call[0]))


def _from_line(line: str) -> str:
    action = _LEAD.sub("", line, count=1).strip()
    for quote in "`", '"', "'":
        if len(action) > 1 and action[0] == action[-1] == quote:
            action = action[1:-1].strip()
    if action.startswith("{"):
        with contextlib.suppress(*_NO_JSON):
            return _from_call(msgspec.json.decode(action)) or action
    return action


def _from_call(call: Any) -> str | None:
    """``name({json})`` of a tool call in any of the usual shapes; None when it is none."""
    if not isinstance(call, Mapping):
        return None
    call = call["function"] if isinstance(call.get("function"), Mapping) else call
    name, arguments = call.get("name"), call.get("arguments", call.get("parameters", {}))
    if not isinstance(name, str):
        return None
    try:
        value = msgspec.json.decode(arguments or "{}") if isinstance(arguments, str) else arguments
        return f"{name}({sorted_dumps(value)})"
    except _NO_JSON:
        return f"{name}({arguments if isinstance(arguments, str) else '…'})"
