"""All inputs → one stream of trajectories, in order, in this process.

:mod:`xskill.canon.parallel` does the same with several.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xskill.canon.actions.canonicalizer import Unmatched
from xskill.canon.assemble import Assembler, Choices, Counts
from xskill.canon.convert import Converter, Event, open_whole, place_of
from xskill.canon.detect import unknown_format
from xskill.canon.formats import BY_NAME, FORMATS
from xskill.canon.formats.format import Format, Unit
from xskill.canon.loss import Loss
from xskill.canon.mapping import mapped_format, parse_map
from xskill.canon.reading.episode import Place, Tally
from xskill.errors import BadRecord, NoInput, UsageError
from xskill.streams.source import Container, Input, ensure_input, open_inputs

_CONTAINERS: dict[Unit, tuple[Container, ...]] = {
    "record": ("text", "parquet"),
    "stream": ("text", "parquet"),
    "text": ("text",),
    "archive": ("zip",),
    "folder": (),
}
_KINDS: dict[Container, str] = {"text": "a file", "parquet": "a Parquet table", "zip": "a ZIP archive"}


@dataclass(frozen=True, slots=True)
class Settings:
    """How to read: the format (None = detect), the map of a home-made one, and what to do with every record."""

    choices: Choices
    format: str | None = None
    map: str | None = None
    report: bool = False
    """Compare every record with what was made of it."""

    def totals(self) -> Totals:
        """Totals of a run, from zero."""
        return Totals(losses={} if self.report else None)

    def forced(self) -> Format | None:
        """The format that ``--from`` or ``--map`` names.

        Raises:
            UsageError: no such format, or a map that does not parse.
        """
        if self.map is not None:
            return mapped_format(parse_map(self.map))
        if self.format is None:
            return None
        if self.format not in BY_NAME:
            raise UsageError(f"--from {self.format}: no such format; `xskill canon --list-formats` lists them")
        return BY_NAME[self.format]


@dataclass(slots=True)
class Totals:
    """What a run came to."""

    counts: Counts = field(default_factory=Counts)
    unmatched: Unmatched = field(default_factory=Unmatched)
    redacted: Counter[str] = field(default_factory=Counter)
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Per format: what was not carried over."""
    losses: dict[str, Loss] | None = None
    """Per format: the fields that were not carried over; None when no report is wanted."""
    files: int = 0

    def tally(self, format_name: str) -> Tally:
        """The tally of a format."""
        return self.tallies.setdefault(format_name, Tally())

    def add(self, other: Totals) -> None:
        """Add what another run (of a worker, or of one input) came to."""
        self.counts.add(other.counts)
        self.unmatched.update(other.unmatched)
        self.redacted.update(other.redacted)
        for name, tally in other.tallies.items():
            self.tally(name).add(tally)
        if self.losses is not None and other.losses is not None:
            for name, loss in other.losses.items():
                self.losses.setdefault(name, Loss()).add(loss)


@dataclass(frozen=True, slots=True)
class Begin:
    """An input begins here; ``source`` is None for a folder."""

    name: str
    source: Input | None


@dataclass(frozen=True, slots=True)
class Missing:
    """An input that cannot be opened or read, or a folder that no format claims."""

    name: str
    error: NoInput


Item = Event | Begin | Missing


def read_logs(
    files: Sequence[str], settings: Settings, totals: Totals, *, note: Callable[[str], None]
) -> Iterator[Item]:
    """Yield the trajectories (encoded), bad records and missing inputs of a run, in order.

    Args:
        files: names of files, folders of a folder format; none or ``-`` is stdin.
        totals: is filled while reading; complete when the iterator is exhausted.
        note: told what a person should know (trailing bytes after a gzip stream …).

    Raises:
        UsageError: ``--from`` names no format.
    """
    forced = settings.forced()
    ensure_input(files)
    assembler = Assembler(settings.choices)
    for name in files or ["-"]:
        yield from read_input(name, forced, assembler, totals, note)
    collect(assembler, totals)


def read_input(
    name: str, forced: Format | None, assembler: Assembler, totals: Totals, note: Callable[[str], None]
) -> Iterator[Item]:
    """The same for one input; the profile is chosen anew for each."""
    totals.files += 1
    assembler.decided = {}
    try:
        if name != "-" and os.path.isdir(name):
            yield Begin(name, None)
            yield from _folder(name, forced, assembler, totals)
            return
        for source in open_inputs([name], note):
            yield Begin(name, source)
            yield from read_source(source, forced, assembler, totals)
    except BadRecord as error:
        yield error.at(name)
    except NoInput as error:
        yield Missing(name, error)


def collect(assembler: Assembler, totals: Totals) -> None:
    """Move an assembler's counts into the totals; it counts from zero again."""
    totals.counts.add(assembler.counts)
    assembler.counts = Counts()
    for name in sorted(assembler.actions):
        canonicalizer = assembler.actions[name].canonicalizer
        totals.unmatched.update(canonicalizer.unmatched)
        canonicalizer.unmatched = Unmatched()
    totals.redacted.update(assembler.redactor.counts)
    assembler.redactor.counts.clear()


def read_source(source: Input, forced: Format | None, assembler: Assembler, totals: Totals) -> Iterator[Event]:
    """Everything in an opened input."""
    if forced is not None and source.container not in _CONTAINERS[forced.unit]:
        kind = "a folder" if forced.unit == "folder" else "a ZIP archive" if forced.unit == "archive" else "text"
        raise BadRecord(f"--from {forced.name} reads {kind}, this is {_KINDS[source.container]}", file=source.name)
    converter = Converter(assembler, source.name, totals.losses)
    place = place_of(source)
    if source.container == "parquet":
        from xskill.canon.reading.tables import read_table

        place.tally = totals.tally(forced.name if forced else "parquet")
        yield from converter.table(read_table(source), place, forced)
    elif source.container == "zip":
        yield from _archive(source, forced, converter, place, totals)
    else:
        log = open_whole(source, forced)
        place.tally = totals.tally(log.format.name)
        yield from converter.log(log, place)


def _archive(
    source: Input, forced: Format | None, converter: Converter, place: Place, totals: Totals
) -> Iterator[Event]:
    from xskill.canon.reading.archive import open_archive

    with open_archive(source) as archive:
        fmt = forced or next((f for f in FORMATS if f.unit == "archive" and f.detect(archive)), None)
        if fmt is None:
            raise unknown_format(source.name)
        place.tally = totals.tally(fmt.name)
        yield from converter.whole(fmt, archive, place)


def _folder(name: str, forced: Format | None, assembler: Assembler, totals: Totals) -> Iterator[Event]:
    path = Path(name)
    if forced is not None and forced.unit != "folder":
        raise UsageError(f"{name}: is a directory; --from {forced.name} reads files, name those in it")
    fmt = forced or next((f for f in FORMATS if f.unit == "folder" and f.detect(path)), None)
    if fmt is None:
        raise NoInput(f"{name}: is a directory that no format claims; name the files in it")
    place = Place(path.resolve().name, path.resolve().name, path, totals.tally(fmt.name))
    yield from Converter(assembler, name).whole(fmt, path, place)
