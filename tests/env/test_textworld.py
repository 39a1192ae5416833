"""Games that TextWorld makes from a seed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rollouts.commands import lines, xskill

pytestmark = [pytest.mark.env, pytest.mark.usefixtures("textworld")]

TASKS = "".join(json.dumps({"id": f"t{n}", "game_seed": n, "quest_length": 3}) + "\n" for n in (1, 2))


def test_generated_games(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ("rollout", "expand", "-w", "xskill worker textworld --rate 0.6", "--max-turns", "6")
    result = xskill(*arguments, "-j", "2", "-o", out, stdin=TASKS, timeout=300)
    assert result.returncode == 0, result.stderr
    rows = lines(out.read_text())
    assert len(rows) == 24
    assert {row["success"] for row in rows} == {True, False}
    assert all("$$$" not in row["initial_observation"] for row in rows)
    assert all(row["task"] for row in rows)
    again = xskill(*arguments, stdin=TASKS, timeout=300)
    assert again.stdout == out.read_text()


def test_the_walkthrough_wins_and_search_finds_it() -> None:
    result = xskill("rollout", "expand", "-w", "xskill worker textworld --rate 0", "-N", "1", "-B", "0", stdin=TASKS)
    assert [(row["success"], len(row["steps"])) for row in lines(result.stdout)] == [(True, 3)] * 2
    result = xskill("rollout", "puct", "-w", "xskill worker textworld --rate 0.7", "--max-turns", "12", stdin=TASKS)
    assert result.returncode == 0, result.stderr
    assert any(row["success"] for row in lines(result.stdout))
