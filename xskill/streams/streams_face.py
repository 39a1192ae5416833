"""Streams of our own records in Python: read and written as files, and as polars frames with the fixed columns."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

from xskill.errors import BadData, BadRecord, NoRecord
from xskill.records import Record, Trajectory, check_aligned
from xskill.records.contracts import HEADERS, following, may_follow
from xskill.records.names import BY_TAG, has_tag, tag_of
from xskill.streams.read import read_any, read_records
from xskill.streams.run import PythonRun, Run
from xskill.streams.write import open_output

if TYPE_CHECKING:
    import polars as pl

R = TypeVar("R", bound=Record)
Path = str | os.PathLike[str]


def names_of(paths: Path | Iterable[Path]) -> list[str]:
    """One path or several, as the names of files."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fspath(path) for path in several]


@overload
def read(paths: Path | Iterable[Path], kind: type[R]) -> Iterator[R]: ...
@overload
def read(paths: Path | Iterable[Path], kind: None = None) -> Iterator[Any]: ...
def read(paths: Path | Iterable[Path], kind: type[Record] | None = None) -> Iterator[Any]:
    """Read a stream of our records: trajectories, a tree, credits, a bank, results, … Raw logs are for ``canon.read``.

    Without ``kind``, whatever contract it holds; a header (of a tree, credits or a bank) comes first, as a record like
    the others, so that ``xskill.write(xskill.read(a), b)`` copies a stream.

    Example::

        for trajectory in xskill.read("episodes.jsonl", xskill.Trajectory):
            print(trajectory.id, trajectory.success)

    Args:
        paths: a file or several; JSON lines or Parquet, plain, gzip or zstd, by content.
        kind: the records that are wanted; headers before them are left out, and others are an error.

    Raises:
        BadRecord: (while reading) a record that breaks its contract, or is of another one.
        NoInput: a file is missing, or there is no record.
    """
    run = PythonRun("xskill.read")
    if kind is not None:
        return read_records(names_of(paths), kind, run)
    stream = read_any(names_of(paths), run)
    return stream.records if stream.header is None else itertools.chain([stream.header], stream.records)


def write(records: Iterable[Record], path: Path, *, to: str | None = None) -> None:
    """Write records of one contract to a file, atomically: it appears when all are written, or stays as it was.

    Example::

        xskill.write((t for t in xskill.read("episodes.jsonl") if t.success), "good.parquet")

    Args:
        records: all of one contract; its header may come first.
        path: the file; ``-`` is standard output.
        to: ``jsonl`` or ``parquet``; default: by the ending of ``path`` (``.parquet``, else JSON lines, which
            ``.gz`` and ``.zst`` compress).

    Raises:
        BadData: records of several contracts.
        NoRecord: there is none, so that nothing tells the contract.
        CannotWrite: the file cannot be written.
    """
    header, kind, rest = _typed(records)
    with open_output(os.fspath(path), to=to, kind=kind) as out:
        if header is not None:
            out.header(header)
        for record in _of_one_kind(rest, kind):
            out.write(record)


def to_polars(records: Iterable[Record], kind: type[Record] | None = None) -> pl.DataFrame:
    """Records as a polars frame with the fixed columns of their contract, whatever the records hold.

    Records inside are structs, lists are lists, and what has no fixed form (``extra``) is JSON text: the columns of
    our Parquet files. A header is left out.

    Example::

        frame = xskill.to_polars(xskill.read("episodes.jsonl"))
        print(frame.group_by("task_type").agg(pl.col("success").mean()))

    Args:
        records: all of one contract.
        kind: their type, for when there may be none; default: that of the first.

    Raises:
        BadData: records of several contracts, or a number that no column holds.
        NoRecord: there is none, and no ``kind``.
    """
    from xskill.streams.parquet.frames import frame_of

    taken = list(records)
    if kind is None or (taken and type(taken[0]) in HEADERS):
        _, kind, rest = _typed(taken)
        taken = list(rest)
    return frame_of(list(_of_one_kind(taken, kind)), kind)


