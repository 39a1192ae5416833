"""Selection of records by an SQL expression over their columns, evaluated by polars in batches."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import polars as pl

from xskill.errors import UsageError
from xskill.records import Node, Record, TreeHeader
from xskill.streams.parquet.columns import columns_of
from xskill.streams.parquet.frames import series_of
from xskill.streams.read import read_any
from xskill.streams.run import Run

_BATCH = 2048
_OF_ALL_NODES = ("symbols",)
"""What a tree's header says of its nodes together; no longer true of some of them."""
_STEPS = {"n_steps": ("actions", pl.Int64), "n_children": ("children", pl.Int64)}


class Selection(NamedTuple):
    """The chosen records, lazily, with the type and the header of the stream."""

    kind: type[Record]
    header: Record | None
    records: Iterator[Record]


def select(files: Sequence[str], expression: str, run: Run, *, invert: bool = False) -> Selection:
    """Keep the records for which ``expression`` is true (null is not true; ``invert`` keeps the others).

    ``n_steps`` is the number of actions. The chosen nodes of a tree bring their descendants along, and
    the header then counts what is left.

    Raises:
        UsageError: no valid SQL, an unknown column, or an expression that is neither true nor false.
    """
    stream = read_any(files, run)
    test = _Test(expression, stream.kind, invert)
    if stream.kind is Node:
        return _select_nodes(stream.header, stream.records, test, run)
    return Selection(stream.kind, stream.header, _matching(stream.records, test, run))


class _Test:
    """A compiled expression: a batch of records to a list of truth values."""

    def __init__(self, text: str, kind: type[Record], invert: bool) -> None:
        try:
            self._expr = pl.sql_expr(text)
            names = self._expr.meta.root_names()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise UsageError(f"filter: not an SQL expression: {text!r} ({_first_line(error)})") from None
        if _looks_around(json.loads(self._expr.meta.serialize(format="json"))):
            raise UsageError(
                f"filter: {text!r} counts or compares over many records; each is judged by itself here "
                f"(`xskill stats` counts; DuckDB and polars read the Parquet of -o FILE.parquet)"
            )
        self._text = text
        self._invert = invert
        columns = {column.name: column for column in columns_of(kind)}
        derived = {name: spec for name, spec in _STEPS.items() if spec[0] in columns}
        for name in names:
            if name not in columns and name not in derived:
                raise UsageError(f"filter: no column {name!r}; there are {', '.join([*columns, *derived])}")
        self._as_text = sorted({name for name in names if name in columns and columns[name].shape.parse is not None})
        self._columns = [columns[name] for name in dict.fromkeys(names) if name in columns]
        self._derived = {name: derived[name] for name in dict.fromkeys(names) if name in derived}

    def __call__(self, records: Sequence[Record]) -> list[bool]:
        if not records:
            return []
        data: dict[str, Any] = {column.name: series_of(column, records) for column in self._columns}
        for name, (field, dtype) in self._derived.items():
            data[name] = pl.Series(name, [len(getattr(record, field)) for record in records], dtype=dtype)
        frame = pl.DataFrame(data) if data else pl.DataFrame({"": [0] * len(records)})
        try:
            kept = frame.select(self._expr.alias("keep")).to_series()
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"filter: {self._text!r}: {_first_line(error)}{self._hint()}") from None
        if kept.dtype == pl.Null:
            kept = kept.cast(pl.Boolean)
        if kept.dtype != pl.Boolean:
            raise UsageError(f"filter: {self._text!r} gives {kept.dtype}, not true or false")
        truth: list[bool] = (
            (kept.extend_constant(kept[0], len(records) - 1) if len(kept) == 1 else kept).fill_null(False).to_list()
        )
        return [value != self._invert for value in truth]

    def _hint(self) -> str:
        if not self._as_text:
            return ""
        name = self._as_text[0]
        return f"; {name} is JSON text here: {name} like '%\"NAME\":VALUE%'"


def _matching(records: Iterable[Record], test: _Test, run: Run) -> Iterator[Record]:
    for batch in _batched(records, _BATCH):
        for record, keep in zip(batch, test(batch), strict=True):
            if keep:
                yield record
            else:
                run.drop("not matching")


def _select_nodes(header: Record | None, records: Iterable[Record], test: _Test, run: Run) -> Selection:
    nodes = [record for record in records if isinstance(record, Node)]
    chosen = {node.id for node, keep in zip(nodes, test(nodes), strict=True) if keep}
    for node in reversed(nodes):  # children stand before their parents
        if node.id in chosen:
            chosen.update(node.children)
    left = [node for node in nodes if node.id in chosen]
    if len(left) < len(nodes):
        run.drop("not matching", len(nodes) - len(left))
    if isinstance(header, TreeHeader):
        stats = {name: value for name, value in header.stats.items() if name not in _OF_ALL_NODES}
        whole = len(left) == len(nodes)
        header = msgspec.structs.replace(header, n_nodes=len(left), stats=header.stats if whole else stats)
    return Selection(Node, header, iter(left))


def _batched(records: Iterable[Record], n: int) -> Iterator[tuple[Record, ...]]:
    iterator = iter(records)
    while batch := tuple(itertools.islice(iterator, n)):
        yield batch


_ACROSS = frozenset(
    "Agg Window Over Len Explode Range Rank Quantile Correlation Shift Sort SortBy Gather Filter Slice Unique "
    "CumSum CumCount Diff AnonymousAgg".split()
)
"""Nodes of a polars expression whose value for a record depends on other records."""


def _looks_around(node: Any) -> bool:
    """Whether an expression, given as JSON, has a part that counts or compares over many records."""
    if isinstance(node, dict):
        return any(name in _ACROSS or (name not in _LEAVES and _looks_around(inner)) for name, inner in node.items())
    if isinstance(node, list):
        return any(map(_looks_around, node))
    return isinstance(node, str) and node in _ACROSS


_LEAVES = frozenset({"Column", "Literal", "StringExpr", "ListExpr", "StructExpr", "TemporalExpr"})
"""Nodes that hold names and values of the user, or functions of one cell."""


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]
