"""Trees on the real ScienceWorld, from the command line to credits and evidence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rollouts.commands import lines, xskill

pytestmark = [pytest.mark.env, pytest.mark.usefixtures("scienceworld")]

TASKS = [
    {"id": "animal-7", "task_type": "find-animal", "variation": 7},
    {"id": "lifespan-7", "task_type": "lifespan-longest-lived", "variation": 7},
]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    path.write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    return path


@pytest.fixture(scope="module")
def expanded(tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rollouts") / "out.jsonl"
    worker = "xskill worker scienceworld --rate 0.25"
    result = xskill("rollout", "expand", tasks, "-w", worker, "-j", "2", "--max-turns", "25", "-o", out, timeout=600)
    assert result.returncode == 0, result.stderr
    return out


def test_expand_and_credit(expanded: Path) -> None:
    rows = lines(expanded.read_text())
    assert [row["question_id"] for row in rows] == ["animal-7"] * 12 + ["lifespan-7"] * 12
    for row in rows:
        assert row["env"] == "scienceworld"
        assert row["task"].startswith("Your task is to find")
        assert 0 <= row["reward"] <= 1
        assert row["success"] is (row["reward"] == 1.0)
        assert all(step["logprob"] <= 0 for step in row["steps"])
        assert row["actions"][-1].count("<") <= 1
    assert {row["success"] for row in rows} == {True, False}
    assert any("navigate<" in action for row in rows for action in row["actions"])
    assert xskill("rollout", "build", "--json", expanded).returncode == 0  # prefixes are true copies
    credited = xskill("credit", expanded)
    assert credited.returncode == 0, credited.stderr
    header, *found = lines(credited.stdout)
    assert (len(found), header["stats"]["questions_without_logprob"]) == (24, 0)
    assert any(value != 0 for row in found for value in row["credits"])


def test_puct_and_evidence(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    worker = "xskill worker scienceworld --rate 0.6"
    result = xskill(
        *("rollout", "puct", tasks, "-w", worker, "-j", "2", "--iterations", "12", "--max-turns", "20", "-o", out),
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    rows = lines(out.read_text())
    assert {row["question_id"] for row in rows} == {"animal-7", "lifespan-7"}
    first = [row["steps"][0] for row in rows]
    assert all(step["visits"] >= 1 and 0 <= step["q"] <= 1 and 0 < step["prior"] <= 1 for step in first)
    evidence = xskill("distill", "--as", "evidence", out)
    assert evidence.returncode == 0, evidence.stderr
    records = lines(evidence.stdout)
    assert records
    assert {record["verdict"] for record in records} <= {"avoid", "equivalent", "revise"}
    assert all(record["elite"]["N"] >= 1 for record in records)


def test_a_killed_simulator_is_replaced(tasks: Path) -> None:
    """Kill the Java process in the middle: the worker above it fails, is started again, and nothing is missing."""
    process = subprocess.Popen(
        [sys.executable, "-m", "xskill", "rollout", "expand", str(tasks), "--max-turns", "25"]
        + ["-w", "xskill worker scienceworld --rate 0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    begun = process.stdout.readline()  # of the first question; the second one is being sampled
    java = next(pid for pid in descendants(process.pid) if b"java" in command_of(pid))
    os.kill(java, signal.SIGKILL)
    rest, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    assert "was tried again" in stderr
    rows = lines(begun + rest)
    assert [row["question_id"] for row in rows] == ["animal-7"] * 12 + ["lifespan-7"] * 12
    for row in rows:  # the gold path, whether before or after the kill
        assert row["reward"] == 1.0
        first = next(other for other in rows if other["question_id"] == row["question_id"])
        assert row["actions"] == first["actions"]


def descendants(pid: int) -> list[int]:
    found = []
    for child in Path(f"/proc/{pid}/task").glob("*/children"):
        for each in child.read_text().split():
            found += [int(each), *descendants(int(each))]
    return found


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_the_environment_itself() -> None:
    from xskill.workers.environments.scienceworld import ScienceWorldEnvironment
    from xskill.workers.session import CannotAnswer

    environment = ScienceWorldEnvironment("easy", "score", gold=True)
    try:
        loaded = environment.reset(TASKS[1], 0)
        rewound = environment.reset(TASKS[1], 0)
        assert loaded == rewound  # a fresh load stands where a reset does
        rewards = []
        while (action := environment.expert()) is not None:
            taken = environment.step(action)
            rewards.append(taken.reward or 0.0)
        assert taken.success
        assert taken.done
        assert sum(rewards) == pytest.approx(1.0)

        environment.reset(TASKS[1], 0)
        assert environment.step("sing a song").error
        assert environment.expert() is not None  # what was not on the path moves nothing
        assert len(environment.actions()) > 50
        assert environment.actions() == sorted(environment.actions())
        for bad, reason in (
            ({"task_type": "nope", "variation": 0}, "no ScienceWorld task 'nope'"),
            ({"task_type": "boil", "variation": 9999}, "boil has variations 0 to"),
            ({"task_type": "boil"}, "needs a task_type"),
        ):
            with pytest.raises(CannotAnswer, match=reason):
                environment.reset(bad, 0)
        assert environment.reset(TASKS[1], 0) == loaded
    finally:
        environment.close()
