"""ZIP archives, read member by member with bounds; nothing is ever unpacked to disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

from xskill.errors import BadRecord
from xskill.streams.source import Input

MAX_MEMBER = 1 << 29
"""Largest member that is read, inflated (512 MiB)."""
MAX_ARCHIVE = 1 << 29
"""Largest archive that is read from a pipe, where it has to be held (512 MiB)."""
_ZSTD = 93
_HEADER = 30
_DAMAGE = (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error, OSError, ValueError)


def open_archive(source: Input) -> Archive:
    """The ZIP archive in an input.

    Raises:
        BadRecord: no valid ZIP.
    """
    stream: Any = source.stream
    if not stream.seekable():
        packed = stream.read(MAX_ARCHIVE + 1)
        if len(packed) > MAX_ARCHIVE:
            raise BadRecord(f"a ZIP archive of more than {MAX_ARCHIVE >> 20} MiB through a pipe", file=source.name)
        stream = io.BytesIO(packed)
    try:
        return Archive(zipfile.ZipFile(stream))
    except _DAMAGE as error:
        raise BadRecord(f"a damaged ZIP archive: {error}", file=source.name) from None


class Archive:
    """Members of a ZIP by name; of a repeated name the last one counts, as in any ZIP reader."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._zip = opened
        self.names = list(dict.fromkeys(opened.namelist()))

    def read(self, name: str) -> bytes:
        """Content of a member; zstd members (method 93), which :mod:`zipfile` before 3.14 refuses, too.

        Raises:
            BadRecord: no such member, one that inflates past :data:`MAX_MEMBER`, or a damaged one.
        """
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise BadRecord(f"the archive has no member {name}") from None
        if info.flag_bits & 1:
            raise BadRecord(f"the member {name} is encrypted")
        if info.file_size > MAX_MEMBER:
            raise BadRecord(f"the member {name} inflates to {info.file_size:,} bytes")
        if info.compress_type == _ZSTD:
            return self._zstd(info)
        try:
            with self._zip.open(info) as member:
                data = member.read(MAX_MEMBER + 1)
        except _DAMAGE as error:
            raise BadRecord(f"the member {name} is damaged: {error}") from None
        if len(data) > MAX_MEMBER:
            raise BadRecord(f"the member {name} inflates past {MAX_MEMBER:,} bytes")
        return data

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        import zstandard

        raw = self._zip.fp
        assert raw is not None
        raw.seek(max(0, info.header_offset))
        header = raw.read(_HEADER)
        if len(header) != _HEADER or header[:4] != b"PK\x03\x04":
            raise BadRecord(f"the member {info.filename} is damaged: no local header")
        raw.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
        packed = raw.read(info.compress_size)
        try:
            with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
                packed, read_across_frames=True
            ) as r:
                data: bytes = r.read(MAX_MEMBER + 1)
        except zstandard.ZstdError as error:
            raise BadRecord(f"the member {info.filename} is damaged: {error}") from None
        if len(data) > MAX_MEMBER or len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise BadRecord(f"the member {info.filename} is damaged: wrong size or checksum")
        return data
