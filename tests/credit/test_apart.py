"""Parquet credited in a child process: the bytes of the careful way, and no trace if it falls."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import ENVIRONMENT, xskill
from tests.credit.test_command import record, rows, write
from xskill.rollouts.read_parquet import _first_equal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no fork elsewhere")

SCRIPT = """
import contextlib, os, signal, sys, time
import xskill.rollouts.read_apart as apart
open_work = apart.open_work
@contextlib.contextmanager
def watched(*args):
    with open_work(*args) as messages:
        if messages is not None:
            print("apart", file=sys.stderr)
        yield messages
apart.open_work = watched
def in_child(act):
    apart.read_bounded = lambda asked: act()
CHANGE
from xskill.cli import main
sys.argv = ["xskill", *sys.argv[1:]]
main()
"""


def run(*args: str | Path, change: str = "", stdin: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", SCRIPT.replace("CHANGE", change), *map(str, args)]
    with open(stdin or os.devnull, "rb") as given:
        return subprocess.run(command, stdin=given, capture_output=True, timeout=100, env=ENVIRONMENT)


def both_ways(path: Path, *args: str | Path) -> bytes:
    """The output for a file, which is read apart, and equal to that for a pipe, which is not."""
    apart, careful = run(*args, path), run(*args, "-", stdin=path)
    assert apart.returncode == careful.returncode == 0, apart.stderr + careful.stderr
    assert b"apart\n" in apart.stderr
    assert b"apart\n" not in careful.stderr
    assert apart.stdout == careful.stdout
    return apart.stdout


def rollouts() -> list[dict[str, Any]]:
    """Three questions whose rollouts take turns, with all that a plain table may hold."""
    made = []
    for name, actions, reward in (("r0", "abc", 1.0), ("r1", "abd", 0.0), ("r2", "", 0.5), ("r3", "axe", None)):
        for question in ("q0", "q1", "ünicode"):
            made.append(record(name, actions, reward, question_id=question, success=name == "r0", extra={"k": [1]}))
            for i, step in enumerate(made[-1]["steps"]):
                step |= {"logprob": -1.0 - i / 10, "logprob_new": -1.0, "n_tokens": 2}
    del made[0]["steps"][1]["observation"]
    made[0]["initial_observation"] = "a room"
    made[4]["parent"] = {"id": "r0", "turn": 1}
    made[5]["parent"] = {"id": "nobody", "turn": 1}
    made[2]["steps"][0]["turn"] = made[2]["steps"][1]["turn"] = 0
    made[2]["steps"][2] |= {"turn": 1, "reward": 0.5, "extra": {"seen": "x"}}
    return made


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rollouts")
    xskill("filter", "true", write(folder / "r.jsonl", rollouts()), "-o", folder / "r.parquet")
    return folder / "r.parquet"


@pytest.mark.parametrize(
    "options",
    [
        *([], ["--per-turn"], ["--to", "parquet"], ["--per-turn", "--to", "parquet"], ["--reward-from", "success"]),
        *(["--method", "gigpo", "--option", "similarity=0.5"], ["--method", "grpo"], ["--radius", "auto"]),
    ],
    ids=" ".join,
)
def test_credit_says_the_same(table: Path, options: list[str]) -> None:
    both_ways(table, "credit", *options)
    if "parquet" not in options:
        lines, table_lines = (
            xskill("credit", table.with_suffix(ending), *options).stdout for ending in (".jsonl", ".parquet")
        )
        assert rows(lines) == rows(table_lines)


def test_check_says_the_same(table: Path) -> None:
    assert (
        both_ways(table, "rollout", "check", "--json")
        == xskill("rollout", "check", "--json", table.with_suffix(".jsonl")).stdout
    )


def test_several_files_are_one_input(table: Path, tmp_path: Path) -> None:
    records = rollouts()
    for name, part in (("a", records[:5]), ("b", records[5:])):
        xskill("filter", "true", write(tmp_path / f"{name}.jsonl", part), "-o", tmp_path / f"{name}.parquet")
    found = run("credit", tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert b"apart\n" in found.stderr
    assert b"read 12; kept 12" in found.stderr
    assert found.stdout == run("credit", table).stdout


def doubled(records: list[dict[str, Any]]) -> str:
    records[3]["id"] = "r0"
    return "r.parquet:4: id: the id 'r0' occurs twice in question 'q0'"


def bad_link(records: list[dict[str, Any]]) -> str:
    records[4]["parent"] = {"id": "r0", "turn": 3}
    return "r.parquet:5: parent.turn: 3, but turn 2 differs from the parent 'r0': action 'd', the parent's 'c'"


@pytest.mark.parametrize("spoil", [doubled, bad_link])
def test_what_is_wrong_is_explained_the_careful_way(tmp_path: Path, spoil: Any) -> None:
    records = rollouts()
    wanted = spoil(records)
    xskill("filter", "true", write(tmp_path / "r.jsonl", records), "-o", tmp_path / "r.parquet")
    found = run("credit", tmp_path / "r.parquet")
    assert found.returncode == 65
    assert found.stdout == b""
    assert found.stderr.decode().splitlines() == [f"xskill: {tmp_path}/{wanted}"]


def test_token_lists_go_the_careful_way(tmp_path: Path) -> None:
    records = rollouts()
    for step in records[0]["steps"]:
        step |= {"logprob": [-0.5, -0.5], "logprob_new": [-0.25, -0.75]}
    xskill("filter", "true", write(tmp_path / "r.jsonl", records), "-o", tmp_path / "r.parquet")
    found = run("credit", tmp_path / "r.parquet")
    assert b"apart" not in found.stderr
    assert rows(found.stdout) == rows(xskill("credit", tmp_path / "r.jsonl").stdout)


FALLS = {
    "killed": "in_child(lambda: os.kill(os.getpid(), signal.SIGABRT))",
    "panics": "def panic():\n    os.write(2, b'thread panicked')\n    raise BaseException\nin_child(panic)",
    "out of memory": "in_child(lambda: bytearray(1 << 60))",
}


@pytest.mark.parametrize("fall", FALLS)
def test_a_fall_leaves_no_trace(table: Path, fall: str) -> None:
    found = run("credit", table, change=FALLS[fall])
    assert found.returncode == 0
    assert found.stdout == run("credit", "-", stdin=table).stdout
    assert b"panicked" not in found.stderr
    assert found.stderr.count(b"read 12; kept 12") == 1


def test_a_fall_while_it_writes_is_said(table: Path) -> None:
    change = """
