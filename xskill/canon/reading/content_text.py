"""Message contents of any shape as text."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from xskill.canon.reading.json_text import loads

_MEDIA = ("image", "audio", "video", "file", "document")


def as_text(content: Any) -> str | None:
    """Text of a message content: a string, a list of parts, or any other JSON value (as JSON).

    Parts without text show as their type in brackets: ``[image]``.
    """
    if content is None or type(content) is str:
        return content
    if isinstance(content, list) and content and all(map(_is_part, content)):
        parts = [part if isinstance(part, str) else _part_text(part) for part in content]
        return "\n".join(part for part in parts if part)
    return dumps(content)


def _is_part(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and ("text" in part or isinstance(part.get("type"), str)))


def _part_text(part: dict[str, Any]) -> str:
    for key in ("text", "content", "output", "refusal"):
        value = part.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, (list, dict)):
            return as_text(value) or ""
    kind = str(part.get("type"))
    for medium in _MEDIA:
        if medium in kind:
            return f"[{medium}]"
    return f"[{kind}]"


def dumps(value: Any) -> str:
    """JSON text of a value, keys as they stand."""
    return msgspec.json.encode(value).decode("utf-8", "replace")


def sorted_dumps(value: Any) -> str:
    """JSON text of a value with sorted keys, so that equal values give equal text."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, orjson.JSONEncodeError):  # integers beyond 64 bits
        return msgspec.json.encode(value, order="deterministic").decode("utf-8", "replace")


def join(*parts: str | None) -> str | None:
    """Paragraphs of those parts that are not empty; None without any."""
    texts = [part for part in parts if part]
    return "\n\n".join(texts) if texts else None


def loads_maybe(text: Any) -> Any:
    """Decode a string that holds JSON (one level); anything else comes back as it is."""
    if (type(text) is str and text[:1] in '{["') or text in ("null", "true", "false"):
        try:
            return loads(text.encode())
        except ValueError:  # no JSON, or a lone surrogate
            return text
    return text
