"""Parquet out: the fixed columns of a contract, in bounded memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import msgspec
import polars as pl

from xskill.errors import CannotWrite
from xskill.process.standard import to_stdout
from xskill.records import Record, encode
from xskill.records.names import tag_of
from xskill.streams.atomic import AtomicFile
from xskill.streams.parquet.frames import frame_of
from xskill.streams.parquet.reading_child import HEADER_KEY, SCHEMA_KEY

_BATCH = 4096


class ParquetWriter:
    """Writes records to Parquet in row groups, in bounded memory; the header goes to the file's metadata.

    Use as a context manager; nothing appears under ``path`` (or on stdout, when it is None) before the end.
    """

    def __init__(self, path: str | None, kind: type[Record]) -> None:
        self._kind = kind
        self._path = path
        self._tag = tag_of(kind)
        self._target = AtomicFile(path) if path is not None else None
        self._header: str | None = None
        self._records: list[Record] = []
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
        self._records.append(record)
        if len(self._records) == _BATCH:
            self._flush()

    def write_line(self, line: bytes) -> None:
        self.write(msgspec.json.decode(line, type=self._kind))

    def _flush(self) -> None:
        if self._records or not self._n_parts:
            frame = frame_of(self._records, self._kind)
            with _telling(self._parts.name):
                frame.write_ipc(os.path.join(self._parts.name, f"{self._n_parts:08d}.arrow"))
            self._records.clear()
            self._n_parts += 1

    def _finish(self) -> None:
        self._flush()
        metadata = {SCHEMA_KEY: self._tag}
        if self._header is not None:
            metadata[HEADER_KEY] = self._header
        lazy = pl.scan_ipc(os.path.join(self._parts.name, "*.arrow"))
        target = self._target
        in_place = target is not None and not target.special
        whole = target.temporary if target and in_place else os.path.join(self._parts.name, "whole.parquet")
        with _telling(self._path or self._parts.name):
            lazy.sink_parquet(whole, row_group_size=_BATCH * 8, metadata=metadata)
        if not in_place:
            send = to_stdout if target is None else target.write
            with open(whole, "rb") as file:
                while block := file.read(1 << 20):
                    send(block)
        if target is not None:
            target.commit()


@contextmanager
def _telling(path: str) -> Iterator[None]:
    """What polars says of a disk that is full, as an error of ours."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise CannotWrite(f"{path}: cannot write: {str(error).split(chr(10), 1)[0]}") from None
