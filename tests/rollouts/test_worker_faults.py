"""What a bad worker costs: its own question at most, and never in silence."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.rollouts.commands import assert_ended, faulty, lines, within, write_tasks, xskill


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("tasks") / "tasks.jsonl", 4)


@pytest.fixture(scope="module")
def healthy(tasks: Path) -> str:
    """The output that a good worker gives."""
    result = within("rollout", "expand", tasks, "--worker", faulty())
    assert result.returncode == 0, result.stderr
    assert [row["question_id"] for row in lines(result.stdout)] == [f"q{i}" for i in range(4) for _ in range(12)]
    return result.stdout


FAULTS = {
    "die": "died with exit code 3: Traceback: out of luck",
    "kill": "was killed by signal 9 (Killed)",
    "hang": "gave no answer within 3 s",
    "hang-with-child": "gave no answer within 3 s",
    "garbage": "answered nonsense to finish: not valid JSON",
    "half": "died with exit code 0",
    "twice": "printed what nobody asked for: 'and by the way'",
    "other": "answered for question 'someone else' instead of 'q1'",
    "error": "no such game",
    "too-many": "finished with 99 turns instead of at most 50",
    "nothing": "finished with no step, and yet not done",
    "types": "answered nonsense to finish: steps[0].action: expected a string, got 7",
}


def timeout(fault: str) -> str:
    """Time for the healthy answers too, on a busy machine; only a hanging worker makes anyone wait for it."""
    return "3" if "hang" in fault else "100"


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_made_good_by_one_retry(fault: str, tasks: Path, healthy: str, tmp_path: Path) -> None:
    result = within(
        *("rollout", "expand", tasks, "--timeout", timeout(fault)),
        *("--worker", faulty(fault, "q1", "finish", "1", tmp_path)),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == healthy
    assert f"question 'q1' was tried again: the worker {FAULTS[fault]}" in result.stderr
    assert "; 1 retried;" in result.stderr


@pytest.mark.parametrize("fault", ["die", "hang", "garbage", "error"])
def test_two_faults_cost_the_question_alone(fault: str, tasks: Path, healthy: str, tmp_path: Path) -> None:
    rejects, out = tmp_path / "rejects.jsonl", tmp_path / "out.jsonl"
    result = within(
        *("rollout", "expand", tasks, "--timeout", timeout(fault), "-o", out, "--rejects", rejects),
        *("--worker", faulty(fault, "q1", "finish", "9", tmp_path), "-j", "2"),
    )
    assert result.returncode == 0, result.stderr
    assert lines(out.read_text()) == [row for row in lines(healthy) if row["question_id"] != "q1"]
    (row,) = lines(rejects.read_text())
    assert row["reason"].startswith(f"question 'q1' failed twice: {FAULTS[fault]}")
    assert json.loads(row["raw"]) == {"id": "q1", "task": "number 1"}  # it can be fed in again
    assert "read 4; kept 3; rejected 1" in result.stderr

    resumed = within("rollout", "expand", tasks, "--resume", out, "--worker", faulty())
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == healthy
    assert "resumed 3" in resumed.stderr


def test_without_rejects_the_run_goes_on_and_then_says_so(tasks: Path, healthy: str, tmp_path: Path) -> None:
    out, report = tmp_path / "out.jsonl", tmp_path / "report.json"
    result = within(
        *("rollout", "expand", tasks, "-o", out, "--report", report),
        *("--worker", faulty("die", "q1", "finish", "9", tmp_path)),
    )
    assert result.returncode == 1
    assert lines(out.read_text()) == [row for row in lines(healthy) if row["question_id"] != "q1"]
    assert "1 questions failed; the first, 'q1', twice: died with exit code 3" in result.stderr
    assert "dropped 1 (1 failed)" in result.stderr
    told = json.loads(report.read_text())
    assert told["failures"] == {"q1": "twice: died with exit code 3: Traceback: out of luck"}
    assert (told["questions"], told["trajectories"], told["retries"], told["starts"]) == (3, 36, 1, 3)
    assert told["config"] == {"sampler": "expand", "initial": 4, "branches": 2, "max_turns": 50, "seed": 0}


def test_a_second_beginning_that_differs_is_no_retry(tasks: Path, tmp_path: Path) -> None:
    """The prefix of the first try would mean something else."""
    changing = tmp_path / "changing.py"
    changing.write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    r = json.loads(line)\n"
        "    if r['op'] != 'reset': sys.exit(1)\n"
        "    print(json.dumps({'observation': f'it is {os.getpid()}', 'done': False}), flush=True)\n"
    )
    result = within("rollout", "expand", tasks, "--worker", f"{sys.executable} {changing}")
    assert result.returncode == 1
    assert "the second reset gave another observation: the environment is not seeded" in result.stderr


def test_a_hanging_worker_takes_its_children_with_it(tasks: Path, tmp_path: Path) -> None:
    mark = f"5{os.getpid()}.5"  # a sleep that can be told from all others
    hanging = tmp_path / "hanging.sh"
    hanging.write_text(f"sleep {mark} & sleep {mark}\n")
    result = within("rollout", "expand", tasks, "--timeout", "0.5", "--worker", f"sh {hanging}")
    assert result.returncode == 1
    assert_ended(mark)


def test_a_command_that_never_works_is_given_up_at_once(tmp_path: Path) -> None:
    many = write_tasks(tmp_path / "many.jsonl", 500)
    result = xskill("rollout", "expand", many, "--worker", f"{sys.executable} -c 'import nosuchthing'", timeout=20)
    assert result.returncode == 1
    assert "the worker never answered: twice: died with exit code 1: ModuleNotFoundError" in result.stderr
    result = xskill("rollout", "expand", many, "--worker", "no-such-program --x")
    assert result.returncode == 2
    assert "no program 'no-such-program' on PATH" in result.stderr
    result = xskill("rollout", "expand", many, "--worker", "cat '")
    assert result.returncode == 2


def test_a_first_question_that_cannot_be_answered_is_not_the_last(tasks: Path, healthy: str, tmp_path: Path) -> None:
    worker = faulty("error", "q0", "reset", "9", tmp_path)
    result = within("rollout", "expand", tasks, "--rejects", tmp_path / "rejects.jsonl", "--worker", worker)
    assert result.returncode == 0, result.stderr
    assert lines(result.stdout) == [row for row in lines(healthy) if row["question_id"] != "q0"]


def test_an_endless_answer_is_cut(tasks: Path, tmp_path: Path) -> None:
    result = within("rollout", "expand", tasks, "--worker", faulty("endless", "q1", "finish", "1", tmp_path))
    assert result.returncode == 0, result.stderr
    assert "answered with a line longer than 64 MiB" in result.stderr


def test_a_dying_worker_cannot_paint_the_terminal(tasks: Path, tmp_path: Path) -> None:
    result = within("rollout", "expand", tasks, "--worker", faulty("escape", "q1", "finish", "1", tmp_path))
    assert "\x1b" not in result.stderr
    assert r"\x1b[2Jwiped" in result.stderr


@pytest.mark.parametrize("op", ["reset", "propose", "step", "finish"])
def test_a_search_survives_a_fault_at_any_request(op: str, tasks: Path, tmp_path: Path) -> None:
    arguments = ("rollout", "puct", tasks, "--iterations", "12", "-k", "3", "--depth", "3")
    good = within(*arguments, "--worker", faulty())
    assert good.returncode == 0, good.stderr
    (tmp_path / op).mkdir()
    bad = within(*arguments, "-j", "2", "--worker", faulty("kill", "q2", op, "1", tmp_path / op))
    assert bad.returncode == 0, bad.stderr
    assert bad.stdout == good.stdout
    assert "was tried again" in bad.stderr


def test_all_failed(tasks: Path, tmp_path: Path) -> None:
    only = write_tasks(tmp_path / "one.jsonl", 1)
    worker = faulty("error", "q0", "finish", "9", tmp_path)
    result = within("rollout", "expand", only, "--rejects", tmp_path / "r.jsonl", "--worker", worker)
    assert result.returncode == 65
    assert len(lines((tmp_path / "r.jsonl").read_text())) == 1


def test_a_worker_has_the_environment_of_the_caller(tasks: Path) -> None:
    """The command line sets a variable for its own numpy."""
    worker = 'sh -c "echo blas threads: $OPENBLAS_NUM_THREADS. >&2; exit 3"'
    result = xskill("rollout", "expand", tasks, "--worker", worker)
    assert "died with exit code 3: blas threads: ." in result.stderr
