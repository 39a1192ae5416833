"""Records as the bytes they stand in, for commands that pass them on without looking inside.

Imports neither numpy nor msgspec for JSON lines: ``xskill head`` should start as fast as it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from xskill.errors import BadRecord, NoInput
from xskill.streams.lines import iter_lines
from xskill.streams.source import Input, open_inputs

HEADER_TAGS = frozenset({"xskill.tree/1", "xskill.credits/1", "xskill.bank/1"})
_TAG = re.compile(rb'\s*\{\s*"schema"\s*:\s*"(xskill\.[a-z]+/1)"')
_TAG_ANYWHERE = re.compile(rb'"schema"\s*:\s*"(xskill\.[a-z]+/1)"')


class RawRecord(NamedTuple):
    """One record, not decoded."""

    file: str
    line: int
    tag: str | None
    """Its contract, e.g. ``xskill.trajectory/1``; None when it does not say."""
    data: bytes

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
        BadRecord: a line that is no JSON object, as far as its first byte tells; a damaged file.
        NoInput: no record in any input.
    """
    empty = True
    for source in open_inputs(files, note):
        if source.container == "zip":
            raise BadRecord("a ZIP archive; `xskill canon` reads those it knows", file=source.name, byte=0)
        try:
            for record in _rows(source) if source.container == "parquet" else _lines(source, on_bad):
                empty = False
                yield record
        except BadRecord as error:
            if on_bad is None:
                raise
            empty = False
            on_bad(error.at(source.name))
    if empty:
        raise NoInput(f"{', '.join(files) or '-'}: no record in the input")


def first_lines(files: Sequence[str], n: int, note: Callable[[str], None]) -> Iterator[bytes]:
    """The first ``n`` records as lines, headers before them included.

    The header of a tree says how many nodes follow, so its number is cut to ``n`` as well.
    """
    left = n
    for record in iter_raw(files, note):
        if record.tag == "xskill.tree/1":
            yield _cut_header(record.data, n)
            continue
        if record.is_header:
            yield record.data
            continue
        if left == 0:
            return
        left -= 1
        yield record.data
        if left == 0:
            return


def _cut_header(header: bytes, n: int) -> bytes:
    return re.sub(rb'"n_nodes":(\d+)', lambda match: b'"n_nodes":%d' % min(int(match.group(1)), n), header, count=1)


def _lines(source: Input, on_bad: Callable[[BadRecord], None] | None) -> Iterator[RawRecord]:
    for number, line in iter_lines(source):
        if not line.startswith(b"{"):
            error = BadRecord("expected a JSON object", file=source.name, line=number, raw=line)
            if on_bad is None:
                raise error
            on_bad(error)
            continue
        match = _TAG.match(line) or _TAG_ANYWHERE.search(line)
        yield RawRecord(source.name, number, match.group(1).decode() if match else None, line)


def _rows(source: Input) -> Iterator[RawRecord]:
    from xskill.records import CONTRACTS, encode
    from xskill.streams.parquet import kind_of, read_rows

    headers: list[bytes] = []
    name = kind_of(source)
    for number, record in enumerate(read_rows(source, CONTRACTS[name], headers.append), 1):
        while headers:
            header = headers.pop()
            match = _TAG.match(header)
            yield RawRecord(source.name, 0, match.group(1).decode() if match else None, header)
        if isinstance(record, BadRecord):
            raise record.at(source.name, number)
        yield RawRecord(source.name, number, f"xskill.{name}/1", encode(record))
