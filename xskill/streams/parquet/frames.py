"""Records as polars frames and back, column by column, which is many times as fast as row by row.

A frame that :func:`frame_of` makes has exactly the columns that :mod:`xskill.streams.parquet.columns` derives. In a
frame that has others, or a cell that breaks the contract, the rows are read one by one: that finds the fault and
names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, count, islice
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import polars as pl

from xskill.errors import BadData, BadRecord
from xskill.records import Record, convert, decode, encode
from xskill.records.names import tag_of
from xskill.streams.parquet.columns import (
    Column,
    Shape,
    all_finite,
    check_finite,
    columns_of,
    plain,
    schema_of,
    to_text,
    unpack,
)

R = TypeVar("R")

_PART = 2 << 20
"""Bytes of a frame whose rows are Python objects at a time."""


def frame_of(records: Sequence[Any], kind: type[Record]) -> pl.DataFrame:
    """Records of one type as a frame with its fixed columns, the tag first.

    Raises:
        BadData: a number that no column holds.
    """
    tag = pl.repeat(tag_of(kind), len(records), dtype=pl.String, eager=True).alias("schema")
    return pl.DataFrame([tag, *_fields(records, kind)])


def series_of(column: Column, records: Sequence[Any], within: str = "") -> pl.Series:
    """One column of records; ``within`` is the path to them.

    Raises:
        BadData: a number that no column holds.
    """
    values = list(map(attrgetter(column.field), records))
    if column.shared:
        lists = column.shape.item is not None
        values = [value if isinstance(value, list) is lists else None for value in values]
    return _series(values, column.shape, within + column.name).alias(column.name)


def _fields(records: Sequence[Any], kind: Any, within: str = "") -> list[pl.Series]:
    return [series_of(column, records, within) for column in columns_of(kind)]


def _series(values: list[Any], shape: Shape, path: str) -> pl.Series:
    n_null = values.count(None)
    if n_null == len(values):
        return pl.repeat(None, n_null, dtype=shape.dtype, eager=True)
    if shape.parse is not None:
        return pl.Series(list(map(to_text, values)), dtype=pl.String)
    if shape.item is not None:
        lengths: list[int | None] = [None if value is None else len(value) for value in values]
        entries = chain.from_iterable(value for value in values if value is not None)
        return _lists(_series(list(entries), shape.item, path), pl.Series(lengths, dtype=pl.Int64))
    if shape.record is not None:
        structs = pl.DataFrame(_fields([value for value in values if value is not None], shape.record, f"{path}."))
        place = count()
        places = [None if value is None else next(place) for value in values]
        return structs.to_struct().gather(pl.Series(places, dtype=pl.UInt32))
    try:
        return pl.Series(values, dtype=shape.dtype)
    except (TypeError, OverflowError):
        wide = next((x for x in values if isinstance(x, int) and not -(2**63) <= x < 2**63), None)
        if wide is None or shape.dtype != pl.Int64:
            raise
        raise BadData(f"{path}: {wide} does not fit into the 64 bits of a column; JSON lines hold it") from None


def _lists(entries: pl.Series, lengths: pl.Series) -> pl.Series:
    """The entries, one after the other, as lists of these lengths; a null length is a null list."""
    ends = lengths.fill_null(0).cum_sum()
    places = pl.int_ranges(ends - lengths, ends, eager=True)
    taken = pl.element().map_batches(entries.gather, return_dtype=entries.dtype, is_elementwise=True)
    return places.list.eval(taken)


def records_of(frame: pl.DataFrame, kind: type[R], *, foreign: bool = False) -> Iterator[tuple[bytes, R] | BadRecord]:
    """Yield the rows of a frame as records of ``kind``, each with its line of JSON; a bad row as its error.

    Args:
        frame: rows of that contract.
        kind: its type.
        foreign: the rows are no records of ours, but values that may be read as some.
    """
    fast = not foreign and _is_ours(frame, kind) and all_finite(frame)
    n_rows = 1 + int(frame.height * _PART / (1 + frame.estimated_size()))
    for start in range(0, frame.height, n_rows):
        rows = frame[start : start + n_rows]
        twins = _twins_of_rows(rows, kind) if fast else None
        if twins is None:
            yield from _one_by_one(rows, kind, foreign)
            continue
        for line in map(encode, twins):
            try:
                yield line, decode(line, kind)
            except BadRecord as error:
                yield error


def _is_ours(frame: pl.DataFrame, kind: Any) -> bool:
    wanted = schema_of(kind)
    return all(wanted.get(name) == dtype for name, dtype in frame.schema.items())


def _one_by_one(frame: pl.DataFrame, kind: type[R], foreign: bool) -> Iterator[tuple[bytes, R] | BadRecord]:
    for value in values_of(frame, None if foreign else kind):
        try:
            if isinstance(value, BadRecord):
                yield value
            else:
                record: Any = convert(value, kind)
                yield encode(record), record
        except BadRecord as error:
            yield error
        except (msgspec.MsgspecError, TypeError) as error:
            yield BadRecord(f"a cell is not what its column promises: {error}")


def _twins_of_rows(frame: pl.DataFrame, kind: type[Any]) -> list[Any] | None:
    """Twins of the records; None when a row says that it is of another contract, or has no JSON where it should."""
    fields = {series.name: series for series in frame.get_columns()}
    tag = fields.pop("schema", None)
    if tag is not None and not (tag == tag_of(kind)).all():
        return None
    try:
        return _twins(fields, kind, frame.height)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _twins(fields: dict[str, pl.Series], kind: Any, n: int) -> list[Any]:
    by_field: dict[str, list[Any]] = {}
    for column in columns_of(kind):
        values = _spelt_out(fields[column.name], column) if column.name in fields else None
        if values is None:
            by_field.setdefault(column.field, [column.default] * n)
        elif column.shared and column.field in by_field:
            by_field[column.field] = [
                x if y is None else y for x, y in zip(by_field[column.field], values, strict=True)
            ]
        else:
            by_field[column.field] = values
    return list(map(_twin(kind), *by_field.values()))


@cache
def _twin(kind: Any) -> Callable[..., Any]:
    """A type with the same JSON as ``kind``, which takes its values by position and does not check them."""
    config = kind.__struct_config__
    columns = {column.field: column for column in columns_of(kind)}
    return msgspec.defstruct(
        kind.__name__,
        [(name, Any, column.default) for name, column in columns.items()],
        rename={name: column.key for name, column in columns.items()},
        tag=config.tag,
        tag_field=config.tag_field,
        omit_defaults=True,
        gc=False,
    )


def _spelt_out(series: pl.Series, column: Column) -> list[Any] | None:
    """The values of a column; None when all are the default.

    A value that equals the default is replaced by the very default, since the encoder leaves out that object alone.
    """
    if series.null_count() == len(series) or (column.usual is not None and (series == column.usual).all()):
        return None
    values = _values(series, column.shape)
    default = column.default
    return values if default is None else [default if x is None or x == default else x for x in values]


def _values(series: pl.Series, shape: Shape) -> list[Any]:
    if shape.plain:
        return series.to_list()
    if shape.parse is not None:
        return [None if text is None else shape.parse(text) for text in series.to_list()]
    if shape.item is not None:
        lengths = series.list.len()
        filled = series if lengths.min() and not series.null_count() else series.filter(lengths > 0)
        entries = iter(_values(filled.explode(), shape.item))
        return [None if length is None else list(islice(entries, length)) for length in lengths.to_list()]
    structs = {inner.name: inner for inner in series.struct.unnest().get_columns()}
    values = _twins(structs, shape.record, len(series))
    if series.null_count():
        values = [None if absent else value for absent, value in zip(series.is_null(), values, strict=True)]
    return values


def values_of(frame: pl.DataFrame, kind: type[Any] | None) -> Iterator[dict[str, Any] | BadRecord]:
    """The rows of a frame as plain values: those of ``kind``, unpacked, or of a foreign table when it is None."""
    finite = kind is None or all_finite(frame)
    for row in frame.iter_rows(named=True):
        try:
            if not finite:
                check_finite(row)
            yield plain(row) if kind is None else unpack(row, kind)
        except BadRecord as error:
            yield error
