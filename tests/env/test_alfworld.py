"""Trees on real ALFWorld games, from the command line to credits and evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rollouts.commands import lines, xskill

pytestmark = pytest.mark.env


@pytest.fixture(scope="module")
def tasks(alfworld_games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One game of each of three task types, the small ones first."""
    listed = xskill("worker", "alfworld", "--games", alfworld_games, "--tasks")
    assert listed.returncode == 0, listed.stderr
    records = lines(listed.stdout)
    assert len(records) == 160
    assert {record["split"] for record in records} == {"train", "test"}
    chosen = [
        next(record for record in records if record["task_type"] == kind)
        for kind in ("look_at_obj_in_light", "pick_and_place_simple", "pick_clean_then_place_in_recep")
    ]
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    path.write_text("".join(json.dumps({**record, "id": record["task_type"]}) + "\n" for record in chosen))
    return path


def test_expand_and_credit(tasks: Path, alfworld_games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    worker = f"xskill worker alfworld --games {alfworld_games} --rate 0.4"
    arguments = ("rollout", "expand", tasks, "-w", worker, "--max-turns", "18")
    result = xskill(*arguments, "-j", "2", "-o", out, timeout=600)
    assert result.returncode == 0, result.stderr
    rows = lines(out.read_text())
    assert len(rows) == 36
    assert {row["success"] for row in rows} == {True, False}
    for row in rows:
        assert row["env"] == "alfworld"
        assert row["reward"] == float(row["success"])
        assert row["task_type"] == row["question_id"]
        assert row["split"] == "train"
    assert any("navigate<" in action for row in rows for action in row["actions"])
    assert xskill("rollout", "build", "--json", out).returncode == 0
    credited = xskill("credit", out)
    assert credited.returncode == 0, credited.stderr
    assert any(value != 0 for row in lines(credited.stdout)[1:] for value in row["credits"])

    again = xskill(*arguments, timeout=600)  # one worker instead of two
    assert again.stdout == out.read_text()


def test_puct_and_evidence(tasks: Path, alfworld_games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    worker = f"xskill worker alfworld --games {alfworld_games} --rate 0.5"
    result = xskill(
        *("rollout", "puct", tasks, "-w", worker, "-j", "2", "--iterations", "20", "--max-turns", "18", "-o", out),
        *("--prior", "uniform"),
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    evidence = xskill("distill", "--as", "evidence", out)
    assert evidence.returncode == 0, evidence.stderr
    assert lines(evidence.stdout)


@pytest.mark.parametrize("expert", ["handcoded", "planner"])
def test_the_experts_win(expert: str, tasks: Path, alfworld_games: Path) -> None:
    worker = f"xskill worker alfworld --games {alfworld_games} --rate 0 --expert {expert}"
    result = xskill("rollout", "expand", tasks, "-w", worker, "-N", "1", "-B", "0", timeout=600)
    assert result.returncode == 0, result.stderr
    assert [row["success"] for row in lines(result.stdout)] == [True] * 3


def test_games_stay_inside_their_folder(alfworld_games: Path) -> None:
    worker = f"xskill worker alfworld --games {alfworld_games / 'alfworld_games' / 'train'}"
    outside = json.dumps({"id": "x", "game": "../valid_unseen"}) + "\n"
    result = xskill("rollout", "expand", "-w", worker, stdin=outside)
    assert result.returncode == 1
    assert "no game '../valid_unseen/game.tw-pddl' in the games folder" in result.stderr
