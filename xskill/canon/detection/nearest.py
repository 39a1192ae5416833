"""The error for a log that no format claims: which formats come nearest, and what they miss.

No format says what it looks at. It is watched: its test is asked again about a value that notes the keys it is asked
for. Near is a format many of whose keys are there; what it misses are the keys that were asked for in vain.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.table import FORMATS
from xskill.errors import BadRecord

NAMED = 3
"""Formats that the error names."""
_MISSED = 2
"""Keys that are named of each."""
_UNKNOWN = (
    "no format that xskill knows (see `xskill canon --list-formats`); name one with --from, "
    "or map your own fields with --map action=PATH"
)


def unknown_format(name: str, value: Any = None) -> BadRecord:
    """The error for an input that no format claims.

    Args:
        value: a record of it, where one can be parsed.
    """
    near = nearest(value)
    told = f". Nearest: {'; '.join(near)}" if near else ""
    return BadRecord(_UNKNOWN + told, file=name)


def nearest(value: Any) -> list[str]:
    """The nearest formats, each with what it misses."""
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), None)
    if not isinstance(value, dict) or not value:
        return []
    rows = [row for place, fmt in enumerate(FORMATS.of_values()) if (row := _look(fmt, value, place)) is not None]
    return [row.words for row in sorted(rows, key=lambda row: row.order)[:NAMED]]


@dataclass(frozen=True, slots=True)
class _Row:
    """How near a format is."""

    order: tuple[int, int, int]
    """Keys that are there, keys that are missed, place in the table (where no key is there, that of the broad ones)."""
    words: str


def _look(fmt: Format, value: dict[str, Any], place: int) -> _Row | None:
    seen = Watched(value)
    with suppress(Exception):  # a test of another package may be upset by what it is shown
        fmt.detect(seen)
    present = [key for key in seen.asked if key in value]
    missed = [key for key in seen.asked if key not in value]
    if not seen.asked:
        return None
    if not present:
        words = f"{fmt.name} (misses {_names(missed)})"
    elif missed:
        words = f"{fmt.name} (has {_names(present)}, misses {_names(missed)})"
    else:
        words = f"{fmt.name} (expects other values in {_names(present)})"
    return _Row((-len(present), len(missed), place if present else -place), words)


def _names(keys: list[str]) -> str:
    shown = [repr(key) for key in keys[:_MISSED]]
    return ", ".join(shown) + (f" and {len(keys) - _MISSED} more" if len(keys) > _MISSED else "")


class Watched(dict[str, Any]):
    """An object that notes, in their order, which of its keys somebody asked for."""

    def __init__(self, value: dict[str, Any]) -> None:
        super().__init__(value)
        self.asked: dict[str, None] = {}

    def __contains__(self, key: object) -> bool:
        self._note(key)
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """As of any object."""
        self._note(key)
        return super().get(key, default)

    def keys(self) -> Any:
        """Keys that note as well who is looked for among them."""
        return _Keys(self)

    def _note(self, key: object) -> None:
        if isinstance(key, str):
            self.asked[key] = None


class _Keys(Set[str]):
    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    def __contains__(self, key: object) -> bool:
        return key in self._watched

    def __iter__(self) -> Iterator[str]:
        return iter(self._watched)

    def __len__(self) -> int:
        return len(self._watched)
