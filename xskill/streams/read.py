"""Typed records from inputs of any container."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from xskill.errors import BadRecord, NoRecord
from xskill.records import Episode, Record, decode
from xskill.records.contracts import HEADERS, following, may_follow, type_of
from xskill.records.names import BY_TAG, contract_of, explained, tag_of
from xskill.streams.lines import iter_lines
from xskill.streams.raw import RawRecord, iter_raw, second_header
from xskill.streams.run import Run
from xskill.streams.source import Input, open_inputs
from xskill.streams.write import open_output


class AnyStream(NamedTuple):
    """A stream of one contract, with its header if it has one."""

    kind: type[Record]
    header: Record | None
    records: Iterator[Record]


def read_any(files: Sequence[str], run: Run) -> AnyStream:
    """Read a stream of whatever contract its first good record names; all its records must be of that one.

    Raises:
        BadRecord: (while reading) a record that breaks the contract, or is of another one.
        BadData: a second tree or bank begins.
        NoRecord: no record at all.
    """
    raw = iter_raw(files, run.note, run.unreadable if run.keeps_rejects else None)
    header: Record | None = None
    for entry in raw:
        try:
            kind = contract(entry)
            if entry.is_header and header is None:
                header = decode(entry.data, kind)
                continue
            if header is not None and not may_follow(kind, type(header)):
                kind = following(type(header))  # its records then say that they are of another contract
            return AnyStream(kind, header, _records(itertools.chain([entry], raw), kind, run))
        except BadRecord as error:
            run.unreadable(error.at(entry.file, entry.line, raw=entry.data))
    if header is None or run.rejected:
        run.check_input()
    assert header is not None
    return AnyStream(following(type(header)), header, iter(()))


def write_raw(records: Iterable[RawRecord], path: str | None) -> None:
    """Write records of one contract as Parquet, to a file or stdout; the contract is that of the first one.

    Raises:
        BadRecord: one that breaks it, or is of another one.
        NoRecord: nothing tells the contract.
    """
    header: Record | None = None
    kind: type[Record] | None = None
    rest = iter(records)
    for entry in rest:
        if not entry.is_header:
            kind, rest = contract(entry), itertools.chain([entry], rest)
            break
        header = decode(entry.data, contract(entry))
        kind = following(type(header))
    if kind is None:
        raise NoRecord("no record, so that nothing tells the columns of the Parquet file")
    with open_output(path, to="parquet", kind=kind) as out:
        if header is not None:
            out.header(header)
        for entry in rest:
            if entry.is_header:
                continue
            try:
                out.write(_decoded(entry, kind))
            except BadRecord as error:
                raise explained(error, entry.data, kind).at(entry.file, entry.line) from None


def contract(raw: RawRecord) -> type[Record]:
    """The type of a record.

    Raises:
        BadRecord: none of ours; see :func:`xskill.records.names.contract_of`.
    """
    return type_of(contract_of(raw.data))


def _records(raw: Iterable[RawRecord], kind: type[Record], run: Run) -> Iterator[Record]:
    for entry in raw:
        if entry.is_header and may_follow(kind, header := contract(entry)):
            if not BY_TAG[tag_of(header)].repeats:
                raise second_header(entry)
            continue
        run.read += 1
        try:
            record = _decoded(entry, kind)
        except BadRecord as error:
            run.bad(explained(error, entry.data, kind, run.command).at(entry.file, entry.line, raw=entry.data))
            continue
        run.kept += 1
        yield record
    if run.rejected:
        run.check_input()


def _decoded(entry: RawRecord, kind: type[Record]) -> Record:
    return entry.record if isinstance(entry.record, kind) else decode(entry.data, kind)


R = TypeVar("R", bound="Record | Episode")


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
    from xskill.streams.parquet.reader import read_rows

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
    for header in HEADERS:
        if may_follow(kind, header):
            try:
                return decode(line, header)
            except BadRecord:
                return None
    return None
