"""What a child process does that reads untrusted Parquet: polars may abort on a crafted file, so it aborts alone."""

from __future__ import annotations

import io
import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xskill.errors import BadRecord
from xskill.process.standard import silenced

ROWS = 8192
_LEAST_MEMORY = 4 << 30
_MEMORY_PER_BYTE = 64
HEADER_KEY = "xskill.header"
SCHEMA_KEY = "xskill.schema"
"""Key of the file's metadata that names the contract of its rows; a file without rows has no other word for it."""


@dataclass(frozen=True, slots=True)
class Head:
    """What can be said of a file before its rows are read."""

    contract: str
    """Of the rows; empty in a foreign table."""
    columns: list[str]
    """Names of all columns."""
    header: str
    """Our header line; empty when the file's metadata holds none."""


def limit_memory(*paths: str) -> tuple[int, int]:
    """Bound the address space of this process by what files of this size explain; gives the limits there were.

    A process that dies of it leaves no core file.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = _LEAST_MEMORY + _MEMORY_PER_BYTE * sum(map(os.path.getsize, paths))
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    return before


def read(_: Iterator[Any], path: str, wanted: Sequence[str] | None) -> Iterator[Head | bytes]:
    """In the child: yield the head of a file, and then its rows as Arrow IPC streams of up to :data:`ROWS` rows.

    Args:
        path: of the file.
        wanted: names of the columns to read (those that exist); None is all.

    Raises:
        BadRecord: polars refuses the file, or panics.
    """
    limit_memory(path)
    with silenced():
        try:
            yield from _read(path, wanted)
        except BaseException as error:  # a panic of polars is no Exception
            raise BadRecord(f"not usable as Parquet: {_first_line(error)}") from None


def _read(path: str, wanted: Sequence[str] | None) -> Iterator[Head | bytes]:
    import polars as pl

    metadata = pl.read_parquet_metadata(path)
    lazy = pl.scan_parquet(path)
    schema = lazy.collect_schema()
    contract = metadata.get(SCHEMA_KEY) or _first_tag(lazy, schema)
    yield Head(contract, schema.names(), metadata.get(HEADER_KEY, ""))
    if wanted is not None:
        lazy = lazy.select([name for name in wanted if name in schema])
    for frame in lazy.collect_batches(chunk_size=ROWS, maintain_order=True):
        if frame.height:
            _check_dates(frame)
            body = io.BytesIO()
            # In its newest form polars would send all strings of the row group with every slice of it.
            frame.write_ipc_stream(body, compat_level=pl.CompatLevel.oldest())
            yield body.getvalue()


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0].encode("utf-8", "replace").decode()


def _check_dates(frame: Any) -> None:
    """A date that Python has no value for must be met here: polars panics on some."""
    dated = [name for name, dtype in frame.schema.items() if any(word in str(dtype) for word in ("Date", "Duration"))]
    try:
        frame.select(dated).rows()
    except BaseException as error:
        raise ValueError(f"a cell that cannot be read: {error}") from None


def _first_tag(lazy: Any, schema: Any) -> str:
    """What the first row says that it is; rows without ``schema`` that have an id and actions are trajectories."""
    if str(schema.get("schema")) == "String":
        first = lazy.select("schema").head(1).collect().to_series().to_list()
        if first and first[0]:
            return str(first[0])
    return "xskill.trajectory/1" if "id" in schema and "actions" in schema else ""
