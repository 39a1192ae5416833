"""Streams whose contract is told by their first record."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from xskill.errors import BadRecord, NoRecord
from xskill.records import (
    CONTRACTS,
    BankHeader,
    CreditsHeader,
    Node,
    Record,
    Skill,
    Trajectory,
    TreeHeader,
    TurnCredit,
    decode,
)
from xskill.streams.contract import contract_of, explained
from xskill.streams.raw import RawRecord, iter_raw, second_header
from xskill.streams.run import Run
from xskill.streams.write import open_output

_BEHIND: dict[type[Record], tuple[type[Record], ...]] = {
    TreeHeader: (Node,),
    CreditsHeader: (Trajectory, TurnCredit),
    BankHeader: (Skill,),
}
"""Header → what may follow; without a record, the first of them."""


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
            if header is not None and kind not in _BEHIND[type(header)]:
                kind = _BEHIND[type(header)][0]  # its records then say that they are of another contract
            return AnyStream(kind, header, _records(itertools.chain([entry], raw), kind, run))
        except BadRecord as error:
            run.unreadable(error.at(entry.file, entry.line, raw=entry.data))
    if header is None or run.rejected:
        run.check_input()
    assert header is not None
    return AnyStream(_BEHIND[type(header)][0], header, iter(()))


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
        kind = _BEHIND[type(header)][0]
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
        BadRecord: none of ours; see :func:`xskill.streams.contract.contract_of`.
    """
    return CONTRACTS[contract_of(raw.data).removeprefix("xskill.").removesuffix("/1")]


def _records(raw: Iterable[RawRecord], kind: type[Record], run: Run) -> Iterator[Record]:
    for entry in raw:
        if entry.is_header and kind in _BEHIND[contract(entry)]:
            if entry.tag != "xskill.credits/1":  # credits of several files are one stream
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
