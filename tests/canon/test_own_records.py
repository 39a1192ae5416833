"""Our own trajectories through canon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.canon.logs import canon, write_lines
from tests.command import within
from xskill.canon.accounts.totals import Totals
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
    done = within("canon", path)
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
    once = within("canon", sample_data / "rollouts.jsonl.gz").stdout
    assert within("canon", "-", stdin=once).stdout == once
    assert within("canon", "--profile", "scienceworld", stdin=once).stdout != once


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


def test_what_is_nested_too_deeply_to_look_through_is_a_bad_record(tmp_path: Path) -> None:
    deep = json.dumps(OWN)[:-1] + ', "zz": ' + "[" * 900 + "]" * 900 + "}"
    (tmp_path / "own.jsonl").write_text(f"{deep}\n{json.dumps(OWN)}\n")
    done = within("canon", tmp_path / "own.jsonl", "--rejects", tmp_path / "r")
    assert json.loads(done.stdout) == OWN
    assert json.loads((tmp_path / "r").read_text())["reason"] == "nested too deeply"


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


def test_an_argument_whose_name_told_a_secret_is_redacted_in_its_step_and_in_the_args(tmp_path: Path) -> None:
    secret = "q7Rt9ZkLm2Xw8VbN4cJpQ"
    call = {"headers": {"X-API-Key": secret}, "id": "u1-long"}
    record = {
        **OWN,
        "id": f"token={secret}",
        "actions": ["get<user>", f"login --token {secret}"],
        "args": [[secret, "u1-long"], []],
        "steps": [{"action": f"get({json.dumps(call)})", "kind": "call"}, {"action": "Hi.", "kind": "respond"}],
        "extra": {"env": {"DB_PASS": "tr0ub4dor-x"}},
    }
    (left,) = canon(write_lines(tmp_path / "own.jsonl", record))
    assert secret not in json.dumps(left)
    assert left["args"] == [["<redacted:secret>", "u1-long"], []]
    assert left["actions"] == ["get<user>", "login --token <redacted:secret>"]
    assert left["extra"] == {"env": {"DB_PASS": "<redacted:password>"}}


def test_structured_arguments_of_a_log_are_redacted_wherever_they_land(tmp_path: Path) -> None:
    secret, words = "q7Rt9ZkLm2Xw8VbN4cJpQ", "tr0ub4dor-x"
    arguments = {"headers": {"X-API-Key": secret, "Cookie": f"sid={secret}"}, "env": {"DB_PASS": words}}
    shell = {"command": f"export GITHUB_TOKEN={secret}; mycli --api-key {secret}; DB_PASS={words} run"}
    messages = [
        {"role": "user", "content": f"Use X-API-Key: {secret}"},
        *(
            message
            for name, given in (("fetch", arguments), ("bash", shell))
            for message in (
                {
                    "role": "assistant",
                    "content": f"I call with token={secret}",
                    "tool_calls": [
                        {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                    ],
                },
                {"role": "tool", "tool_call_id": name, "content": json.dumps({"echo": json.dumps(given)})},
            )
        ),
    ]
    path = write_lines(tmp_path / "chat.jsonl", {"messages": messages, "meta": arguments})
    (record,) = canon(path)
    shown = json.dumps(record)
    assert "<redacted:secret>" in shown
    assert len(record["steps"]) == 2
    assert secret not in shown
    assert words not in shown
    atif = within("canon", path, "--as", "atif").stdout.decode()
    assert secret not in atif
    assert words not in atif
