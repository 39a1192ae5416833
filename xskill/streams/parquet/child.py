"""The process that reads untrusted Parquet: polars may abort on a crafted file, so it aborts alone.

Run as ``python -m xskill.streams.parquet.child FILE COLUMNS_JSON``. It answers on stdout with
frames of one letter, an 8-byte length and a body: ``K`` the contract of the rows, ``C`` the names of all columns as a
JSON list, ``M`` the header text of the file (contract and header may be empty), ``F`` an Arrow IPC stream of up to
:data:`ROWS` rows, ``E`` the reason of a failure, ``Z`` the end.
"""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import sys
from typing import Any, BinaryIO

ROWS = 8192
_LEAST_MEMORY = 4 << 30
_MEMORY_PER_BYTE = 64
HEADER_KEY = "xskill.header"
SCHEMA_KEY = "xskill.schema"
"""Key of the file's metadata that names the contract of its rows; a file without rows has no other word for it."""


def limit_memory(*paths: str) -> tuple[int, int]:
    """Bound the address space of this process by what files of this size explain; gives the limits there were."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = _LEAST_MEMORY + _MEMORY_PER_BYTE * sum(map(os.path.getsize, paths))
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    return before


def _send(out: BinaryIO, letter: bytes, body: bytes) -> None:
    out.write(letter + struct.pack("<Q", len(body)))
    out.write(body)


def read(path: str, wanted: list[str] | None, out: BinaryIO) -> None:
    """Send the file as frames to ``out``; ``wanted`` names the columns to read (those that exist), None is all."""
    import polars as pl

    metadata = pl.read_parquet_metadata(path)
    lazy = pl.scan_parquet(path)
    schema = lazy.collect_schema()
    _send(out, b"K", (metadata.get(SCHEMA_KEY) or _first_tag(lazy, schema)).encode())
    _send(out, b"C", json.dumps(schema.names()).encode())
    _send(out, b"M", metadata.get(HEADER_KEY, "").encode())
    if wanted is not None:
        lazy = lazy.select([name for name in wanted if name in schema])
    for frame in lazy.collect_batches(chunk_size=ROWS, maintain_order=True):
        if frame.height:
            _check_dates(frame)
            body = io.BytesIO()
            # In its newest form polars would send all strings of the row group with every slice of it.
            frame.write_ipc_stream(body, compat_level=pl.CompatLevel.oldest())
            _send(out, b"F", body.getvalue())
    _send(out, b"Z", b"")


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


def main() -> int:
    """Entry of the process."""
    path, wanted = sys.argv[1], json.loads(sys.argv[2])
    limit_memory(path)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(1, "wb", closefd=False) as out:  # sys.stdout may be without a buffer, and write in parts
        try:
            read(path, wanted, out)
        except BrokenPipeError:
            os._exit(0)
        except BaseException as error:  # a panic of polars is no Exception
            _send(out, b"E", str(error).split("\n", 1)[0].encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
