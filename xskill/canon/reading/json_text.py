"""JSON of foreign logs: strict and fast first, then tolerant of what real writers emit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from xskill.errors import BadRecord

_ODD = re.compile(rb"NaN|Infinity|\\u[dD][89a-fA-F]|\d[eE]\+?\d{3}")
_DIGITS_ARE_ZERO = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_TRUNCATED = ("unexpected end of data", "EOF", "unterminated")


def loads(raw: bytes) -> Any:
    """Parse strict JSON; integers beyond 64 bits keep their digits, of which :mod:`orjson` makes doubles.

    Raises:
        orjson.JSONDecodeError: no such JSON.
    """
    value = orjson.loads(raw)
    # Of 19 digits in a row at least four are at places that four divides: looking at those alone costs a tenth of
    # parsing, a search for the digits several times as much as it.
    if len(raw) >= 19 and b"0000" in raw[::4].translate(_DIGITS_ARE_ZERO):
        try:
            return msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def parse(raw: bytes) -> tuple[Any, int]:
    """Parse one JSON value.

    Returns:
        the value, and how many NaN or infinities were read as null. Lone surrogates become U+FFFD; of
        duplicate keys the last one wins.

    Raises:
        BadRecord: not JSON, or nested too deeply; without file and line.
    """
    try:
        return loads(raw), 0
    except orjson.JSONDecodeError as error:
        if not _ODD.search(raw):
            raise _bad(error, raw) from None
        return _tolerant(raw, error)


def parse_many(raw: bytes) -> Iterator[tuple[Any, int]]:
    """Parse JSON values that follow one another, with white space or nothing between, as ``jq`` writes them."""
    text = _decode(raw)
    counter = _Counter()
    decoder = counter.decoder()
    position, end = 0, len(text)
    while position < end:
        while position < end and text[position] in " \t\r\n\ufeff":
            position += 1
        if position == end:
            return
        counter.count = 0
        try:
            value, position = decoder.raw_decode(text, position)
        except RecursionError:
            raise BadRecord("not valid JSON: nested too deeply") from None
        except ValueError as error:
            at = len(text[: getattr(error, "pos", position)].encode("utf-8", "surrogatepass"))
            raise BadRecord(f"not valid JSON at byte {at}: {_first(error)}", byte=at) from None
        yield _clean(value), counter.count


def _tolerant(raw: bytes, first: Exception) -> tuple[Any, int]:
    counter = _Counter()
    try:
        value = counter.decoder().decode(_decode(raw))
        return _clean(value), counter.count
    except RecursionError:
        raise BadRecord("not valid JSON: nested too deeply") from None
    except ValueError:
        raise _bad(first, raw) from None


class _Counter:
    """A decoder that reads NaN and infinities as null and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def decoder(self) -> json.JSONDecoder:
        return json.JSONDecoder(parse_constant=self._null, parse_float=self._float)

    def _null(self, _: str) -> None:
        self.count += 1

    def _float(self, text: str) -> float | None:
        value = float(text)
        if math.isfinite(value):
            return value
        self.count += 1
        return None


def _clean(value: Any) -> Any:
    """Join surrogate pairs and replace lone ones: they cannot be written as UTF-8."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_text(key): _clean(item) for key, item in value.items()}
    return value


def _text(text: str) -> str:
    if _SURROGATE.search(text) is None:
        return text
    paired = _LONE_PAIR.sub(lambda m: m.group().encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _SURROGATE.sub("\ufffd", paired)


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRecord(f"not UTF-8 at byte {error.start}", byte=error.start) from None


def _bad(error: Exception, raw: bytes) -> BadRecord:
    text = _first(error)
    if "str is not valid UTF-8" in text or "surrogates" in text:
        _decode(raw)
    if "depth" in text or "recursion" in text.lower():
        return BadRecord("not valid JSON: nested too deeply")
    if any(word in text for word in _TRUNCATED):
        return BadRecord("not valid JSON: it ends in the middle of a value (truncated?)")
    if "infinity" in text:
        return BadRecord("not valid JSON: a number beyond the range of a double")
    if raw.startswith((b"#", b"//")):
        return BadRecord("a comment, not JSON")
    return BadRecord(f"not valid JSON: {text}")


def _first(error: Exception) -> str:
    return str(error).split(": line", 1)[0].strip()
