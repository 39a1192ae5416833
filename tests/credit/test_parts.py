"""A large file in several processes: the same bytes as in one, and one process for everything unusual."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.credit.test_command import record, write

SCRIPT = """
import sys
import xskill.credit.shards as shards
from xskill.cli import main
shards.LEAST_BYTES = 0
whole = shards.credit_in_parts
def watched(*args):
    found = whole(*args)
    print("parts" if found is not None else "one process", file=sys.stderr)
    return found
shards.credit_in_parts = watched
sys.argv = ["xskill", "credit", *sys.argv[1:]]
main()
"""


def credit(*args: str | Path, check: int = 0) -> tuple[bytes, str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *map(str, args)], capture_output=True, timeout=60)
    error = done.stderr.decode()
    assert done.returncode == check, error
    assert "Traceback" not in error
    return done.stdout, error


def questions(n: int) -> list[Any]:
    made = []
    for i in range(n):
        for name, actions, reward in (("r0", "abc", 1.0), ("r1", "abd", 0.0), ("r2", "ae" * (i % 5), 0.5)):
            made.append(record(name, actions, reward, question_id=f"q{i}"))
            for step in made[-1]["steps"]:
                step |= {"logprob": -1.0 - i / 10, "logprob_new": -1.0, "n_tokens": 2}
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")
def test_the_same_bytes_for_any_number_of_processes(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", questions(40))
    one, error = credit("-j1", path)
    assert "parts" not in error
    for jobs in (2, 3, 7):
        many, error = credit(f"-j{jobs}", path)
        assert "parts" in error
        assert many == one
        assert "read 120; kept 120" in error
    credit("-j2", path, "-o", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == one
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


@pytest.mark.parametrize("method", ["grpo", "treerl", "gigpo", "at2po", "tree-pg"])
def test_baselines_too(tmp_path: Path, method: str) -> None:
    path = write(tmp_path / "r.jsonl", questions(20))
    assert credit("-j2", path, "--method", method)[0] == credit("-j1", path, "--method", method)[0]


def test_a_question_in_two_parts_is_left_to_one_process(tmp_path: Path) -> None:
    """All first rollouts, then all second ones."""
    records = sorted(questions(40), key=lambda one: one["id"])
    path = write(tmp_path / "r.jsonl", records)
    many, error = credit("-j2", path)
    assert "one process" in error
    assert many == credit("-j1", path)[0]


def with_a_bad_action(record: dict[str, Any]) -> None:
    record["steps"][0]["action"] = 5


def with_a_parent_that_is_none(record: dict[str, Any]) -> None:
    record["parent"] = {"id": "r0", "turn": 3}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (with_a_bad_action, "steps[0].action: expected a string, got 5"),
        # The parts do not hold the texts that this explanation shows.
        (
            with_a_parent_that_is_none,
            "parent.turn: 3, but turn 2 differs from the parent 'r0': action 'd', the parent's 'c'",
        ),
    ],
)
def test_a_bad_record_is_explained_by_one_process(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], None], reason: str
) -> None:
    records = questions(40)
    spoil(records[100])
    out, error = credit("-j2", write(tmp_path / "r.jsonl", records), check=65)
    assert out == b""
    assert f"r.jsonl:101: {reason}" in error


def test_parts_that_would_write_different_columns_are_left_to_one_process(tmp_path: Path) -> None:
    records = questions(40)
    for one in records[60:]:
        for step in one["steps"]:
            del step["logprob_new"]
    path = write(tmp_path / "r.jsonl", records)
    many, error = credit("-j2", path)
    assert "one process" in error
    assert many == credit("-j1", path)[0]
    assert json.loads(many.splitlines()[-1])["residuals"] == [None] * len(records[-1]["steps"])


def test_methods_that_look_at_the_whole_run_are_left_to_one_process(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", questions(40))
    for options in (["--method", "treepo"], ["--radius", "auto"]):
        _, error = credit("-j2", path, *options)
        assert "parts" not in error


ENDLESS = """
import os, time
from xskill.process.child import start
child = start(lambda _: time.sleep(100_000))
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")
def test_a_killed_run_leaves_no_process_at_work() -> None:
    """The child also holds the run's standard output: reading it to the end waits for the child's end."""
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, timeout=60)
    assert done.returncode == -9
    assert not Path(f"/proc/{int(done.stdout)}/exe").exists()
