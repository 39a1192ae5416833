"""Read an action as a call: its name and its arguments, from JSON, from call syntax or from brackets.

Nothing is evaluated: a scanner splits the text, which is a stranger's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import orjson

from xskill.canon.reading.json_text import loads

_CALL = re.compile(r"([^\W\d][\w.:/-]*)\s*\((.*)\)$", re.S)
_BRACKET = re.compile(r"([^\W\d][\w-]*)\s*\[(.*)\]$", re.S)
_NEXT_BRACKET = re.compile(r"\]\s*\[")
_KEYWORD = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")
_QUOTED = re.compile(r"""^[rbfu]{0,2}(?P<q>'''|\"\"\"|'|\")(?P<body>.*)(?P=q)$""", re.S | re.I)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLOSE = {"(": ")", "[": "]", "{": "}"}
_WRITABLE = 250
"""Levels that orjson surely writes; it reads far more, and what cannot be written again stays text."""


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call as text: positional values in their order, named ones as they were written."""

    name: str
    positional: tuple[str, ...]
    named: dict[str, str]

    @property
    def values(self) -> tuple[str, ...]:
        """All argument values: the positional ones, then the named ones in sorted-key order."""
        return self.positional + tuple(self.named[key] for key in sorted(self.named))


def as_text(value: Any) -> str:
    """One argument value as text: a string as it is, anything else as JSON with sorted keys."""
    if type(value) is str:
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, orjson.JSONEncodeError):  # an integer beyond 64 bits, or no JSON value at all
        return _beyond_64_bits(value)


def _beyond_64_bits(value: Any) -> str:
    try:
        return msgspec.json.encode(value, order="deterministic").decode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError):
        return str(value)


def argument_values(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Argument values of a call in sorted-key order, as text."""
    if len(arguments) == 1:
        (value,) = arguments.values()
        return (value if type(value) is str else as_text(value),)
    return tuple([as_text(arguments[key]) for key in sorted(arguments)])


def split_json_call(raw: str) -> tuple[str, dict[str, Any]] | None:
    """Take ``name({json})`` apart, the raw form of a call in our records; None when it is not that form."""
    name, bracket, rest = raw.partition("(")
    if not bracket or not rest.endswith(")"):
        return None
    body = rest[:-1].strip()
    if not body:
        return name, {}
    try:
        value = loads(body.encode())
        if body.count("[") + body.count("{") > _WRITABLE:
            orjson.dumps(value)
    except (ValueError, orjson.JSONEncodeError):
        return None
    return (name, value) if isinstance(value, dict) else None


def parse_call(text: str) -> TextCall | None:
    """Read ``name(a, 'b', k=c)``, ``name({json})``, ``name[a]`` or ``name [a] [b]``; None when it is none of these.

    >>> parse_call("fill('925', '03/01/2023')")
    TextCall(name='fill', positional=('925', '03/01/2023'), named={})
    >>> parse_call('type [42] [hello] [1]')
    TextCall(name='type', positional=('42', 'hello', '1'), named={})
    """
    text = text.strip().rstrip(";")
    match = _CALL.match(text)
    if match:
        name, body = match.groups()
        if body.lstrip().startswith("{") and (parsed := split_json_call(f"{name}({body})")):
            return TextCall(name, (), {key: as_text(value) for key, value in parsed[1].items()})
        positional: list[str] = []
        named: dict[str, str] = {}
        for piece in _split_arguments(body):
            keyword = _KEYWORD.match(piece)
            if keyword:
                named[keyword.group(1)] = unquote(piece[keyword.end() :])
            else:
                positional.append(unquote(piece))
        return TextCall(name, tuple(positional), named)
    match = _BRACKET.match(text)
    if match:
        name, body = match.groups()
        return TextCall(name, tuple(value.strip() for value in _NEXT_BRACKET.split(body)), {})
    return None


def unquote(text: str) -> str:
    """A literal without its quotes and with its escapes undone; any other text as it is, stripped."""
    text = text.strip()
    match = _QUOTED.match(text)
    if match is None:
        return text
    body = match["body"]
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), body) if "\\" in body else body


def _split_arguments(body: str) -> list[str]:
    """Split at the commas that stand outside quotes and brackets."""
    pieces: list[str] = []
    start = 0
    quote = ""
    stack: list[str] = []
    position = 0
    while position < len(body):
        char = body[position]
        if quote:
            if char == "\\":
                position += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _CLOSE:
            stack.append(_CLOSE[char])
        elif stack and char == stack[-1]:
            stack.pop()
        elif char == "," and not stack:
            pieces.append(body[start:position])
            start = position + 1
        position += 1
    pieces.append(body[start:])
    return [piece for piece in pieces if piece.strip()]


@lru_cache(maxsize=4096)
def name_words(name: str) -> tuple[str, str]:
    """First word of a function's name, and the rest with ``_`` between its words (empty for one word).

    A namespace is not part of it: ``mcp__server__tool``, ``functions.tool``.

    >>> name_words("get_user_details"), name_words("mcp__github__createIssue"), name_words("Bash")
    (('get', 'user_details'), ('create', 'issue'), ('bash', ''))
    """
    if name.startswith("mcp__"):
        name = name.rsplit("__", 1)[-1] or name
    name = re.split(r"[.:/]", name.rstrip(".:/"))[-1] or name
    words = [word.lower() for word in re.split(r"[\W_]+", _CAMEL.sub("_", name)) if word]
    if not words:
        return "call", ""
    return words[0], "_".join(words[1:])
