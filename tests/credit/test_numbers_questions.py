"""One question_id under two environments or two task texts is never one group."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.command import within
from xskill.records.question_codes import QuestionCodes


def rollout(name: str, reward: float, **more: Any) -> dict[str, Any]:
    steps = [{"action": "a", "observation": "o", "reward": None}]
    head = {"schema": "xskill.trajectory/1", "id": name, "question_id": "1", "actions": ["a"], "args": [[]]}
    return {**head, "steps": steps, "reward": reward, **more}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def collided(field: str) -> list[dict[str, Any]]:
    """Ids meet, too: maps is always lost, sums always won."""
    return [rollout(str(i), reward, **{field: text}) for text, reward in (("maps", 0.0), ("sums", 1.0)) for i in (1, 2)]


def rows(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("field", ["env", "task"])
@pytest.mark.parametrize("container", ["jsonl", "parquet"])
def test_credit_keeps_them_apart_and_says_so(tmp_path: Path, field: str, container: str) -> None:
    path = write(tmp_path / "r.jsonl", collided(field))
    if container == "parquet":
        within("canon", path, "-o", tmp_path / "r.parquet")
        path = tmp_path / "r.parquet"
        assert pl.read_parquet(path).height == 4
    done = within("credit", "--method", "grpo", path, "--to", "jsonl")
    header, *credited = rows(done)
    assert [row["advantage"] for row in credited] == [0, 0, 0, 0]
    assert (header["stats"]["questions"], header["stats"]["shared_question_ids"]) == (2, 1)
    assert b"1 question_ids stand for several environments or task texts" in done.stderr
    trained = rows(within("credit", "--method", "grpo", "--as", "verl", path))
    assert [row["uid"] for row in trained] == ["1 \u00b7 maps", "1 \u00b7 maps", "1 \u00b7 sums", "1 \u00b7 sums"]


def test_checks_say_so(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", collided("env"))
    assert b"1 question_ids stand for several environments or task texts" in within("check", path).stdout
    assert b"1 question_ids stand for several environments or task texts" in within("rollout", "check", path).stdout
    assert json.loads(within("rollout", "check", path, "--json").stdout)["shared_question_ids"] == 1
    one = write(tmp_path / "one.jsonl", [rollout("1", 0, env="maps"), rollout("2", 1), rollout("3", 1, task="go")])
    assert json.loads(within("rollout", "check", one, "--json").stdout)["shared_question_ids"] == 0
    assert json.loads(within("check", one, "--json").stdout)["shared_question_ids"] == 0
    assert rows(within("credit", one, "--method", "grpo"))[0]["stats"]["questions"] == 1


def test_reward_keeps_them_apart(tmp_path: Path) -> None:
    episodes = write(
        tmp_path / "e.jsonl",
        [rollout(str(i), 1.0, success=True, actions=["a", "a"], steps=None, args=None) for i in range(4)],
    )
    within("mine", "--successes-only", episodes, "-o", tmp_path / "tree.jsonl")
    done = within("tree", "reward", "--tree", tmp_path / "tree.jsonl", write(tmp_path / "r.jsonl", collided("env")))
    assert [row["advantage"] for row in rows(done)] == [0, 0, 0, 0]


def test_an_unknown_environment_joins_what_it_fits() -> None:
    questions = QuestionCodes()
    codes = [questions.code("q", *kind) for kind in ((None, "t"), ("e", "t"), ("f", "t"), (None, "t"), ("e", None))]
    assert codes == [0, 0, 1, 0, 0]
    assert (questions.names, questions.shared_ids) == (["q", "q"], 1)
