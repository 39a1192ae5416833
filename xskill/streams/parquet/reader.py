"""Parquet in: read in a child process with bounds."""

from __future__ import annotations

import io
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import polars as pl

from xskill.errors import BadRecord
from xskill.process.child import ChildDied, open_child
from xskill.records import Record, decode
from xskill.records.contracts import type_of
from xskill.records.names import has_tag, known_tag, tag_of, unknown_contract, where_from, wrong_stream
from xskill.streams.parquet.columns import columns_of, lacking, misfit
from xskill.streams.parquet.frames import records_of
from xskill.streams.parquet.reading_child import Head, read
from xskill.streams.source import Input

R = TypeVar("R")

_MAX_FOOTER = 64 << 20


def read_frames(
    source: Input,
    columns: Sequence[str] | None = None,
    take_header: Callable[[bytes], None] = lambda _: None,
    *,
    kind: Any = None,
    reader: str | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet input as frames of bounded height.

    Args:
        source: the input; anything but a plain file is spooled to a temporary one first.
        columns: names to read, of those that exist (column projection); None is all.
        take_header: gets our header line, when the file's metadata holds one.
        kind: the record type that the rows must be, columns included; None, or a type without a tag, is any.
        reader: what to call the command that needs that type.

    Raises:
        BadRecord: no valid Parquet, one of another contract, or one that needs more memory than its size explains.
    """
    fits = kind is None or not has_tag(kind)
    with _opened(source, columns) as (head, bodies):
        if not fits and head.contract and head.contract != tag_of(kind):
            raise BadRecord(wrong_stream(head.contract, tag_of(kind), reader), file=source.name)
        if not fits and (lost := lacking(head.columns, kind)):
            foreign = f"Parquet, but not of ours (no column {lost!r}); {where_from(kind, 'foreign tables')}"
            raise BadRecord(f"no column {lost!r}" if head.contract else foreign, file=source.name)
        if head.header:
            take_header(head.header.encode())
        for body in bodies:
            frame = pl.read_ipc_stream(io.BytesIO(body))
            if not fits and (why := misfit(frame.schema, kind)):
                raise BadRecord(why, file=source.name)
            fits = True
            yield frame


@contextmanager
def _opened(source: Input, columns: Sequence[str] | None) -> Iterator[tuple[Head, Iterator[bytes]]]:
    """The head of a file and the Arrow IPC streams of its rows, from a child that reads it while the block runs."""
    with _plain_file(source) as path:
        check_footer(path, source.name)
        with open_child(read, path, columns) as child:
            answers = _answers(child, source.name)
            yield next(answers), answers


def _answers(child: Iterator[Any], name: str) -> Iterator[Any]:
    try:
        yield from child
    except BadRecord as error:
        raise error.at(name) from None
    except ChildDied:
        reason = "the Parquet reader gave up: the file is damaged or inflates past its memory limit"
        raise BadRecord(reason, file=name) from None


def read_rows(
    source: Input, kind: type[R], take_header: Callable[[bytes], None] = lambda _: None, reader: str | None = None
) -> Iterator[R | BadRecord]:
    """Yield the rows of a Parquet input as records of ``kind``; a row that breaks the contract as its error."""
    for row in read_lines(source, kind, take_header, reader):
        yield row if isinstance(row, BadRecord) else row[1]


def read_lines(
    source: Input, kind: type[R], take_header: Callable[[bytes], None] = lambda _: None, reader: str | None = None
) -> Iterator[tuple[bytes, R] | BadRecord]:
    """The same, each record with its line of JSON."""
    slim: Any = None if issubclass(kind, Record) else kind
    wanted = [column.name for column in columns_of(slim)] if slim else None
    for frame in read_frames(source, wanted, take_header, kind=kind, reader=reader):
        form: Any = kind if has_tag(kind) else own_kind(frame, source.name)
        rows = records_of(frame, form or kind, foreign=form is None)
        yield from rows if form in (None, kind) else map(partial(_as_other, kind), rows)


def _as_other(kind: type[R], row: tuple[bytes, Any] | BadRecord) -> tuple[bytes, R] | BadRecord:
    if isinstance(row, BadRecord):
        return row
    try:
        return row[0], decode(row[0], kind)
    except BadRecord as error:
        return error


def own_kind(frame: pl.DataFrame, name: str) -> type[Record] | None:
    """The type of the rows of a frame that holds all columns of the file ``name``; None for a foreign table.

    Raises:
        BadRecord: a table of ours with a column of another type.
    """
    tag: Any = frame["schema"][0] if frame.schema.get("schema") == pl.String else None
    if tag is None or not known_tag(tag):
        return None
    kind = type_of(tag)
    if why := misfit(frame.schema, kind):
        raise BadRecord(why, file=name)
    return kind


def kind_of(source: Input) -> str:
    """The contract that a Parquet file of ours holds, ``xskill.<name>/1``.

    A stream is spooled to a temporary file on the way, and ``source`` then stands for that file.
    """
    with _opened(source, ["schema", "id"]) as (head, _):
        tag = head.contract
    if not tag:
        raise BadRecord(
            "Parquet, but not of ours (no `schema` column); `xskill canon` reads foreign tables", file=source.name
        )
    if not known_tag(tag):
        raise BadRecord(unknown_contract(tag), file=source.name)
    return tag


@contextmanager
def _plain_file(source: Input) -> Iterator[str]:
    """Path of a file with the bytes of ``source``; what is no plain file is spooled, once."""
    if source.path is not None:
        yield source.path
        return
    if source.spool is None:
        source.spool = tempfile.NamedTemporaryFile(prefix="xskill-", suffix=".parquet")  # noqa: SIM115 - see Input
        shutil.copyfileobj(source.stream, source.spool, 1 << 20)
        source.spool.flush()
    yield source.spool.name


def check_footer(path: str, name: str) -> None:
    """A file whose footer cannot be right is refused before any library sees it."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(max(0, size - 8))
        tail = file.read()
    if size < 12 or tail[4:] != b"PAR1":
        raise BadRecord("the Parquet file is truncated (its footer is missing)", file=name, byte=size)
    (footer,) = struct.unpack("<I", tail[:4])
    if footer > min(size - 12, _MAX_FOOTER):
        raise BadRecord(f"the Parquet footer claims {footer:,} bytes", file=name, byte=size - 8)
