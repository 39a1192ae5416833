"""What a format is to the rest of canon: a name, a test, a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from xskill.canon.reading.episode import Place, RawEpisode
from xskill.records import Trajectory

Unit = Literal["record", "stream", "text", "folder", "archive"]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of log.

    ``unit`` is what ``detect`` and ``read`` are given:

    * ``record``: one parsed JSON value (a line, a document, an item of a list), read on its own;
    * ``stream``: detect sees one value, ``read`` the iterator of all ``(number, value)`` of the file;
    * ``text``: detect sees the first 16 KiB as text, ``read`` an iterator of lines;
    * ``folder``: the folder's :class:`pathlib.Path`;
    * ``archive``: an opened :class:`zipfile.ZipFile`.
    """

    name: str
    description: str
    unit: Unit
    detect: Callable[[Any], bool]
    read: Callable[[Any, Place], Iterable[RawEpisode | Trajectory]]
    """A trajectory is one of ours that the log holds whole: it passes through."""
    whole: bool = False
    """Of a record format: a list is one record, not a list of records."""
    fast: Callable[[], Callable[[bytes, Place], RawEpisode | None]] | None = None
    """Makes a reader of raw lines that gives None for a line that ``read`` has to look at; one for each file."""
