"""The fixed Parquet columns of each contract, derived from its types.

Plain types map to themselves, records to structs, lists to lists. What has no fixed form (``extra``,
a value that may be a number or a boolean) is JSON text. A field that may be a number or a list of
numbers (log-probabilities) takes two columns: ``logprob`` and ``logprob_tokens``.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import polars as pl

from xskill.errors import BadRecord
from xskill.records import Record

TOKENS = "_tokens"
_LONGEST = 40
"""Characters of a dtype in an error: that of steps has hundreds."""
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
        BadRecord: a JSON text column holds no JSON.
    """
    value: dict[str, Any] = {}
    known = {column.name: column for column in columns_of(kind)}
    for name, cell in row.items():
        if cell is None:
            continue
        column = known.get(name)
        if column is None:
            value[name] = cell
        elif column.default is None or cell != column.default:  # a default is left out, as in JSON lines
            try:
                cell = column.unpack(cell)
            except (msgspec.DecodeError, RecursionError) as error:
                raise BadRecord(f"a cell that should be JSON text: {error}", path=name) from None
            except BadRecord as error:
                error.path = f"{name}.{error.path}"
                raise
            value[column.name.removesuffix(TOKENS) if column.name != column.field else name] = cell
    return value


def plain(value: Any) -> Any:
    """A value of a foreign table's cell as JSON: NaN is null, dates and bytes are text, null fields are left out.

    Writers of tables give all structs of a column the same keys, so an absent key comes back as null.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def lacking(names: Iterable[str], kind: type[Any]) -> str | None:
    """The first field that a ``kind`` must have and none of the columns is; None when all are there."""
    there = set(names)
    needed = (field.encode_name for field in msgspec.structs.fields(kind) if field.required)
    return next((name for name in needed if name not in there), None)


def misfit(schema: Mapping[str, Any], kind: type[Any]) -> str | None:
    """The first column that cannot hold the values of ``kind``'s field; None when all can."""
    for column in columns_of(kind):
        if column.name in schema and not _fits(schema[column.name], column.dtype):
            found, wanted = (str(dtype) for dtype in (schema[column.name], column.dtype))
            return f"the column {column.name!r} is {found[:_LONGEST]}, expected {wanted[:_LONGEST]}"
    return None


def _fits(found: Any, wanted: Any) -> bool:
    if found in (wanted, pl.Null):
        return True
    if wanted == pl.String:
        return found in (pl.Categorical, pl.Enum)
    if wanted == pl.Int64:
        return bool(found.is_integer())
    if wanted == pl.Float64:  # log-probabilities may come as numbers or as lists of them
        return bool(found.is_numeric() or (_is_list(found) and found.inner.is_numeric()))
    if isinstance(wanted, pl.List):
        return _is_list(found) and _fits(found.inner, wanted.inner)
    if isinstance(wanted, pl.Struct) and isinstance(found, pl.Struct):
        inner = dict(wanted)
        return all(name not in inner or _fits(dtype, inner[name]) for name, dtype in found)
    return False


def _is_list(dtype: Any) -> bool:
    return isinstance(dtype, (pl.List, pl.Array))


def all_finite(frame: pl.DataFrame) -> bool:
    """Whether no number in the frame, however deep inside, is NaN or infinite."""
    return all(map(_finite, frame.get_columns()))


def _finite(series: pl.Series) -> bool:
    dtype = series.dtype
    if dtype.is_float():
        return bool(series.is_finite().all())
    if _is_list(dtype):
        return not _holds_floats(dtype) or _finite(series.explode(empty_as_null=False))
    if isinstance(dtype, pl.Struct):
        return all(_finite(series.struct.field(name)) for name, inner in dtype if _holds_floats(inner))
    return True


def _holds_floats(dtype: Any) -> bool:
    if isinstance(dtype, pl.Struct):
        return any(_holds_floats(inner) for _, inner in dtype)
    return _holds_floats(dtype.inner) if _is_list(dtype) else bool(dtype.is_float())


def check_finite(value: Any, path: str = "") -> None:
    """Raise :class:`BadRecord` for the first NaN or infinity in a row."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadRecord(f"expected a finite number or null, got {value}", path=path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            check_finite(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check_finite(inner, f"{path}[{index}]")


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
