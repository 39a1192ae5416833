"""Trees grown by a real model. It is a tiny one: protocol, structure and accounting are asserted, not quality."""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.rollouts.commands import lines, xskill

pytestmark = pytest.mark.llm

CORRIDOR = Path(__file__).with_name("corridor.py")
TASKS = '{"id": "a"}\n{"id": "b"}\n'


def worker(url: str, *settings: str) -> str:
    told = " ".join(f"--set {setting}" for setting in ("max_tokens=24", *settings))
    return f"xskill worker llm --model smollm2 --base-url {url} {told} --environment '{sys.executable} {CORRIDOR}'"


def own_steps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps that a row did not copy from its parent."""
    return [step for row in rows for step in row["steps"][row.get("parent", {}).get("turn", 0) :]]


def test_expand_then_credit(model_url: str, tmp_path: Path) -> None:
    out, report = tmp_path / "out.jsonl", tmp_path / "report.json"
    result = xskill(
        *("rollout", "expand", "-N", "3", "-B", "1", "--max-turns", "3", "-j", "2", "-o", out, "--report", report),
        *("-w", worker(model_url, "constrain=true", "list_actions=5")),
        stdin=TASKS,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    rows = lines(out.read_text())
    assert [row["id"] for row in rows][:4] == ["a/0", "a/1", "a/2", "a/0.0"]
    assert len(rows) == 12
    for row in rows:
        assert row["task"] == "Get out into the garden."
        assert {step["action"] for step in row["steps"]} <= {"go up", "go down", "wait"}
        assert row["reward"] in (0.0, 1.0)
        ended = row["steps"][-1]["observation"] != "You are in the hall."
        assert ended is not row["extra"]["rollout"].get("truncated", False)
        for step in row["steps"]:
            assert step["logprob"] < 0
            assert math.isfinite(step["logprob"])
            assert 1 <= step["n_tokens"] <= 24
    cost = json.loads(report.read_text())
    assert cost["turns"] == cost["own_turns"] == len(own_steps(rows))
    assert cost["tokens"] == sum(step["n_tokens"] for step in own_steps(rows))

    credited = xskill("credit", out)
    assert credited.returncode == 0, credited.stderr
    header, *found = lines(credited.stdout)
    assert header["stats"]["questions_without_logprob"] == 0
    assert len(found) == 12


def test_puct_grows_a_tree_of_real_proposals(model_url: str, tmp_path: Path) -> None:
    out, report = tmp_path / "out.jsonl", tmp_path / "report.json"
    result = xskill(
        *("rollout", "puct", "--iterations", "8", "--depth", "3", "--max-turns", "4", "-o", out, "--report", report),
        *("-w", worker(model_url, "constrain=true", "temperature=1.5")),
        stdin=TASKS,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    rows = lines(out.read_text())
    cost = json.loads(report.read_text())
    searched = [step for step in own_steps(rows) if "visits" in step]
    completed = [step for step in own_steps(rows) if "visits" not in step]
    assert cost["taken"] == len(searched)
    assert cost["turns"] == cost["proposed"] + len(completed)
    assert cost["tokens"] > sum(step["n_tokens"] for step in own_steps(rows)) - 1
    for question in "ab":
        siblings: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        visits: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
        completions = 0
        for row in (row for row in rows if row["question_id"] == question):
            path: tuple[str, ...] = ()
            for step in row["steps"]:
                if "visits" not in step:
                    break
                siblings[path][step["action"]] = step["prior"]
                visits[path][step["action"]] = step["visits"]
                path = (*path, step["action"])
            completed_from = row["extra"]["rollout"].get("completed_from")
            completions += completed_from is not None and completed_from < 3
        assert all(sum(prior.values()) <= 1 + 1e-9 for prior in siblings.values())
        assert sum(visits[()].values()) == 8 + completions  # each walk, and each completion at the end


def test_free_text_reasoning_with_a_checker(model_url: str, tmp_path: Path) -> None:
    checker = tmp_path / "checker.py"
    checker.write_text("import json, sys; print(float('7' in json.load(sys.stdin)['answer']))\n")
    out = tmp_path / "out.jsonl"
    result = xskill(
        *("rollout", "puct", "--iterations", "4", "--depth", "2", "--max-turns", "3", "-o", out),
        *("-w", f"xskill worker chat --model smollm2 --base-url {model_url} --set max_tokens=40"
          f" --checker '{sys.executable} {checker}'"),
        stdin='{"id": "sum", "task": "What is 3 + 4?"}\n',
        timeout=600,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    rows = lines(out.read_text())
    assert rows
    for row in rows:
        assert 1 <= len(row["steps"]) <= 3
        assert row["reward"] in (0.0, 1.0)
        assert all(step["n_tokens"] >= 1 for step in row["steps"])
    shown = xskill("rollout", "show", out)
    assert shown.returncode == 0, shown.stderr
