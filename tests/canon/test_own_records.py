"""Our own trajectories through canon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.canon.logs import canon, write_lines
from tests.command import xskill
from xskill.canon.pipeline import Totals
from xskill.errors import BadRecord

OWN: dict[str, Any] = {
    "schema": "xskill.trajectory/1",
    "id": "e1",
    "success": True,
    "actions": ["mine<own>", "respond<user>"],
    "args": [["x"], []],
    "steps": [{"action": 'get_user({"id":"u1"})', "kind": "call"}, {"action": "Hi.", "kind": "respond"}],
    "values": [0.5, None],
    "extra": {"n": 1},
}


def test_they_pass_unchanged(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "own.jsonl", OWN)
    done = xskill("canon", path)
    assert json.loads(done.stdout) == OWN


def test_a_profile_makes_the_actions_anew(tmp_path: Path) -> None:
    (record,) = canon(write_lines(tmp_path / "own.jsonl", OWN), profile="tools")
    assert record["actions"] == ["get<user>", "respond<user>"]
    assert record["args"] == [["u1"], []]
    assert record["values"] == [0.5, None]


def test_without_steps_the_actions_stay(tmp_path: Path) -> None:
    bare = {key: value for key, value in OWN.items() if key != "steps"}
    totals = Totals()
    (record,) = canon(write_lines(tmp_path / "own.jsonl", bare), profile="tools", totals=totals)
    assert record["actions"] == OWN["actions"]
    assert sum(totals.tally("xskill").skipped.values()) == 1


def test_canon_twice_is_canon_once(tmp_path: Path, sample_data: Path) -> None:
    once = xskill("canon", sample_data / "rollouts.jsonl.gz").stdout
    assert xskill("canon", "-", stdin=once).stdout == once
    assert xskill("canon", "--profile", "scienceworld", stdin=once).stdout != once


def test_no_respond_keeps_the_columns_aligned(tmp_path: Path) -> None:
    (record,) = canon(write_lines(tmp_path / "own.jsonl", OWN), respond=False)
    assert (record["actions"], record["args"], record["values"]) == (["mine<own>"], [["x"]], [0.5])


def test_the_header_of_credits_is_left_out(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", {"schema": "xskill.credits/1", "method": "grpo"}, OWN)
    assert [record["id"] for record in canon(path)] == ["e1"]


def test_nan_in_our_own_record_is_a_bad_record(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"schema":"xskill.trajectory/1","id":"x","actions":[],"reward":NaN}\n')
    with pytest.raises(BadRecord, match="NaN"):
        canon(path)


def test_a_field_that_breaks_the_contract(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "own.jsonl", {**OWN, "args": [["x"]]})
    with pytest.raises(BadRecord, match="expected 2 entries, one an action, got 1"):
        canon(path)


def test_options_apply_to_them(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "own.jsonl", {**OWN, "success": None, "reward": 0.7})
    (record,) = canon(path, success_if="reward > 0.5 and n_steps = 2", task_type="n")
    assert record["success"] is True
    assert record["task_type"] == "1"


def test_secrets_in_them_are_redacted(tmp_path: Path) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLF"
    steps = [{"action": json.dumps({"k": key}).join(("f(", ")")), "kind": "call", "observation": f"is {key}"}]
    path = write_lines(
        tmp_path / "own.jsonl", {**OWN, "actions": ["f"], "args": [[key]], "values": [1.0], "steps": steps}
    )
    (record,) = canon(path)
    assert key not in json.dumps(record)
    assert record["args"] == [["<redacted:aws-access-key>"]]
