"""Lines and reports to stdout or, atomically, to a file. Knows nothing of records."""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from xskill.errors import UsageError, XskillError
from xskill.process.standard import sending, to_stdout
from xskill.streams.atomic import AtomicFile

_FLUSH_AFTER = 0.5
_BATCH = 1 << 16


def container_of(path: str | None, to: str | None) -> str:
    """``jsonl`` or ``parquet``: what ``--to`` says, else the file's ending."""
    if to is not None:
        if to not in ("jsonl", "parquet"):
            raise UsageError(f"--to {to}: expected jsonl or parquet")
        return to
    return "parquet" if path is not None and path.endswith(".parquet") else "jsonl"


@contextlib.contextmanager
def open_lines(path: str | None) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that writes one line (given without its newline).

    A file appears only when the block ends without an error (``.gz`` and ``.zst`` compress); with
    ``path`` None or ``-`` the lines go to stdout as they come.
    """
    if path is None or path == "-":
        stdout = _LineBatch(to_stdout)
        try:
            with sending(stdout.flush):
                yield stdout.write
        except XskillError:
            stdout.flush()  # what was good before the bad record has already been promised
            raise
        stdout.flush()
        return
    with replacing(path) as target:
        compressor = _compressor(path)
        lines = _LineBatch(lambda data: target.write(compressor.compress(data) if compressor else data))
        yield lines.write
        lines.flush()
        if compressor:
            target.write(compressor.flush())


def write_text(path: str | None, text: str) -> None:
    """Write a report to stdout (``path`` None or ``-``) or atomically to a file; it ends with one newline."""
    data = (text.rstrip("\n") + "\n").encode("utf-8", "replace")
    if path is None or path == "-":
        to_stdout(data)
        return
    with replacing(path) as target:
        target.write(data)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[AtomicFile]:
    """A file that replaces ``path`` if the block ends without an error."""
    target = AtomicFile(path)
    try:
        yield target
        target.commit()
    except BaseException:
        target.discard()
        raise


class _LineBatch:
    """Lines in batches of :data:`_BATCH` bytes; with the first line after ``_FLUSH_AFTER`` seconds a batch goes early.

    (Before the process waits for input, :mod:`xskill.process.standard` sends what there is.)
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._parts: list[bytes] = []
        self._size = 0
        self._sent = time.monotonic()

    def write(self, line: bytes) -> None:
        self._parts.append(line)
        self._size += len(line)
        if self._size >= _BATCH or time.monotonic() - self._sent > _FLUSH_AFTER:
            self.flush()

    def flush(self) -> None:
        if self._parts:
            self._parts.append(b"")
            self._send(b"\n".join(self._parts))
            self._parts.clear()
            self._size = 0
        self._sent = time.monotonic()


def _compressor(path: str) -> Any:
    if path.endswith(".gz"):
        return zlib.compressobj(6, wbits=31)  # its header holds neither name nor time: same input, same bytes
    if path.endswith(".zst"):
        import zstandard

        return zstandard.ZstdCompressor(level=3).compressobj()
    return None
