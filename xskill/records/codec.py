"""Records to JSON lines and back: strict, with the place of every fault, and nothing unknown dropped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from xskill.errors import BadRecord
from xskill.records.base import Record
from xskill.records.contracts import CONTRACTS
from xskill.records.trajectories import Episode, Parent, Trajectory

R = TypeVar("R")

_JSON_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `(.*)`)?$", re.S)
_EXPECTED = re.compile(r"Expected `(.*?)`, got `(.*?)`(?: - at `(.*)`)?$", re.S)
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `(.*)`)?$", re.S)
_LIMIT = re.compile(r"Expected `(.*?)` (>=|<=|>|<) (\S+?)(?: - at `(.*)`)?$", re.S)
_AT = re.compile(r"^(.*?)(?: - at `(.*)`)?$", re.S)


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    return decoder


_encoder = msgspec.json.Encoder()


def encode(record: Record) -> bytes:
    """One record as one line of JSON, without the newline. NaN and infinities become null."""
    return _encoder.encode(record)


def decode(line: bytes, kind: type[R]) -> R:
    """Read one line as a record of type ``kind``.

    Unknown fields move to ``extra`` of the object they stand in (an :class:`Episode`, which has
    none, skips them).

    Raises:
        BadRecord: the line is no JSON, or a field breaks the contract; ``path`` says which.
    """
    try:
        try:
            record: R = _decoder(kind).decode(line)
        except msgspec.ValidationError as error:
            if not _UNKNOWN.match(str(error)):
                raise _bad(error, line) from None
            record = _decode_with_unknown(line, kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRecord(_syntax(error, line)) from None
    if isinstance(record, (Trajectory, Episode)):
        check_aligned(record)
    return record


def is_record(line: bytes, kind: type[Record]) -> bool:
    """Whether a line holds a record of this kind."""
    try:
        decode(line, kind)
    except BadRecord:
        return False
    return True


def convert(value: Any, kind: type[R]) -> R:
    """The same as :func:`decode` for a value that is already parsed."""
    return decode(msgspec.json.encode(value), kind)


class Aligned(Protocol):
    """What :func:`check_aligned` looks at; ``steps`` too, where there are any."""

    @property
    def actions(self) -> Sequence[str]: ...
    @property
    def args(self) -> Sequence[object] | None: ...
    @property
    def parent(self) -> Parent | None: ...


def check_aligned(record: Aligned) -> None:
    """Check what no type can say.

    Raises:
        BadRecord: ``args`` or ``steps`` without one entry an action, or a branch that copied more than it holds.
    """
    n = len(record.actions)
    if record.args is not None and len(record.args) != n:
        raise BadRecord(f"expected {n} entries, one an action, got {len(record.args)}", path="args")
    steps = getattr(record, "steps", None)
    if steps is not None and len(steps) != n:
        raise BadRecord(f"expected {n} entries, one an action, got {len(steps)}", path="steps")
    if record.parent is not None:
        for name, place in (("turn", record.parent.turn), ("step", record.parent.step)):
            if place is not None and place > n:
                raise BadRecord(f"expected 0 to {n}, the number of actions, got {place}", path=f"parent.{name}")


def json_schema(name: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of the contract ``name`` (a key of :data:`CONTRACTS`)."""
    schema = msgspec.json.schema(CONTRACTS[name])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"xskill.{name}/1", **schema}


def _decode_with_unknown(line: bytes, kind: type[R]) -> R:
    """Slow path: move one unknown field after the other into ``extra`` until the record fits."""
    value = msgspec.json.decode(line)
    while True:
        try:
            return msgspec.convert(value, kind, strict=True)
        except msgspec.ValidationError as error:
            match = _UNKNOWN.match(str(error))
            if match is None:
                raise _bad(error, line) from None
            _hoist(value, match.group(2) or "$", match.group(1))


_LIMITS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_WITHOUT_EXTRA = {"parent", "source", "tiles", "slots", "elite", "siblings", "corpus"}


def _hoist(value: Any, path: str, name: str) -> None:
    """Move the unknown field ``path.name`` into the nearest enclosing ``extra``, under its dotted path from there."""
    holder = _navigate(value, path)
    unknown = holder.pop(name)
    key = name
    while path.rsplit(".", 1)[-1].split("[", 1)[0] in _WITHOUT_EXTRA:
        path, _, last = path.rpartition(".")
        key = f"{last}.{key}"
        holder = _navigate(value, path or "$")
    extra = holder.setdefault("extra", {})
    if not isinstance(extra, dict):
        raise BadRecord(f"expected an object, got {_shorten(extra)}", path=_plain(f"{path}.extra"))
    extra.setdefault(key, unknown)


def _navigate(value: Any, path: str) -> Any:
    """The value at a path as msgspec writes it (``$.steps[3].action``); None when there is none."""
    for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", path):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return value


def _words(types: str) -> str:
    return " or ".join(_JSON_WORDS.get(word.strip(), word.strip()) for word in types.split("|"))


def _bad(error: msgspec.ValidationError, line: bytes) -> BadRecord:
    text = str(error)
    if match := _EXPECTED.match(text):
        path = match.group(3) or "$"
        found = _navigate(_parse_quietly(line), path)
        plain = found is not None and not isinstance(found, (dict, list))
        shown = _shorten(found) if plain else _words(match.group(2))
        return BadRecord(f"expected {_words(match.group(1))}, got {shown}", path=_plain(path))
    if match := _LIMIT.match(text):
        path, words = match.group(4) or "$", _words(match.group(1)).split(" or ")[0]
        found = _shorten(_navigate(_parse_quietly(line), path))
        return BadRecord(
            f"expected {words} of {_LIMITS[match.group(2)]} {float(match.group(3)):g}, got {found}", path=_plain(path)
        )
    if match := _MISSING.match(text):
        return BadRecord(f"missing the required field {match.group(1)!r}", path=_plain(match.group(2) or "$"))
    if match := _UNKNOWN.match(text):
        return BadRecord(f"unknown field {match.group(1)!r}", path=_plain(match.group(2) or "$"))
    match = _AT.match(text)
    assert match is not None
    return BadRecord(match.group(1)[:1].lower() + match.group(1)[1:], path=_plain(match.group(2) or "$"))


def _plain(path: str) -> str:
    return path.removeprefix("$").removeprefix(".")


def _parse_quietly(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def _shorten(value: Any, limit: int = 60) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _syntax(error: Exception, line: bytes) -> str:
    if isinstance(error, RecursionError):
        return "not valid JSON: nested too deeply"
    if re.search(rb"[:\[,]\s*-?(NaN|Infinity)", line):
        return "not valid JSON: NaN and Infinity are no JSON numbers; write null"
    text = str(error).removeprefix("JSON is malformed: ")
    if "truncated" in text:
        return "not valid JSON: the line ends in the middle of a value (truncated?)"
    return f"not valid JSON: {text[:1].lower()}{text[1:]}"
