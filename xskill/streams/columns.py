"""The fixed Parquet columns of each contract, derived from its types.

Plain types map to themselves, records to structs, lists to lists. What has no fixed form (``extra``,
a value that may be a number or a boolean) is JSON text. A field that may be a number or a list of
numbers (log-probabilities) takes two columns: ``logprob`` and ``logprob_tokens``.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec
import polars as pl

from xskill.records import Record

TOKENS = "_tokens"
_PLAIN: dict[Any, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


class Column(msgspec.Struct, frozen=True):
    """One Parquet column of a record field: its dtype and how a value goes in and comes out."""

    field: str
    name: str
    dtype: Any
    default: Any
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


_columns: dict[Any, tuple[Column, ...]] = {}


def columns_of(kind: type[Any]) -> tuple[Column, ...]:
    """Columns of a contract, in field order."""
    if kind not in _columns:
        _columns[kind] = _derive(kind)
    return _columns[kind]


def _derive(kind: type[Any]) -> tuple[Column, ...]:
    found: list[Column] = []
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        default = None if field.default is msgspec.NODEFAULT else field.default
        inner = _without_null(hints[field.name])
        if _number_or_list(inner):
            found.append(Column(field.name, field.name, pl.Float64, default, _scalar, _same))
            found.append(Column(field.name, field.name + TOKENS, pl.List(pl.Float64), default, _tokens, _same))
        else:
            dtype, pack, unpack = _shape(inner)
            found.append(Column(field.name, field.encode_name, dtype, default, pack, unpack))
    return tuple(found)


def schema_of(kind: type[Record]) -> dict[str, Any]:
    """Column name → polars dtype; the first column is ``schema``, the record's tag."""
    return {"schema": pl.String, **{column.name: column.dtype for column in columns_of(kind)}}


def pack(record: Any) -> dict[str, Any]:
    """A record as a row of plain values, with its defaults filled in."""
    return {column.name: column.pack(getattr(record, column.field)) for column in columns_of(type(record))}


def unpack(row: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    """A row as the plain value of a record: nulls left out, JSON text parsed, unknown columns kept as they are.

    Raises:
        msgspec.DecodeError: a JSON text column holds no JSON.
    """
    value: dict[str, Any] = {}
    known = {column.name: column for column in columns_of(kind)}
    for name, cell in row.items():
        if cell is None:
            continue
        column = known.get(name)
        if column is None:
            value[name] = cell
        else:
            value[column.name.removesuffix(TOKENS) if column.name != column.field else name] = column.unpack(cell)
    return value


def _without_null(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [part for part in typing.get_args(hint) if part is not type(None)]
        return inner[0] if len(inner) == 1 else typing.Union[tuple(inner)]  # noqa: UP007 - built at run time
    return hint


def _number_or_list(hint: Any) -> bool:
    return set(typing.get_args(hint)) == {float, list[float]}


def _shape(hint: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    """dtype, pack and unpack of one type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint], _same, _same
    if origin is typing.Literal:
        return pl.String, _same, _same
    if isinstance(hint, type) and issubclass(hint, Record):
        dtype = pl.Struct({column.name: column.dtype for column in columns_of(hint)})
        return dtype, lambda value: None if value is None else pack(value), lambda cell: unpack(cell, hint)
    pair = origin is tuple and len(set(inner)) == 1
    if origin is list or pair:
        dtype, pack_one, unpack_one = _shape(_without_null(inner[0]))
        if pack_one is _same:
            return pl.List(dtype), _list, _same
        return (
            pl.List(dtype),
            lambda value: None if value is None else [pack_one(entry) for entry in value],
            lambda cell: [unpack_one(entry) for entry in cell],
        )
    return pl.String, _to_json, msgspec.json.decode


def _same(value: Any) -> Any:
    return value


def _list(value: Any) -> Any:
    return None if value is None else list(value)


def _scalar(value: Any) -> Any:
    return None if isinstance(value, list) else value


def _tokens(value: Any) -> Any:
    return value if isinstance(value, list) else None


def _to_json(value: Any) -> Any:
    return None if value is None else msgspec.json.encode(value).decode()
