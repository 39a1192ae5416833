"""Step-list JSON decoded straight into episodes: the fast way for lines that are as they should be.

The keys that have no place in the contract are learned from the log: a struct with one field more for each of
them is made once, and every further line of that shape is decoded without a single dictionary. A line that does
not fit (another type, NaN, a lone surrogate) is left to the slow way, which knows what is wrong with it.
"""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET

from xskill.canon.reading.episode import RawEpisode, RawStep
from xskill.records import Kind

_MAX_KEYS = 64
_MORE = [f"more_{i}" for i in range(_MAX_KEYS)]
_MADE = ("source", "actions", "args")
"""Fields that assembling fills: a line with such a key is left to the slow way."""
_OURS = ("claim", "options", "marks", "record", "suffix")
"""Fields of an episode that are ours: such a key of a log is a further one."""


class _Step(RawStep, forbid_unknown_fields=True, gc=False):
    """A step as a strict decoder sees it; the types are those that need no conversion."""

    action: str
    observation: str | None = None
    thought: str | None = None
    kind: Kind = "action"
    reward: float | None = None
    logprob: float | list[float] | None = None
    logprob_new: float | list[float] | None = None
    name: None = None
    arguments: None = None
    """Only the slow way tells a call's name from any other."""


_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(RawEpisode)}

Shape = tuple[tuple[str, ...], tuple[str, ...]]
"""Further keys of the record and of its steps."""


@lru_cache(maxsize=256)
def _decoder(shape: Shape) -> msgspec.json.Decoder[Any]:
    step = msgspec.defstruct("_StepWith", _fields(shape[1]), bases=(_Step,), forbid_unknown_fields=True, gc=False)
    fields: list[Any] = [("steps", list[step]), ("parent", Any, None), *_fields(shape[0])]  # type: ignore[valid-type]
    fields += [(name, msgspec.UnsetType, UNSET) for name in _MADE]
    fields += [(name, Any, msgspec.field(default=_DEFAULTS[name], name=f"\x7f{name}")) for name in _OURS]
    kind = msgspec.defstruct(
        "_EpisodeWith", fields, bases=(RawEpisode,), forbid_unknown_fields=True, kw_only=True, gc=False
    )
    return msgspec.json.Decoder(kind)


def _fields(keys: tuple[str, ...]) -> list[Any]:
    """One field for each key, absent unless the log has it."""
    return [(_MORE[i], Any, msgspec.field(default=UNSET, name=key)) for i, key in enumerate(keys)]


class TypedEpisodes:
    """Decodes lines; remembers which further keys this log has."""

    def __init__(self) -> None:
        self._shape: Shape = ((), ())

    def decode(self, raw: bytes) -> RawEpisode | None:
        """An episode with its further keys in ``extra``, or None for a line that needs the slow way."""
        try:
            episode = _decoder(self._shape).decode(raw)
        except msgspec.ValidationError:
            shape = _shape_of(raw)
            if shape is None:
                return None
            union = tuple(tuple(sorted({*old, *new})) for old, new in zip(self._shape, shape, strict=True))
            if union == self._shape or max(map(len, union)) > _MAX_KEYS:
                return None
            self._shape = union  # type: ignore[assignment]
            try:
                episode = _decoder(self._shape).decode(raw)
            except msgspec.DecodeError:
                return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        top, inner = self._shape
        if top:
            _collect(episode, list(enumerate(top)))
        steps = episode.steps
        if len(inner) == 1:
            _collect_one(steps, 0, inner[0])
        elif inner and steps:
            # Logs of several shapes: most lines have but few of all the keys that the log has.
            columns = zip(*map(attrgetter(*_MORE[: len(inner)]), steps), strict=True)
            used = [i for i, column in enumerate(columns) if column.count(UNSET) < len(steps)]
            if len(used) == 1:
                _collect_one(steps, used[0], inner[used[0]])
            elif used:
                keys = [(i, inner[i]) for i in used]
                for step in steps:
                    _collect(step, keys)
        typed: RawEpisode = episode
        return typed


def _collect(holder: Any, keys: list[tuple[int, str]]) -> None:
    """Move the further fields of these numbers into ``extra``."""
    extra = {}
    for index, key in keys:
        name = _MORE[index]
        value = getattr(holder, name)
        if value is not UNSET:
            extra[key] = value
            setattr(holder, name, UNSET)
    if extra:
        holder.extra = {**extra, **holder.extra} if holder.extra else extra


def _collect_one(steps: list[Any], index: int, key: str) -> None:
    """The same for steps with a single further field."""
    unset, name = UNSET, _MORE[index]
    for step, value in zip(steps, list(map(attrgetter(name), steps)), strict=True):
        if value is not unset:
            setattr(step, name, unset)
            step.extra = {key: value} if step.extra is None else {key: value, **step.extra}


def _shape_of(raw: bytes) -> Shape | None:
    """Further keys of a line; None when it has no list of steps that are objects."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    steps = value.get("steps") if isinstance(value, dict) else None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return None
    ours = set(RawEpisode.__struct_fields__) - set(_OURS)
    inner = {key for step in steps for key in step} - set(RawStep.__struct_fields__)
    return tuple(key for key in value if key not in ours), tuple(sorted(inner))
