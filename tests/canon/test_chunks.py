"""Chunks of whole lines: together they are the input, and each knows how many lines came before."""

from __future__ import annotations

import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskill.canon.reading import chunks, raw_lines
from xskill.canon.reading.chunks import chunks_of_file, chunks_of_stream
from xskill.canon.reading.raw_lines import LongLine, numbered
from xskill.errors import BadRecord


@given(lines=st.lists(st.binary(max_size=12).map(lambda one: one.replace(b"\n", b"")), max_size=30), end=st.booleans())
def test_chunks_of_a_file_and_of_a_stream(lines: list[bytes], end: bool) -> None:
    text = b"\n".join(lines) + b"\n" * end
    for before in {0, len(lines) // 2}:
        rest = text[sum(len(line) + 1 for line in lines[:before]) :]
        with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
            patch.setattr(chunks, "SIZE", 16)
            patch.setattr(chunks, "_BUFFER", 5)
            path = Path(folder) / "x"
            path.write_bytes(text)
            stream = io.BufferedReader(io.BytesIO(text), 7)
            for _ in range(before):
                stream.readline()
            for made in (list(chunks_of_file(str(path), before)), list(chunks_of_stream(stream, before))):
                read = [chunk.read() for chunk in made]
                assert b"".join(read) == rest
                assert all(piece.endswith(b"\n") for piece in read[:-1])
                counts = [before + b"".join(read[:number]).count(b"\n") for number in range(len(read))]
                assert [chunk.before for chunk in made] == counts


@pytest.mark.parametrize("text", [b"a\n" + b"b" * 200 + b"\nc\nd", b"b" * 200 + b"\nc\nd\n", b"a\nc\n" + b"b" * 200])
def test_a_line_that_is_too_long_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(chunks, "SIZE", 16)
    monkeypatch.setattr(chunks, "_BUFFER", 5)
    monkeypatch.setattr(chunks, "MAX_LINE", 100)
    monkeypatch.setattr(raw_lines, "MAX_LINE", 100)
    (tmp_path / "x").write_bytes(text)
    wanted = [(n, line if len(line) < 100 else b"b" * 101) for n, line in enumerate(text.splitlines(), 1)]
    for made in (chunks_of_file(str(tmp_path / "x"), 0), chunks_of_stream(io.BufferedReader(io.BytesIO(text), 7), 0)):
        lines = [line for chunk in made for line in numbered(io.BytesIO(chunk.read()), chunk.before)]
        assert lines == wanted
        assert [isinstance(line, LongLine) for _, line in lines] == [len(line) > 100 for _, line in wanted]
    assert [n for n, _ in numbered(io.BytesIO(text))] == [n for n, _ in wanted]


class _Damaged(io.RawIOBase):
    """A stream that breaks off after some bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        assert isinstance(buffer, memoryview)
        if not self.data:
            raise BadRecord("damaged")
        piece, self.data = self.data[: len(buffer)], self.data[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)


def test_lines_before_the_damage_are_kept() -> None:
    made = chunks_of_stream(io.BufferedReader(_Damaged(b"one\ntwo\nthr"), 4), 0)
    assert next(made).read() == b"one\ntwo\n"
    with pytest.raises(BadRecord, match="damaged"):
        next(made)
