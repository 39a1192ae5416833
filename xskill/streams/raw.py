"""Records as the bytes they stand in, for commands that pass them on without looking inside.

Imports neither numpy nor msgspec for JSON lines that end as lines do: ``xskill head`` should start as fast as it reads.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from xskill.errors import BadData, BadRecord, NoRecord
from xskill.records.names import BY_TAG, HEADER_TAGS, TREE, released_tree
from xskill.streams.lines import iter_lines
from xskill.streams.source import Input, open_inputs

_TAG = re.compile(rb'"schema"\s*:\s*"(xskill\.[a-z]+/\d+)"')


_N_NODES = re.compile(rb'"n_nodes"\s*:\s*(\d+)')
_SYMBOLS = re.compile(rb'"symbols"\s*:\s*\d+\s*,\s*')


class RawRecord(NamedTuple):
    """One record, not decoded."""

    file: str
    line: int
    tag: str | None
    """Its contract, e.g. ``xskill.trajectory/1``; None when it does not say."""
    data: bytes
    record: Any = None
    """What it is, where it had to be decoded anyway."""

    @property
    def is_header(self) -> bool:
        """Whether it is the header of a tree, credits or a bank."""
        return self.tag in HEADER_TAGS


def iter_raw(
    files: Sequence[str], note: Callable[[str], None], on_bad: Callable[[BadRecord], None] | None = None
) -> Iterator[RawRecord]:
    """Yield the records of all inputs as JSON lines; Parquet rows of ours become lines.

    Args:
        files: names; none or ``-`` is stdin.
        note: gets a sentence about what is odd, but no error.
        on_bad: gets each bad record (and the run goes on); without it the first one is raised.

    Raises:
        BadRecord: a line that is no JSON object, as far as its first byte tells; a last line without a newline that
            is no JSON; a damaged file.
        NoRecord: no record in any input, not even a bad one.
    """
    empty = True

    def bad(error: BadRecord) -> None:
        nonlocal empty
        if on_bad is None:
            raise error
        empty = False
        on_bad(error)

    for source in open_inputs(files, note):
        try:
            for record in _rows(source, bad) if source.container == "parquet" else _lines(source, bad):
                empty = False
                yield record
        except BadRecord as error:
            bad(error.at(source.name))
    if empty:
        raise NoRecord(f"{', '.join(files) or '-'}: no record in the input")


def first_records(
    files: Sequence[str], n: int, note: Callable[[str], None], on_bad: Callable[[BadRecord], None] | None = None
) -> Iterator[RawRecord]:
    """The first ``n`` records, headers before them included.

    The header of a tree says how many nodes follow, so its number is cut to ``n`` as well.

    Raises:
        BadData: a second tree begins.
    """
    left, tree = n, False
    for record in iter_raw(files, note, on_bad):
        if record.tag == TREE:
            if tree:
                raise second_header(record)
            tree = True
            yield record._replace(data=_cut_header(record.data, n))
            continue
        if record.is_header:
            yield record
            continue
        if left == 0:
            return
        left -= 1
        yield record
        if left == 0:
            return


def second_header(record: RawRecord) -> BadData:
    """The error of a stream in which a second tree, or bank, begins."""
    one = BY_TAG[str(record.tag)].one.removeprefix("a ")
    return BadData(f"{record.file}:{record.line}: a second {one} begins; a stream holds one: give one at a time")


def _cut_header(header: bytes, n: int) -> bytes:
    """The header for the first ``n`` nodes: with their number, and without the statistics that need all nodes."""
    count = _N_NODES.search(header)
    if count is None or int(count.group(1)) <= n:
        return header
    return _SYMBOLS.sub(b"", _N_NODES.sub(b'"n_nodes":%d' % n, header, count=1), count=1)


def _lines(source: Input, bad: Callable[[BadRecord], None]) -> Iterator[RawRecord]:
    for number, line in iter_lines(source):
        if not line.startswith(b"{"):
            bad(BadRecord("expected a JSON object", file=source.name, line=number, raw=line))
            continue
        match = _TAG.search(line)
        if (
            match is None
            and number == 1
            and b'"n_primitives"' in line
            and (released := released_tree(line)) is not None
        ):
            raise BadRecord(released, line=number)
        if source.unended and (torn := _torn(line)) is not None:
            bad(torn.at(source.name, number, raw=line))
            continue
        yield RawRecord(source.name, number, match.group(1).decode() if match else None, line)


def _torn(line: bytes) -> BadRecord | None:
    """Why the last line, which has no newline, is no whole record."""
    from xskill.records import decode

    try:
        decode(line, dict)
    except BadRecord as error:
        return error
    return None


def _rows(source: Input, bad: Callable[[BadRecord], None]) -> Iterator[RawRecord]:
    from xskill.records.contracts import type_of
    from xskill.streams.parquet.reader import kind_of, read_lines

    headers: list[bytes] = []
    tag = kind_of(source)
    rows = read_lines(source, type_of(tag), headers.append)
    first = next(rows, None)
    for header in headers:
        match = _TAG.search(header)
        yield RawRecord(source.name, 0, match.group(1).decode() if match else None, header)
    for number, row in enumerate(() if first is None else itertools.chain([first], rows), 1):
        if isinstance(row, BadRecord):
            bad(row.at(source.name, number))
        else:
            yield RawRecord(source.name, number, tag, *row)