work = apart._work
def fall(*args):
    yield next(work(*args))
    os.kill(os.getpid(), 9)
apart._work = fall
"""
    found = run("credit", table, change=change)
    assert found.returncode == 1
    assert found.stderr.decode().splitlines()[-1:] == [
        "xskill: the process that wrote the output was killed by signal 9"
    ]


def test_the_end_of_the_work_is_the_end_of_the_command(table: Path, tmp_path: Path) -> None:
    """Its exit codes, and its words, once."""
    records = rollouts()
    for one in records:
        one["reward"] = None
    xskill("filter", "true", write(tmp_path / "r.jsonl", records), "-o", tmp_path / "r.parquet")
    found = run("credit", tmp_path / "r.parquet")
    assert found.returncode == 65
    assert found.stderr.count(b"no trajectory has a reward") == 1
    full = subprocess.run([*COMMAND, "credit", table], stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE)  # noqa: SIM115
    assert full.returncode == xskill("credit", table.with_suffix(".jsonl"), "-o", "/dev/full", check=None).returncode
    assert full.stderr.count(b"cannot write") == 1


COMMAND = [sys.executable, "-m", "xskill"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_stopped_command_leaves_no_process_at_work(table: Path, tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "pid").touch()
    change = f"def wait():\n    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n    time.sleep(100_000)\n"
    script = SCRIPT.replace("CHANGE", change + "in_child(wait)")
    with subprocess.Popen([sys.executable, "-c", script, "credit", table], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        process.send_signal(number)
        errors = process.stderr.read()  # the child holds it too: reading it to the end waits for the child's end
    assert process.returncode == code
    assert errors.decode().splitlines() == (["xskill: interrupted"] if code == 130 else [])
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}/exe").exists()


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "b", None]))), st.booleans())
def test_equal_rows_are_found_without_trust_in_hashes(pairs: list[tuple[int, str | None]], collide: bool) -> None:
    groups, texts = [group for group, _ in pairs], [text for _, text in pairs]
    hashes = pl.Series([0] * len(pairs), dtype=pl.UInt64)
    with mock.patch.object(pl.Series, "hash", return_value=hashes) if collide else contextlib.nullcontext():
        first = _first_equal(np.array(groups, np.int64), pl.Series(texts, dtype=pl.String))
    assert first.tolist() == [pairs.index(pair) for pair in pairs]
