"""Output files are whole or not there."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.command import ENVIRONMENT, within
from xskill.errors import CannotWrite
from xskill.streams.atomic import AtomicFile

LINE = json.dumps({"id": "a", "actions": ["x"] * 200}).encode() + b"\n"
STEPS = b'{"steps": [{"action": "go to fridge 1", "observation": "You arrive at fridge 1."}]}\n'


def temporaries(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.tmp"))


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_kill_in_mid_write_leaves_the_old_file_and_the_rerun_cleans(name: str, tmp_path: Path) -> None:
    out = tmp_path / name
    out.write_bytes(b"old")
    writer = subprocess.Popen(
        [sys.executable, "-m", "xskill", "split", "-o", str(out)], stdin=subprocess.PIPE, env=ENVIRONMENT
    )
    assert writer.stdin is not None
    writer.stdin.write(LINE * 2000)
    writer.stdin.flush()
    deadline = time.monotonic() + 100
    while not temporaries(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdin.close()
    assert out.read_bytes() == b"old"
    assert len(temporaries(tmp_path)) == 1
    within("split", "-o", out, stdin=LINE)
    assert temporaries(tmp_path) == []
    assert json.loads(within("stats", "--json", out).stdout)["episodes"] == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize(
    "words", ["split -o out", "split -o out.gz --rejects bad", "split -o out.parquet", "canon -j 2 -o out"]
)
def test_a_run_that_is_told_to_end_cleans_up(words: str, how: signal.Signals, tmp_path: Path) -> None:
    """And then it dies of the signal, without a word; twice at once (as from `timeout`) is once."""
    out = tmp_path / words.split()[words.split().index("-o") + 1]
    out.write_bytes(b"old")
    writer = subprocess.Popen(
        [sys.executable, "-m", "xskill", *words.split()],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        preexec_fn=partial(signal.signal, how, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )
    assert writer.stdin is not None
    writer.stdin.write((STEPS if "canon" in words else LINE) * 2000)
    writer.stdin.flush()
    deadline = time.monotonic() + 100
    while len(temporaries(tmp_path)) < 1 + ("--rejects" in words):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    writer.send_signal(how)
    if how != signal.SIGINT:
        writer.send_signal(how)
    writer.stdin.close()
    writer.stdin = None
    _, error = writer.communicate(timeout=100)
    assert (writer.returncode, error) == ((130, b"xskill: interrupted\n") if how == signal.SIGINT else (-how, b""))
    assert list(tmp_path.iterdir()) == [out]
    assert out.read_bytes() == b"old"


def test_a_live_writer_keeps_its_temporary(tmp_path: Path) -> None:
    first = AtomicFile(str(tmp_path / "out"))
    first.write(b"first")
    second = AtomicFile(str(tmp_path / "out"))
    second.write(b"second")
    first.commit()
    assert (tmp_path / "out").read_bytes() == b"first"
    second.commit()
    assert (tmp_path / "out").read_bytes() == b"second"
    assert temporaries(tmp_path) == []


def test_bad_input_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_bytes(b"old")
    within("split", "-o", out, stdin=LINE + b"{", check=65)
    assert out.read_bytes() == b"old"
    assert temporaries(tmp_path) == []


def test_mode_of_the_old_file_and_links_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    within("split", "-o", link, stdin=LINE)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_bytes().startswith(b'{"schema"')


def test_new_files_follow_the_umask(tmp_path: Path) -> None:
    umask = os.umask(0)
    os.umask(umask)
    within("split", "-o", tmp_path / "out.jsonl", stdin=LINE)
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o666 & ~umask


def test_a_device_is_written_directly() -> None:
    within("split", "-o", "/dev/null", stdin=LINE)


@pytest.mark.parametrize("path", ["missing/out.jsonl", "."])
def test_cannot_write_is_74(path: str, tmp_path: Path) -> None:
    with pytest.raises(CannotWrite):
        AtomicFile(str(tmp_path / path))
    done = within("split", "-o", tmp_path / path, stdin=LINE, check=74)
    assert len(done.stderr.decode().splitlines()) == 1


def test_full_disk_is_74() -> None:
    done = within("split", "-o", "/dev/full", stdin=LINE * 3000, check=74)
    assert "No space left" in done.stderr.decode()


def test_gzip_output_holds_no_clock(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        within("split", "-o", tmp_path / name, stdin=LINE)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
