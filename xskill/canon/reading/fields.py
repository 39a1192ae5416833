"""Fields of foreign records, read with a type and a path: a wrong type is a :class:`BadRecord` that says where."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from xskill.errors import BadRecord


def fail(path: str, expected: str, value: Any) -> BadRecord:
    """The error for a value of the wrong type."""
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    return BadRecord(f"expected {expected}, got {text if len(text) <= 60 else text[:59] + '…'}", path=path)


def string(value: Any, path: str) -> str | None:
    """A string; a number is written out (ids are often numbers)."""
    if value is None or type(value) is str:
        return value
    if type(value) is int or type(value) is float:
        return str(value)
    raise fail(path, "a string", value)


def number(value: Any, path: str) -> float | None:
    """A finite number; numeric strings are read, NaN is null."""
    if value is None or type(value) is float:
        return value
    if isinstance(value, (bool, int)):
        try:
            return float(value)
        except OverflowError:
            raise fail(path, "a number that fits a double", str(value)[:30]) from None
    if type(value) is str:
        try:
            read = float(value)
        except ValueError:
            raise fail(path, "a number", value) from None
        return read if math.isfinite(read) else None
    raise fail(path, "a number", value)


def integer(value: Any, path: str) -> int | None:
    """A whole number."""
    if value is None or type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise fail(path, "an integer", value)


def boolean(value: Any, path: str) -> bool | None:
    """true or false; 1 and 0 count, strings do not: ``"False"`` must not become true."""
    if value is None or type(value) is bool:
        return value
    if type(value) in (int, float) and value in (0, 1):
        return bool(value)
    raise fail(path, "true or false", value)


def items(value: Any, path: str) -> list[Any]:
    """A list; null is an empty one."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise fail(path, "a list", value)


def mapping(value: Any, path: str) -> dict[str, Any]:
    """An object; null is an empty one."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise fail(path, "an object", value)


def entry(value: Any) -> dict[str, Any]:
    """The record itself, which has to be an object."""
    if isinstance(value, dict):
        return value
    raise fail("", "an object", value)


def needed(record: dict[str, Any], key: str) -> Any:
    """A field without which a record is none of its format."""
    if key in record:
        return record[key]
    raise BadRecord("missing", path=key)


def entries(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; whatever else there is counts for nothing."""
    return [inner for inner in value if isinstance(inner, dict)] if isinstance(value, list) else []


def as_mapping(value: Any) -> dict[str, Any]:
    """An object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def word(value: Any) -> str:
    """A string; anything else is the empty one (for names that are looked up)."""
    return value if type(value) is str else ""


def at(value: Any, path: str) -> Any:
    """The value at a dotted path (``a.b.0.c``; keys may hold dots themselves), or None.

    >>> at({"a": [{"b.c": 1}]}, "a.0.b.c")
    1
    """
    if not path:
        return value
    if isinstance(value, dict):
        if path in value:
            return value[path]
        head, dot, rest = path.partition(".")
        while dot:
            if head in value:
                return at(value[head], rest)
            more, dot, rest = rest.partition(".")
            head += "." + more
        return None
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        index = int(head) if head.lstrip("-").isdigit() else None
        return at(value[index], rest) if index is not None and -len(value) <= index < len(value) else None
    return None
