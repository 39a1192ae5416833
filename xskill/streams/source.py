"""Inputs: stdin or files, decompressed, whose first bytes say which container they are."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

from xskill.errors import BadRecord, NoInput, TerminalInput
from xskill.process.standard import before_read
from xskill.streams.inflate import Inflate, is_compressed

Container = Literal["text", "parquet", "zip"]

_BUFFER = 1 << 18
_MAX_LAYERS = 2


@dataclass(slots=True)
class Input:
    """One opened input.

    Attributes:
        name: as the user wrote it; ``-`` is stdin.
        container: ``text`` (JSON lines, a JSON document, a plain log), ``parquet`` or ``zip``.
        stream: decompressed bytes; supports ``peek`` and ``readline``.
        size: bytes on disk (of the compressed file), None for a pipe.
        position: bytes read so far, in the same unit as ``size``.
        path: of the file that holds just these bytes; None for stdin and compressed files.
        spool: temporary file with the same bytes, once someone needed a file; gone when the input is.
        unended: the line that was read last has no newline, so it may be part of one.
    """

    name: str
    container: Container
    stream: io.BufferedReader[Any]
    size: int | None
    position: Callable[[], int]
    path: str | None
    spool: Any = None
    unended: bool = False

    def close(self) -> None:
        """Close the stream (never stdin itself) and remove the spool."""
        self.stream.close()
        if self.spool is not None:
            self.spool.close()

    @property
    def stem(self) -> str:
        """File name without its folder and its endings, for ids; ``stdin`` for stdin."""
        if self.name == "-":
            return "stdin"
        stem = os.path.basename(self.name)
        for ending in (".gz", ".zst", ".xz", ".bz2", ".jsonl", ".ndjson", ".json", ".parquet", ".txt", ".log", ".traj"):
            stem = stem.removesuffix(ending)
        return stem


class _Counted(io.RawIOBase):
    """A raw stream that counts the bytes it gave."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        self._raw = raw
        self._name = name
        self._waits = not stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if self._waits:
            before_read(self._raw.fileno())
        try:
            n: int = self._raw.readinto(buffer)  # type: ignore[attr-defined]
        except OSError as error:
            closed = error.errno == errno.EBADF and self._name == "-"
            why = "standard input is closed" if closed else f"cannot read: {error.strerror}"
            raise NoInput(f"{self._name}: {why}") from None
        self.count += n or 0
        return n

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


def ensure_input(files: Sequence[str]) -> None:
    """Raise :class:`TerminalInput` when the command would wait for a person to type JSON."""
    if (not files or "-" in files) and os.isatty(0):
        raise TerminalInput("no input: name a file, or pipe one in")


def open_input(name: str, warn: Callable[[str], None]) -> Input:
    """Open one file (or ``-``), undo its compression, and look at what it holds.

    Raises:
        NoInput: missing, not readable, or a directory.
        BadRecord: damaged compression in the first bytes.
    """
    size: int | None = None
    if name == "-":
        ensure_input([])
        # Read below Python's own buffer: what waits in the pipe must be seen.
        raw: Any = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - closed by the reader
    else:
        try:
            raw = open(name, "rb", buffering=0)  # noqa: SIM115 - closed by the reader
            size = os.fstat(raw.fileno()).st_size or None
        except IsADirectoryError:
            raise NoInput(
                f"{name}: is a directory; name the files in it (`xskill canon` reads some as they are)"
            ) from None
        except FileNotFoundError:
            raise NoInput(f"{name}: no such file") from None
        except OSError as error:
            raise NoInput(f"{name}: cannot open: {error.strerror}") from None
    counted = _Counted(raw, name)
    stream: io.BufferedReader[Any] = io.BufferedReader(counted, _BUFFER)
    layers = 0
    try:
        while is_compressed(head := stream.peek(4)[:4]):
            if layers == _MAX_LAYERS:
                raise BadRecord(f"compressed more than {_MAX_LAYERS} times; decompress it yourself first", file=name)
            stream = io.BufferedReader(Inflate(stream, name, head, warn), _BUFFER)
            layers += 1
    except BadRecord:
        stream.close()
        raise
    path = name if layers == 0 and size is not None and name != "-" else None
    return Input(name, _container(head), stream, size, lambda: counted.count, path)


def open_inputs(files: Sequence[str], warn: Callable[[str], None]) -> Iterator[Input]:
    """Open the inputs one after the other (none named = stdin); each is closed before the next is opened."""
    ensure_input(files)
    for name in files or ["-"]:
        opened = open_input(name, warn)
        try:
            yield opened
        finally:
            opened.close()


def _container(head: bytes) -> Container:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    return "text"
