"""Typed records from inputs of any container."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from xskill.errors import BadRecord
from xskill.records import (
    BankHeader,
    CreditsHeader,
    Episode,
    Node,
    Record,
    Skill,
    Trajectory,
    TreeHeader,
    decode,
)
from xskill.streams.contract import explained
from xskill.streams.lines import iter_lines
from xskill.streams.run import Run
from xskill.streams.source import Input, open_inputs

R = TypeVar("R", bound="Record | Episode")

HEADERS: dict[type[Record], tuple[type[Any], ...]] = {
    TreeHeader: (Node,),
    CreditsHeader: (Trajectory, Episode),
    BankHeader: (Skill,),
}
"""Header record → the records that may follow it."""


def read_records(files: Sequence[str], kind: type[R], run: Run, *, headers: list[Record] | None = None) -> Iterator[R]:
    """Yield the records of all inputs, in order, as ``kind``.

    Args:
        files: names; empty or ``-`` is stdin. JSON lines or Parquet, plain, gzip or zstd, by content.
        kind: the contract to read (an :class:`Episode` builds only what mining needs).
        run: gets the counts and the bad records.
        headers: gets the header records met on the way (a header that may stand before ``kind``).

    Raises:
        BadRecord: the first bad record, unless ``run`` keeps rejects.
        NoInput: no record in any input.
    """
    for source in open_inputs(files, run.note):
        run.start_input(source)
        before = run.read
        try:
            if source.container == "parquet":
                yield from _from_parquet(source, kind, run, headers)
            else:
                yield from _from_lines(source, kind, run, headers)
        except BadRecord as error:
            run.read += 1
            run.bad(error.at(source.name))
        run.end_input(source, run.read - before)
    run.check_input()


def _from_lines(source: Input, kind: type[R], run: Run, headers: list[Record] | None) -> Iterator[R]:
    for number, line in iter_lines(source):
        try:
            record = decode(line, kind)
        except BadRecord as error:
            header = _header(line, kind) if error.path == "schema" else None
            if header is not None:
                if headers is not None:
                    headers.append(header)
                continue
            run.read += 1
            run.bad(explained(error, line, kind, run.command).at(source.name, number, raw=line))
            continue
        run.read += 1
        run.kept += 1
        run.progress(source)
        run.place = source.name, number
        yield record


def _from_parquet(source: Input, kind: type[R], run: Run, headers: list[Record] | None) -> Iterator[R]:
    from xskill.streams.parquet import read_rows

    rows = read_rows(source, kind, lambda line: _take(line, kind, headers), run.command)
    for number, row in enumerate(rows, 1):
        run.read += 1
        if isinstance(row, BadRecord):
            run.bad(row.at(source.name, number))
            continue
        run.kept += 1
        run.progress(source)
        run.place = source.name, number
        yield row


def _take(line: bytes, kind: type[Any], headers: list[Record] | None) -> None:
    header = _header(line, kind)
    if header is not None and headers is not None:
        headers.append(header)


def _header(line: bytes, kind: type[Any]) -> Record | None:
    """The header record in ``line`` if it is one that may stand before ``kind``."""
    for header, followers in HEADERS.items():
        if kind in followers:
            try:
                return decode(line, header)
            except BadRecord:
                return None
    return None
