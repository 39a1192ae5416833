"""Sessions that were undone, told twice or written in a rarer shape: each comes out once, with its own results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import within


def _canon(tmp_path: Path, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "out.jsonl"
    assert within("canon", str(log), "-o", str(out)).returncode == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def _codex(*payloads: dict[str, Any]) -> list[dict[str, Any]]:
    events = ("user_message", "thread_rolled_back")
    head = {"timestamp": "t", "type": "session_meta", "payload": {"id": "cx", "cwd": "/w", "cli_version": "0.120.0"}}
    return [head] + [
        {"timestamp": "t", "type": "event_msg" if one["type"] in events else "response_item", "payload": one}
        for one in payloads
    ]


def _say(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def _call(identity: str, command: str) -> dict[str, Any]:
    return {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": command}),
            "call_id": identity}  # fmt: skip


def _output(identity: str, text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": text}


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Chunk ID: 9\nWall time: 0.4 seconds\nProcess exited with code 1\nOutput:\nno", True),
        ("Command: sh -c 'a\nb'\nChunk ID: 9\nProcess exited with code 2\nOutput:\nno", True),
        ("Chunk ID: 9\nProcess exited with code 0\nOutput:\nProcess exited with code 1\n", False),
        ("A log\nProcess exited with code 1\nOutput:\n", False),
    ],
)
def test_a_codex_result_failed_only_where_its_header_says_so(tmp_path: Path, text: str, failed: bool) -> None:
    (episode,) = _canon(tmp_path, _codex(_say("user", "Go."), _call("a", "ls"), _output("a", text)))
    assert bool(episode["steps"][0].get("error")) is failed


def test_a_turn_that_codex_rolled_back_is_a_branch(tmp_path: Path) -> None:
    main, branch = _canon(
        tmp_path,
        _codex(
            _say("user", "List."), _call("a", "ls"), _output("a", "x"), _say("assistant", "One."),
            _say("user", "Break it."), _call("b", "rm x"), _output("b", "gone"),
            {"type": "thread_rolled_back", "num_turns": 1},
            _say("user", "Where?"), _call("c", "pwd"), _output("c", "/w"),
        ),
    )  # fmt: skip
    assert [step.get("observation") for step in main["steps"]] == ["x", "Where?", "/w"]
    assert [step.get("observation") for step in branch["steps"]] == ["x", "Break it.", "gone"]
    assert branch["parent"]["id"] == main["id"] == "cx"
    assert branch["extra"]["abandoned"] is True


def test_a_codex_call_written_twice_is_one_step(tmp_path: Path) -> None:
    (episode,) = _canon(
        tmp_path, _codex({"type": "user_message", "message": "Go."}, *[_call("a", "ls")] * 2, _output("a", "x"))
    )
    assert episode["task"] == "Go."
    assert [step.get("observation") for step in episode["steps"]] == ["x"]


def test_what_gemini_rewound_is_a_branch_and_replaced_messages_hold(tmp_path: Path) -> None:
    def turn(identity: str, command: str) -> list[dict[str, Any]]:
        call = {"id": identity, "name": "run", "args": {"command": command}, "status": "success", "result": [
            {"functionResponse": {"id": identity, "name": "run", "response": {"output": command.upper()}}}
        ]}  # fmt: skip
        return [
            {"id": f"u{identity}", "type": "user", "content": [{"text": f"do {command}"}]},
            {"id": f"m{identity}", "type": "gemini", "content": "", "toolCalls": [call]},
        ]

    head = {"sessionId": "g", "projectHash": "h", "kind": "main"}
    lines = [head, {"$set": {"messages": turn("1", "a")}}, *turn("2", "b"), {"$rewindTo": "u2"}, *turn("3", "c")]
    main, branch = _canon(tmp_path, lines)
    assert [step["observation"] for step in main["steps"]] == ["A", "C"]
    assert [step["observation"] for step in branch["steps"]] == ["A", "B"]
    assert branch["parent"]["id"] == "g"
