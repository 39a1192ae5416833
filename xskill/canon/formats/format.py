"""What a format is: a name, a test that recognizes its logs, and a reader that makes episodes of them.

A reader of JSON lines such as ``{"goal": "…", "moves": [{"do": "open door", "saw": "a hall"}], "won": true}``::

    from xskill.canon.formats.format import Format
    from xskill.canon.reading.episode import Place, RawEpisode, RawStep
    from xskill.canon.reading.fields import boolean, entry, items, needed, string

    def detect(value):
        return isinstance(value, dict) and "moves" in value

    def read(value, place):
        record = entry(value)
        steps = [RawStep(move["do"], observation=move.get("saw")) for move in items(needed(record, "moves"), "moves")]
        yield RawEpisode(
            steps=steps,
            task=string(record.get("goal"), "goal"),
            success=boolean(record.get("won"), "won"),
        )

    FORMAT = Format("moves", "my games, one a line", "record", detect, read)

A module like this in ``xskill/canon/formats`` is a format without being named anywhere else (its place in the order of
detection: :mod:`xskill.canon.formats.table`); another package offers it by the entry point
``moves = "my_package:FORMAT"`` in the group ``xskill.formats``.
"""

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
    * ``archive``: an :class:`xskill.canon.reading.archive.Archive`, members by name.

    ``read`` counts whatever it does not carry over: with ``place.tally.lose("result without a call")`` content of the
    log, which is told in the summary line, with ``place.tally.skip("system message")`` what is set aside by design.
    A value that it cannot make sense of is a :class:`xskill.errors.BadRecord`; the readers of
    :mod:`xskill.canon.reading.fields` raise it with the path. A KeyError, TypeError or the like that escapes becomes
    one, too.
    """

    name: str
    """What ``--from`` takes, and what stands in ``source.format``."""
    description: str
    """One line for ``--list-formats``."""
    unit: Unit
    detect: Callable[[Any], bool]
    """Whether a log is of this format; must hold for nothing else, and is asked about logs of every kind."""
    read: Callable[[Any, Place], Iterable[RawEpisode | Trajectory]]
    """The episodes. A trajectory is one of ours that the log holds whole: it passes through."""
    whole: bool = False
    """Of a record format: a list is one record, not a list of records."""
    fast: Callable[[], Callable[[bytes, Place], RawEpisode | Trajectory | None]] | None = None
    """Makes a reader of raw lines that gives None for a line that ``read`` has to look at; one for each file."""
    passes: bool = False
    """Its records pass through unchanged: ``--report`` has nothing to measure."""
