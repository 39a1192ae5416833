"""What the gate takes, what it leaves out, and what it does not claim to see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gate.test_gate_command import gate
from xskill import gate as gate_stage
from xskill.errors import MissingMetric, UsageError
from xskill.gate.compare import parse_metric
from xskill.gate.sides import as_results
from xskill.records import Result, Trajectory


def results(path: Path, values: list[str]) -> Path:
    rows = (f'{{"task_id":"t{i}","metrics":{{"s":{value}}}}}' for i, value in enumerate(values))
    path.write_text("\n".join(rows) + "\n")
    return path


def episode(name: str, question: str, success: bool | None, **more: Any) -> dict[str, Any]:
    return {
        "schema": "xskill.trajectory/1",
        "id": name,
        "question_id": question,
        "actions": ["a"],
        "success": success,
    } | more


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("lack", ["NaN", "null", "Infinity"])
def test_a_metric_that_is_none_fails_or_leaves_its_task_out(tmp_path: Path, lack: str) -> None:
    old = results(tmp_path / "old.jsonl", ["1", "1", "0", "1"])
    new = results(tmp_path / "new.jsonl", [lack, "1", "1", "1"])
    done = gate(old, new)
    assert done.returncode == 65
    assert "new.jsonl: candidate results: task 't0'" in done.stderr
    assert "write null" not in done.stderr
    done = gate(old, new, "--missing", "drop")
    assert done.returncode == 0
    assert "Left out of s on both sides, because a run lacks it (--missing drop): t0 (1 task)." in done.stdout
    verdict = json.loads(gate(old, new, "--missing", "drop", "--json").stdout)
    row = verdict["metrics"][0]
    assert (row["tasks"], row["dropped"], row["current"], row["candidate"]) == (3, ["t0"], pytest.approx(2 / 3), 1.0)
    assert "dropped" not in json.loads(gate(old, old, "--missing", "drop", "--json").stdout)["metrics"][0]


def test_one_run_that_lacks_the_metric_takes_its_task_out(tmp_path: Path) -> None:
    old = [Result(task_id=t, metrics={"s": 1.0}, repeat=r) for t in "ab" for r in (0, 1)]
    new = [Result(task_id=t, metrics={"s": 1.0} if (t, r) != ("a", 1) else {}, repeat=r) for t in "ab" for r in (0, 1)]
    assert gate_stage.decide(old, new, missing="drop", metric=["s"]).metrics[0]["dropped"] == ["a"]
    with pytest.raises(MissingMetric, match="candidate results: task 'a' has no metric 's'"):
        gate_stage.decide(old, new, metric=["s"])
    with pytest.raises(MissingMetric, match="no task has the metric 's'"):
        gate_stage.decide(old[:2], new[:2], missing="drop", metric=["s"])
    with pytest.raises(UsageError, match="--missing"):
        gate_stage.decide(old, new, missing="skip")  # type: ignore[arg-type]


def test_one_task_tells_no_power(tmp_path: Path) -> None:
    one = results(tmp_path / "one.jsonl", ["1"])
    done = gate(one, one)
    assert "With one task this gate cannot tell which drop in s it would see." in done.stdout
    assert "points" not in done.stdout
    row = json.loads(gate(one, one, "--policy", "margin", "--margin", "0.1", "--json").stdout)["metrics"][0]
    assert row["detectable"] is None
    assert "accepts_equal" not in row


def test_no_share_drops_by_more_than_all(tmp_path: Path) -> None:
    few = results(tmp_path / "few.jsonl", ["1", "0"])
    assert "With 2 tasks this gate cannot be sure to see any drop in s" in gate(few, few).stdout
    many = results(tmp_path / "many.jsonl", ["1", "0"] * 20)
    assert json.loads(gate(many, many, "--json").stdout)["metrics"][0]["detectable"] < 1


@pytest.mark.parametrize("name", ["tokens", "cost", "error_rate", "n_steps", "eval/loss", "latencyMs", "wall time"])
def test_less_is_better_by_name(name: str) -> None:
    assert parse_metric(name).goal == "min"
    assert parse_metric(f"{name}:max").goal == "max"


@pytest.mark.parametrize("name", ["success", "reward", "accuracy", "costume", "lossless", "f1"])
def test_more_is_better_by_default(name: str) -> None:
    assert parse_metric(name).goal == "max"


def test_trajectories_on_a_side_are_the_repeats_of_their_questions(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", [episode("1", "p", True), episode("2", "p", False), episode("3", "q", False)])
    new = write(tmp_path / "new.jsonl", [episode("1", "p", True), episode("2", "p", True), episode("3", "q", False)])
    done = gate(old, new, "--json")
    assert done.returncode == 0
    row = json.loads(done.stdout)["metrics"][0]
    assert (row["name"], row["tasks"], row["current"], row["candidate"]) == ("success", 2, 0.25, 0.5)
    measured = tmp_path / "measured.jsonl"
    measured.write_text('{"task_id":"p","metrics":{"success":1}}\n{"task_id":"q","metrics":{"success":0}}\n')
    assert json.loads(gate(old, measured, "--json").stdout)["metrics"][0]["candidate"] == 0.5


def test_graded_trajectories_are_compared_by_reward() -> None:
    old = [
        Trajectory(id="1", question_id="p", actions=["a"], reward=0.25, extra={"scores": {"style": 3, "match": "C"}})
    ]
    new = [
        Trajectory(id="1", question_id="p", actions=["a"], reward=0.75, extra={"scores": {"style": 2, "match": "C"}})
    ]
    assert gate_stage.decide(old, new).metrics[0]["name"] == "reward"
    assert gate_stage.decide(old, new).decision == "accept"
    assert gate_stage.decide(old, new, metric=["style"]).decision == "reject"
    assert gate_stage.decide(old, new, metric=["steps"]).metrics[0]["goal"] == "min"


@pytest.mark.parametrize("field", ["env", "task"])
def test_one_question_id_under_two_environments_or_tasks_is_two_tasks(field: str) -> None:
    def side(a: bool, b: bool) -> list[Trajectory]:
        return [
            Trajectory(id="1", question_id="1", actions=["x"], success=a, **{field: "maps"}),  # type: ignore[arg-type]
            Trajectory(id="2", question_id="1", actions=["x"], success=b, **{field: "sums"}),  # type: ignore[arg-type]
        ]

    verdict = gate_stage.decide(side(True, False), side(False, True), max_regressions=0)
    assert (verdict.decision, verdict.metrics[0]["tasks"]) == ("reject", 2)
    assert [row["task_id"] for row in verdict.regressions] == ["1 · maps"]


def test_an_unknown_environment_is_no_second_one() -> None:
    known = Trajectory(id="1", question_id="1", actions=["x"], success=True, env="maps")
    unknown = Trajectory(id="1", question_id="1", actions=["x"], success=True)
    old, new, unasked = as_results([known], [unknown])
    assert ([r.task_id for r in old], [r.task_id for r in new], unasked) == (["1"], ["1"], ["success"])


def inspect_log(path: Path, values: dict[str, str]) -> Path:
    """A log as Inspect writes it, with one sample a task."""
    samples = [
        {
            "id": name,
            "epoch": 1,
            "input": f"puzzle {name}",
            "target": "t",
            "messages": [{"role": "user", "content": f"puzzle {name}"}, {"role": "assistant", "content": "answer"}],
            "scores": {"match": {"value": value}},
        }
        for name, value in values.items()
    ]
    log = {
        "version": 2,
        "status": "success",
        "eval": {"run_id": "r", "task": "puzzles", "model": "m"},
        "plan": {},
        "results": {},
        "samples": samples,
    }
    path.write_text(json.dumps(log, indent=1))
    return path


def test_raw_logs_on_both_sides(tmp_path: Path) -> None:
    old = inspect_log(tmp_path / "old.json", {"a": "C", "b": "I", "c": "C"})
    new = inspect_log(tmp_path / "new.json", {"a": "C", "b": "I", "c": "I"})
    done = gate(old, new, "--json")
    assert done.returncode == 3, done.stderr
    row = json.loads(done.stdout)["metrics"][0]
    assert (row["name"], row["tasks"], row["wins"], row["losses"]) == ("success", 3, 0, 1)
