"""The process that reads untrusted Parquet: polars may abort on a crafted file, so it aborts alone.

Run as ``python -m xskill.streams.parquet_child FILE LIMIT_BYTES COLUMNS_JSON``. It answers on stdout with
frames of one letter, an 8-byte length and a body: ``M`` the header text of the file, ``F`` an Arrow
IPC stream of up to :data:`ROWS` rows, ``E`` the reason of a failure, ``Z`` the end.
"""

from __future__ import annotations

import io
import json
import resource
import struct
import sys

ROWS = 8192
HEADER_KEY = "xskill.header"


def _send(letter: bytes, body: bytes) -> None:
    sys.stdout.buffer.write(letter + struct.pack("<Q", len(body)))
    sys.stdout.buffer.write(body)


def read(path: str, wanted: list[str] | None) -> None:
    """Send the file as frames; ``wanted`` names the columns to read (those that exist), None is all."""
    import polars as pl

    metadata = pl.read_parquet_metadata(path)
    _send(b"M", metadata.get(HEADER_KEY, "").encode())
    lazy = pl.scan_parquet(path)
    if wanted is not None:
        there = lazy.collect_schema().names()
        present = [name for name in wanted if name in there]
        if not present:
            raise ValueError(f"none of the columns {', '.join(wanted)}; foreign tables go through `xskill canon` first")
        lazy = lazy.select(present)
    for frame in lazy.collect_batches(chunk_size=ROWS, maintain_order=True):
        if frame.height:
            body = io.BytesIO()
            frame.write_ipc_stream(body)
            _send(b"F", body.getvalue())
    _send(b"Z", b"")


def main() -> int:
    """Entry of the process."""
    path, limit, wanted = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        read(path, wanted)
    except BrokenPipeError:
        return 0
    except BaseException as error:  # a panic of polars is no Exception
        _send(b"E", str(error).split("\n", 1)[0].encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
