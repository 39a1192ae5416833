"""Damaged, empty and foreign input: one line, the place, the exit code; with --rejects nothing good is lost."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
import zstandard

from tests.command import within

GOOD = [json.dumps({"id": f"e{i}", "actions": ["a", "b"], "success": i % 2 == 0}).encode() for i in range(4)]
LINES = b"\n".join(GOOD) + b"\n"


def ids(output: bytes) -> list[str]:
    return [json.loads(line)["id"] for line in output.splitlines()]


def last_line(error: bytes) -> str:
    lines = error.decode().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


CASES = {
    "truncated last line": (LINES + b'{"id":"e9","act', 65, "{file}:5: not valid JSON: the line ends in the middle"),
    "wrong type deep inside": (
        LINES + b'{"id":"x","actions":["a"],"steps":[{"action":"a","extra":{},"turn":"3"}]}',
        65,
        '{file}:5: steps[0].turn: expected an integer or null, got "3"',
    ),
    "empty": (b"", 66, "{file}: no record in the input"),
    "blank lines only": (b"\n \n\r\n", 66, "{file}: no record in the input"),
    "binary": (bytes(range(256)) * 4, 65, "{file}: byte 0: a binary file"),
    "PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 65, "{file}: byte 6: a binary file"),
    "UTF-16": ("{}".encode("utf-16"), 65, "{file}: byte 0: UTF-16 text"),
    "invalid UTF-8": (LINES + b'{"id":"\xff","actions":[]}', 65, "{file}:5: not valid JSON: invalid UTF-8"),
    "NaN": (LINES + b'{"id":"n","actions":[],"reward":NaN}', 65, "{file}:5: not valid JSON: NaN and Infinity"),
    "truncated gzip": (gzip.compress(LINES * 500)[:-20], 65, "the gzip data is truncated"),
    "bad gzip checksum": (gzip.compress(LINES)[:-8] + b"\0" * 8, 65, "the gzip data is damaged (checksum mismatch)"),
    "truncated zstd": (zstandard.compress(LINES * 500)[:-20], 65, "the zstd data is truncated"),
    "gzip thrice": (gzip.compress(gzip.compress(gzip.compress(LINES))), 65, "compressed more than 2 times"),
    "ZIP": (b"PK\x03\x04" + b"\0" * 40, 65, "a ZIP archive"),
    "cut Parquet": (b"PAR1" + b"\0" * 40, 65, "the Parquet file is truncated"),
    "raw log": (b'{"messages":[]}\n', 65, "raw logs go through `xskill canon` first"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("through", ["file", "stdin"])
def test_one_line_with_the_place(case: str, through: str, tmp_path: Path) -> None:
    data, code, message = CASES[case]
    path = tmp_path / "run.jsonl"
    path.write_bytes(data)
    done = within("split", path, check=code) if through == "file" else within("split", stdin=data, check=code)
    name = str(path) if through == "file" else "-"
    assert message.replace("{file}", name) in last_line(done.stderr)
    assert all(json.loads(line)["id"] in ("e0", "e1", "e2", "e3") for line in done.stdout.splitlines())


WHOLE_FILES = {name: CASES[name][0] for name in ("binary", "UTF-16", "ZIP", "gzip thrice", "cut Parquet")}


@pytest.mark.parametrize("data", [*WHOLE_FILES.values(), gzip.compress(b"\n\n")[:-4]], ids=[*WHOLE_FILES, "cut gzip"])
def test_a_damaged_file_is_told_alike_by_every_command(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    commands = ("split", "head", "filter true", "credit", "tree show", "bank show")
    told = {last_line(within(*words.split(), path, check=65).stderr) for words in commands}
    assert len(told) == 1, told


def test_missing_file_and_directory(tmp_path: Path) -> None:
    assert "no such file" in last_line(within("stats", tmp_path / "none", check=66).stderr)
    message = f"xskill: {tmp_path}: is a directory; name the files in it (`xskill canon` reads some as they are)"
    assert last_line(within("stats", tmp_path, check=66).stderr) == message


@pytest.mark.parametrize(
    "case", ["truncated last line", "wrong type deep inside", "invalid UTF-8", "NaN"], ids=lambda case: case
)
def test_rejects_keep_the_good_records_and_the_reason(case: str, tmp_path: Path) -> None:
    data, _, message = CASES[case]
    path, rejects, out = tmp_path / "run.jsonl", tmp_path / "bad.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(data)
    within("split", path, "--rejects", rejects, "-o", out)
    assert [json.loads(line)["id"] for line in out.read_bytes().splitlines()] == ["e0", "e1", "e2", "e3"]
    (row,) = map(json.loads, rejects.read_text().splitlines())
    assert row["file"] == str(path)
    assert row["line"] == 5
    assert f"{path}:5: {row['reason']}".startswith(message.replace("{file}", str(path)))
    assert row["raw"].encode()[:7] == data.splitlines()[-1][:7]


def test_truncated_gzip_with_rejects_keeps_what_was_whole(tmp_path: Path) -> None:
    path, rejects = tmp_path / "run.jsonl.gz", tmp_path / "bad.jsonl"
    many = b"".join(b'{"id":"%d","actions":[]}\n' % (i * 7919) for i in range(20_000))
    path.write_bytes(gzip.compress(many)[:-5000])
    done = within("split", path, "--rejects", rejects)
    kept = ids(done.stdout)
    assert 15_000 < len(kept) < 20_000
    assert kept == [str(i * 7919) for i in range(len(kept))]
    (row,) = map(json.loads, rejects.read_text().splitlines())
    assert "truncated" in row["reason"]
    assert row["byte"] == path.stat().st_size


def test_nothing_good_is_65_and_leaves_the_old_output(tmp_path: Path) -> None:
    rejects, out = tmp_path / "bad.jsonl", tmp_path / "out.jsonl"
    out.write_text("old\n")
    done = within("split", "--rejects", rejects, "-o", out, stdin=b'{"id":3}\n{"id":4}\n', check=65)
    assert "no good record: 2 rejected" in last_line(done.stderr)
    assert out.read_text() == "old\n"
    assert len(rejects.read_text().splitlines()) == 2


def test_an_empty_input_among_others_is_only_said(tmp_path: Path) -> None:
    empty, full = tmp_path / "empty.jsonl", tmp_path / "full.jsonl"
    empty.write_bytes(b"")
    full.write_bytes(LINES)
    done = within("stats", empty, full)
    assert f"{empty}: no record in it" in done.stderr.decode()


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(LINES[:60]) + gzip.compress(LINES[60:]),
        zstandard.compress(LINES[:60]) + b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstandard.compress(LINES[60:]),
        zstandard.ZstdCompressor(write_content_size=False).compress(LINES),
        gzip.compress(gzip.compress(LINES)),
        gzip.compress(LINES) + b"\0" * 512,
        LINES.replace(b"\n", b"\r\n"),
        b"\n\n" + LINES.replace(b"\n", b"\n\n"),
        b"".join(b"\xef\xbb\xbf" + line + b"\n" for line in GOOD),
        LINES.rstrip(b"\n"),
    ],
    ids=["two members", "two frames", "no size", "twice", "padding", "CRLF", "blank lines", "BOMs", "no final newline"],
)
def test_legal_oddities_are_read_whole(data: bytes) -> None:
    assert json.loads(within("stats", "--json", stdin=data).stdout)["episodes"] == 4


def test_bytes_after_gzip_are_said() -> None:
    done = within("stats", "--json", stdin=gzip.compress(LINES) + b"garbage")
    assert json.loads(done.stdout)["episodes"] == 4
    assert "bytes after the end of the gzip data were ignored" in done.stderr.decode()


def test_line_separators_inside_strings_do_not_cut_records() -> None:
    text = json.dumps({"id": "a\u2028b\u0085c\u000b", "actions": []}, ensure_ascii=False)
    assert json.loads(within("stats", "--json", stdin=text + "\n" + text).stdout)["episodes"] == 2


def test_foreign_parquet_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"prompt": ["a"]}).write_parquet(path)
    assert "foreign tables go through `xskill canon` first" in last_line(within("stats", path, check=65).stderr)


def test_a_bomb_stays_in_bounded_memory(tmp_path: Path) -> None:
    """One gigabyte of zeros in two gzip layers is one long line: refused by its length, not by the machine."""
    path = tmp_path / "bomb.jsonl.gz"
    inner = gzip.compress(b"0" * (64 << 20), 9)
    path.write_bytes(gzip.compress(inner * 16, 9))
    assert path.stat().st_size < 10_000
    assert "a line longer than 256 MiB" in last_line(within("stats", path, check=65).stderr)


def test_all_bad_parquet_is_refused_in_one_line(shared: Path) -> None:
    files = sorted((shared / "tracing/robustness/parquet").glob("*/*.parquet"))
    assert len(files) == 42
    for path in files:
        done = within("stats", path, check=None)
        assert done.returncode in (65, 66)
        assert last_line(done.stderr).startswith(f"xskill: {path}:")
