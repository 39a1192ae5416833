"""Parquet in and out: read in a child process with bounds, written with the fixed columns of a contract."""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

import msgspec
import polars as pl

from xskill.errors import BadRecord
from xskill.records import CONTRACTS, Record, convert, encode
from xskill.streams.atomic import AtomicFile
from xskill.streams.columns import columns_of, pack, schema_of, unpack
from xskill.streams.parquet_child import HEADER_KEY
from xskill.streams.source import Input
from xskill.streams.standard import to_stdout

R = TypeVar("R")

_MAX_FOOTER = 64 << 20
_LEAST_MEMORY = 4 << 30
_MEMORY_PER_BYTE = 64
_BATCH = 4096


def read_frames(
    source: Input, columns: Sequence[str] | None = None, take_header: Callable[[bytes], None] = lambda _: None
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet input as frames of bounded height.

    Args:
        source: the input; anything but a plain file is spooled to a temporary one first.
        columns: names to read, of those that exist (column projection); None is all.
        take_header: gets our header line, when the file's metadata holds one.

    Raises:
        BadRecord: no valid Parquet, or one that needs more memory than its size explains.
    """
    with _plain_file(source) as path:
        _check_footer(path, source.name)
        limit = _LEAST_MEMORY + _MEMORY_PER_BYTE * os.path.getsize(path)
        command = [sys.executable, "-m", "xskill.streams.parquet_child", path, str(limit), json.dumps(columns)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        assert child.stdout is not None
        try:
            while True:
                letter, body = _frame(child.stdout, source.name)
                if letter == b"Z":
                    return
                if letter == b"E":
                    raise BadRecord(f"not usable as Parquet: {body.decode()}", file=source.name)
                if letter == b"M" and body:
                    take_header(body)
                if letter == b"F":
                    yield pl.read_ipc_stream(io.BytesIO(body))
        finally:
            child.kill()
            child.wait()
            child.stdout.close()


def read_rows(
    source: Input, kind: type[R], take_header: Callable[[bytes], None] = lambda _: None
) -> Iterator[R | BadRecord]:
    """Yield the rows of a Parquet input as records of ``kind``; a row that breaks the contract as its error."""
    slim = not issubclass(kind, Record)
    wanted = [column.name for column in columns_of(kind)] if slim else None
    for frame in read_frames(source, wanted, take_header):
        for row in frame.iter_rows(named=True):
            try:
                yield convert(unpack(row, kind), kind)
            except BadRecord as error:
                yield error
            except (msgspec.DecodeError, TypeError) as error:
                yield BadRecord(f"a cell is not what its column promises: {error}")


def kind_of(source: Input) -> str:
    """Short name of the contract that a Parquet file of ours holds, as its first row says.

    A stream is spooled to a temporary file on the way, and ``source`` then stands for that file.
    """
    for frame in read_frames(source, ["schema"]):
        tags = frame.get_column("schema").unique().to_list()
        for name in CONTRACTS:
            if tags == [f"xskill.{name}/1"]:
                return name
        break
    raise BadRecord(
        "Parquet, but not of ours (no `schema` column); `xskill canon` reads foreign tables", file=source.name
    )


class ParquetWriter:
    """Writes records to Parquet in row groups, in bounded memory; the header goes to the file's metadata.

    Use as a context manager; nothing appears under ``path`` (or on stdout, when it is None) before the end.
    """

    def __init__(self, path: str | None, kind: type[Record]) -> None:
        self._kind = kind
        self._schema = schema_of(kind)
        self._tag = str(msgspec.inspect.type_info(kind).tag)  # type: ignore[attr-defined]
        self._target = AtomicFile(path) if path is not None else None
        self._header: str | None = None
        self._rows: list[dict[str, Any]] = []
        self._parts = tempfile.TemporaryDirectory(prefix="xskill-")
        self._n_parts = 0

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._parts.cleanup()
            if self._target is not None:
                self._target.discard()

    def header(self, record: Record) -> None:
        self._header = encode(record).decode()

    def write(self, record: Record) -> None:
        row = pack(record)
        row["schema"] = self._tag
        self._rows.append(row)
        if len(self._rows) == _BATCH:
            self._flush()

    def write_line(self, line: bytes) -> None:
        self.write(msgspec.json.decode(line, type=self._kind))

    def _flush(self) -> None:
        if self._rows or not self._n_parts:
            frame = pl.DataFrame(self._rows, schema=self._schema, orient="row")
            frame.write_ipc(os.path.join(self._parts.name, f"{self._n_parts:08d}.arrow"))
            self._rows.clear()
            self._n_parts += 1

    def _finish(self) -> None:
        self._flush()
        metadata = {HEADER_KEY: self._header} if self._header is not None else None
        lazy = pl.scan_ipc(os.path.join(self._parts.name, "*.arrow"))
        if self._target is not None:
            lazy.sink_parquet(self._target.temporary, row_group_size=_BATCH * 8, metadata=metadata)
            self._target.commit()
            return
        whole = os.path.join(self._parts.name, "whole.parquet")
        lazy.sink_parquet(whole, row_group_size=_BATCH * 8, metadata=metadata)
        with open(whole, "rb") as file:
            while block := file.read(1 << 20):
                to_stdout(block)


@contextmanager
def _plain_file(source: Input) -> Iterator[str]:
    """Path of a file with the bytes of ``source``; what is no plain file is spooled, once."""
    if source.path is not None:
        yield source.path
        return
    if source.spool is None:
        source.spool = tempfile.NamedTemporaryFile(prefix="xskill-", suffix=".parquet")  # noqa: SIM115 - see Input
        shutil.copyfileobj(source.stream, source.spool, 1 << 20)
        source.spool.flush()
    yield source.spool.name


def _check_footer(path: str, name: str) -> None:
    """A file whose footer cannot be right is refused before any library sees it."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(max(0, size - 8))
        tail = file.read()
    if size < 12 or tail[4:] != b"PAR1":
        raise BadRecord("the Parquet file is truncated (its footer is missing)", file=name, byte=size)
    (footer,) = struct.unpack("<I", tail[:4])
    if footer > min(size - 12, _MAX_FOOTER):
        raise BadRecord(f"the Parquet footer claims {footer:,} bytes", file=name, byte=size - 8)


def _frame(stream: Any, name: str) -> tuple[bytes, bytes]:
    head = stream.read(9)
    if len(head) == 9:
        (length,) = struct.unpack("<Q", head[1:])
        body = stream.read(length)
        if len(body) == length:
            return head[:1], body
    raise BadRecord("the Parquet reader gave up: the file is damaged or inflates past its memory limit", file=name)