@overload
def from_polars(frame: pl.DataFrame, kind: type[R]) -> Iterator[R]: ...
@overload
def from_polars(frame: pl.DataFrame, kind: None = None) -> Iterator[Any]: ...
def from_polars(frame: pl.DataFrame, kind: type[Record] | None = None) -> Iterator[Any]:
    """The rows of a frame as records: the inverse of :func:`to_polars`. Columns that it lacks are filled in.

    Example::

        frame = xskill.to_polars(xskill.read("episodes.jsonl"))
        xskill.write(xskill.from_polars(frame.filter(pl.col("success"))), "good.jsonl")

    Args:
        frame: columns as :func:`to_polars` has them; further ones go to ``extra``.
        kind: type of the records; default: what the column ``schema`` says.

    Raises:
        BadRecord: the columns are not those of a contract, or (while reading) a row breaks it.
    """
    from xskill.streams.parquet.columns import lacking, misfit
    from xskill.streams.parquet.frames import records_of
    from xskill.streams.parquet.reader import own_kind

    form: type[Any] | None = kind or (own_kind(frame, "frame") if frame.height else None)
    if form is None:
        if not frame.height and "schema" in frame.columns:
            return iter(())
        raise BadRecord("no column `schema` that names a contract; say which with kind=", file="frame")
    if (name := lacking(frame.columns, form)) is not None:
        raise BadRecord(f"no column {name!r}", file="frame")
    if (why := misfit(frame.schema, form)) is not None:
        raise BadRecord(why, file="frame")
    return _rows(records_of(frame, form))


def counted(
    records: Iterable[Record], run: Run, what: str = "trajectories", *, needed: bool = True
) -> Iterator[Trajectory]:
    """Trajectories that a caller hands over, checked and counted as those of a file are.

    Raises:
        BadRecord: one whose lists are not aligned; with its number.
        NoRecord: there is none, and ``needed`` says that there must be.
        TypeError: something else than a trajectory.
    """
    for number, record in enumerate(records, 1):
        if type(record) is not Trajectory:
            if type(record) in HEADERS and may_follow(Trajectory, type(record)):
                continue
            raise TypeError(f"{what}: expected Trajectory records, got {type(record).__name__}")
        run.read += 1
        run.kept += 1
        run.place = what, number
        try:
            check_aligned(record)
        except BadRecord as error:
            raise error.at(what, number) from None
        yield record
    if needed:
        run.check_input([what])


def _rows(rows: Iterable[tuple[bytes, R] | BadRecord]) -> Iterator[R]:
    for number, row in enumerate(rows, 1):
        if isinstance(row, BadRecord):
            raise row.at("frame", number)
        yield row[1]


def _typed(records: Iterable[Record]) -> tuple[Record | None, type[Record], Iterable[Record]]:
    """The header, the type of the others, and these."""
    rest = iter(records)
    first = next(rest, None)
    if first is None:
        raise NoRecord("no record, so that nothing tells the contract")
    if type(first) not in HEADERS:
        return None, type(first), itertools.chain([first], rest)
    second = next(rest, None)
    if second is None:
        return first, following(type(first)), ()
    kind = type(second) if may_follow(type(second), type(first)) else following(type(first))
    return first, kind, itertools.chain([second], rest)


def _of_one_kind(records: Iterable[Record], kind: type[Record]) -> Iterator[Record]:
    if not has_tag(kind):
        raise BadData(f"{kind.__name__} is a part of a record, and no contract of its own")
    for number, record in enumerate(records, 1):
        if type(record) is not kind:
            raise BadData(
                f"record {number}: {_word(record)} among {BY_TAG[tag_of(kind)].many}; a stream holds one contract"
            )
        yield record


def _word(record: Any) -> str:
    tag = tag_of(type(record)) if isinstance(record, Record) else ""
    return BY_TAG[tag].one if tag in BY_TAG else type(record).__name__
