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
from functools import cache
from typing import Any

import msgspec
import polars as pl

from xskill.errors import BadRecord
from xskill.records import Record

TOKENS = "_tokens"
_LONGEST = 40
"""Characters of a dtype in an error: that of steps has hundreds."""
_PLAIN: dict[Any, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


class Shape(msgspec.Struct, frozen=True):
    """How the values of a type stand in a column."""

    dtype: Any
    item: Shape | None = None
    """Of the entries of a list."""
    record: Any = None
    """The record type of a struct."""
    parse: Callable[[str], Any] | None = None
    """Of JSON text."""

    @property
    def plain(self) -> bool:
        """Whether a cell already is the JSON value."""
        return self.parse is None and self.record is None and (self.item is None or self.item.plain)


class Column(msgspec.Struct, frozen=True):
    """One Parquet column of a record field."""

    field: str
    """The attribute."""
    key: str
    """The name in JSON."""
    name: str
    """Of the column."""
    shape: Shape
    default: Any
    """What null means; None for null, and for a field that must be there."""
    usual: Any
    """The default as a cell, which need not be said; None when only null says it."""
    shared: bool = False
    """Whether the numbers of the field stand in one column, and its lists in another."""


@cache
def columns_of(kind: Any) -> tuple[Column, ...]:
    """Columns of a contract, in field order."""
    columns: list[Column] = []
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        name, inner, default = field.name, _without_null(hints[field.name]), _default(field)
        if _number_or_list(inner):
            columns.append(Column(name, name, name, Shape(pl.Float64), default, None, True))
            columns.append(Column(name, name, name + TOKENS, _list_of(Shape(pl.Float64)), default, None, True))
        else:
            key, shape = field.encode_name, _shape(inner)
            columns.append(Column(name, key, key, shape, default, _usual(default, shape)))
    return tuple(columns)


@cache
def named_columns(kind: Any) -> dict[str, Column]:
    """The same by their names."""
    return {column.name: column for column in columns_of(kind)}


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None if field.default is msgspec.NODEFAULT else field.default


def _usual(default: Any, shape: Shape) -> Any:
    if default is None or shape.parse is not None:
        return to_text(default)
    return default if shape.item is None and shape.record is None else None


def schema_of(kind: type[Record]) -> dict[str, Any]:
    """Column name → polars dtype; the first column is ``schema``, the record's tag."""
    return {"schema": pl.String, **{column.name: column.shape.dtype for column in columns_of(kind)}}


def unpack(row: dict[str, Any], kind: Any) -> dict[str, Any]:
    """A row as the plain value of a record: nulls left out, JSON text parsed, unknown columns kept as they are.

    Raises:
        BadRecord: a JSON text column holds no JSON.
    """
    value: dict[str, Any] = {}
    by_name = named_columns(kind)
    for name, cell in row.items():
        if cell is None:
            continue
        column = by_name.get(name)
        if column is None:
            value[name] = cell
        elif cell != column.usual:  # a default is left out, as in JSON lines
            try:
                value[column.key] = _unpacked(cell, column.shape)
            except (msgspec.DecodeError, RecursionError) as error:
                raise BadRecord(f"a cell that should be JSON text: {error}", path=name) from None
            except BadRecord as error:
                error.path = f"{name}.{error.path}"
                raise
    return value


def _unpacked(cell: Any, shape: Shape) -> Any:
    if cell is None or shape.plain:
        return cell
    if shape.item is not None:
        return [_unpacked(entry, shape.item) for entry in cell]
    return msgspec.json.decode(cell) if shape.parse is not None else unpack(cell, shape.record)


def to_text(value: Any) -> str | None:
    """What has no fixed form, as it stands in a cell."""
    return None if value is None else msgspec.json.encode(value).decode()


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


def misfit(schema: Mapping[str, Any], kind: Any) -> str | None:
    """The first column that cannot hold the values of ``kind``'s field; None when all can."""
    for column in columns_of(kind):
        if column.name in schema and not _fits(schema[column.name], column.shape.dtype):
            dtype, wanted = (str(each) for each in (schema[column.name], column.shape.dtype))
            return f"the column {column.name!r} is {dtype[:_LONGEST]}, expected {wanted[:_LONGEST]}"
    return None


def _fits(dtype: Any, wanted: Any) -> bool:
    if dtype in (wanted, pl.Null):
        return True
    if wanted == pl.String:
        return dtype in (pl.Categorical, pl.Enum)
    if wanted == pl.Int64:
        return bool(dtype.is_integer())
    if wanted == pl.Float64:  # log-probabilities may come as numbers or as lists of them
        return bool(dtype.is_numeric() or (_is_list(dtype) and dtype.inner.is_numeric()))
    if isinstance(wanted, pl.List):
        return _is_list(dtype) and _fits(dtype.inner, wanted.inner)
    if isinstance(wanted, pl.Struct) and isinstance(dtype, pl.Struct):
        inner = dict(wanted)
        return all(name not in inner or _fits(inner_dtype, inner[name]) for name, inner_dtype in dtype)
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


def _shape(hint: Any) -> Shape:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return Shape(_PLAIN[hint])
    if origin is typing.Literal:
        return Shape(pl.String)
    if isinstance(hint, type) and issubclass(hint, Record):
        dtype = pl.Struct({column.name: column.shape.dtype for column in columns_of(hint)})
        return Shape(dtype, record=hint)
    pair = origin is tuple and len(set(inner)) == 1
    if origin is list or pair:
        return _list_of(_shape(_without_null(inner[0])))
    return Shape(pl.String, parse=msgspec.json.Decoder(hint).decode)


def _list_of(item: Shape) -> Shape:
    return Shape(pl.List(item.dtype), item=item)
