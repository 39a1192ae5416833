"""Rows of a fixed form as Parquet, for trainers that read datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from xskill.credit.output import write_frame

_DTYPES: dict[type, Any] = {str: pl.String, float: pl.Float64, int: pl.Int64}


def write_rows(path: str | None, rows: Iterable[dict[str, Any]], columns: Mapping[str, type | list[type]]) -> None:
    """Write rows to a file, atomically, or to stdout; what a row lacks is null."""
    schema = {
        name: pl.List(_DTYPES[kind[0]]) if isinstance(kind, list) else _DTYPES[kind] for name, kind in columns.items()
    }
    frame = pl.DataFrame(list(rows), schema=schema, orient="row")
    write_frame(path, frame)
