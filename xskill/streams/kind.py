"""Streams whose contract is told by their first record."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xskill.errors import BadRecord
from xskill.records import CONTRACTS, BankHeader, CreditsHeader, Node, Record, Skill, Trajectory, TreeHeader, decode
from xskill.streams.raw import RawRecord, iter_raw
from xskill.streams.run import Run

_BEHIND: dict[type[Record], type[Record]] = {TreeHeader: Node, CreditsHeader: Trajectory, BankHeader: Skill}


class AnyStream(NamedTuple):
    """A stream of one contract, with its header if it has one."""

    kind: type[Record]
    header: Record | None
    records: Iterator[Record]


def read_any(files: Sequence[str], run: Run) -> AnyStream:
    """Read a stream of whatever contract its first record names; all its records must be of that one.

    Raises:
        BadRecord: (while reading) a record that breaks the contract, or is of another one.
        NoInput: no record at all.
    """
    raw = iter_raw(files, run.note, run.bad)
    first = next(raw)
    header: Record | None = None
    if first.is_header:
        kind = _contract(first)
        header = decode(first.data, kind)
        kind = _BEHIND[kind]
    else:
        kind = _contract(first)
        raw = itertools.chain([first], raw)
    return AnyStream(kind, header, _decoded(raw, kind, run))


def _decoded(raw: Iterator[RawRecord], kind: type[Record], run: Run) -> Iterator[Record]:
    for entry in raw:
        if entry.is_header:
            continue
        run.read += 1
        try:
            record = decode(entry.data, kind)
        except BadRecord as error:
            run.bad(error.at(entry.file, entry.line, raw=entry.data))
            continue
        run.kept += 1
        yield record
    if run.rejected:
        run.check_input()


def _contract(raw: RawRecord) -> type[Record]:
    if raw.tag is None:
        raise BadRecord(
            "no `schema` field, so no stream of ours; raw logs go through `xskill canon` first",
            file=raw.file,
            line=raw.line,
        )
    name = raw.tag.removeprefix("xskill.").removesuffix("/1")
    if name not in CONTRACTS:
        raise BadRecord(f"unknown contract {raw.tag!r}", path="schema", file=raw.file, line=raw.line)
    return CONTRACTS[name]
