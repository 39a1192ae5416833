"""Streaming gzip, zstd, xz and bzip2 that never mistakes a cut file for a whole one."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from xskill.errors import BadRecord

_CHUNK = 1 << 16
_MAX_OUT = 1 << 20

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
XZ = b"\xfd7zX"
_BZIP2 = tuple(b"BZh%d" % level for level in range(1, 10))
_ZSTD_SKIPPABLE = tuple(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16))


def is_compressed(head: bytes) -> bool:
    """Whether a stream that starts with ``head`` (four bytes) is gzip, zstd, xz or bzip2."""
    return bool(_word(head))


def _word(head: bytes) -> str:
    """What it is compressed with; empty for nothing that is known."""
    if head.startswith(GZIP):
        return "gzip"
    if head.startswith(ZSTD) or head.startswith(_ZSTD_SKIPPABLE):
        return "zstd"
    return "xz" if head.startswith(XZ) else "bzip2" if head.startswith(_BZIP2) else ""


class Inflate(io.RawIOBase):
    """The decompressed bytes of all members (gzip, xz, bzip2) or frames (zstd) of a stream, in bounded memory.

    Args:
        raw: the compressed stream.
        name: of the input, for errors.
        head: its first bytes, to tell what it is compressed with.
        warn: called once with a sentence when bytes that are no member follow the last one.

    Raises:
        BadRecord: (while reading) the stream ends in the middle of a member, or a checksum is wrong;
            ``byte`` is the offset in the compressed stream.
    """

    def __init__(self, raw: BinaryIO, name: str, head: bytes, warn: Callable[[str], None]) -> None:
        self._raw = raw
        self._name = name
        self._warn = warn
        self._word = _word(head)
        self._member: Any = None
        self._input = b""
        self._taken = 0
        self._members = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._member is None and not self._start_member():
                return 0
            data = self._decompress(min(len(buffer), _MAX_OUT))
            if data:
                buffer[: len(data)] = data
                return len(data)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()

    def _start_member(self) -> bool:
        """Begin the next member; False at the end of the stream or at trailing garbage."""
        while len(self._input) < 4 and self._fill():
            pass
        if not self._input.strip(b"\0"):
            return False
        if _word(self._input[:4]) != self._word:
            self._warn(f"{self._name}: bytes after the end of the {self._word} data were ignored")
            self._input = b""
            while self._raw.read(_CHUNK):
                pass
            return False
        self._member = _decompressor(self._word)
        self._members += 1
        return True

    def _decompress(self, limit: int) -> bytes:
        member = self._member
        if not self._input and not getattr(member, "pending", False) and not self._fill():
            raise BadRecord(f"the {self._word} data is truncated", file=self._name, byte=self._taken)
        try:
            data: bytes = member.decompress(self._input, limit)
        except (zlib.error, ValueError) as error:
            text = "checksum mismatch" if "check" in str(error) else "not decodable"
            raise BadRecord(f"the {self._word} data is damaged ({text})", file=self._name, byte=self._taken) from None
        if member.eof:
            self._input = member.unused_data
            self._member = None
        else:
            self._input = member.unconsumed_tail
        return data

    def _fill(self) -> bool:
        chunk = self._raw.read(_CHUNK)
        self._taken += len(chunk or b"")
        self._input += chunk or b""
        return bool(chunk)


def _decompressor(word: str) -> Any:
    if word == "gzip":
        return zlib.decompressobj(wbits=31)
    return _ZstdFrame() if word == "zstd" else _XzOrBzip2(word)


class _XzOrBzip2:
    """One xz or bzip2 stream with the interface of ``zlib.decompressobj``."""

    def __init__(self, word: str) -> None:
        if word == "xz":
            import lzma

            self._object: Any = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28)
            self._errors: tuple[type[Exception], ...] = (lzma.LZMAError,)
        else:
            import bz2

            self._object, self._errors = bz2.BZ2Decompressor(), (OSError, ValueError)
        self.pending = False
        """Whether there is output for which no more input is needed."""
        self.unconsumed_tail = b""
        self.unused_data = b""
        self.eof = False

    def decompress(self, data: bytes, limit: int) -> bytes:
        needs = self._object.needs_input
        try:
            out: bytes = self._object.decompress(data if needs else b"", limit)
        except self._errors as error:
            raise ValueError(str(error)) from None
        self.unconsumed_tail = b"" if needs else data
        self.eof = self._object.eof
        self.pending = not self.eof and not self._object.needs_input
        if self.eof:
            self.unused_data = self._object.unused_data + self.unconsumed_tail
        return out


class _ZstdFrame:
    """One zstd frame with the interface of ``zlib.decompressobj``."""

    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._object = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._pending = b""
        self.pending = False
        self.unconsumed_tail = b""
        self.unused_data = b""
        self.eof = False

    def decompress(self, data: bytes, limit: int) -> bytes:
        # The library inflates all of its input at once, so it is fed little by little: a bomb of a few
        # kilobytes must not become gigabytes in one call.
        if not self._pending:
            piece, self.unconsumed_tail = data[:1024], data[1024:]
            try:
                self._pending = self._object.decompress(piece)
            except self._error as error:
                raise ValueError(str(error)) from None
            if self._object.eof:
                self.unused_data = self._object.unused_data + self.unconsumed_tail
                self.unconsumed_tail = b""
        else:
            self.unconsumed_tail = data
        out, self._pending = self._pending[:limit], self._pending[limit:]
        self.pending = bool(self._pending)
        self.eof = self._object.eof and not self._pending
        return out
