"""Sessions of coding agents: forests, subagents, copies, what the program itself wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.canon.logs import canon, log, write_lines
from xskill.canon.accounts.totals import Totals


def line(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if "message_id" in more:
        message["id"] = more.pop("message_id")
    return {"sessionId": "S", "uuid": uuid, "parentUuid": parent, "type": kind, "isSidechain": False,
            "message": message, **more}  # fmt: skip


def use(identity: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def result(identity: str, text: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": identity, "content": text}]


def text(*words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": word} for word in words]


def raw(record: dict[str, Any]) -> list[str]:
    return [step["action"] for step in record["steps"]]


def test_lines_of_one_message_are_one_turn_and_results_hang_beside_the_path(tmp_path: Path) -> None:
    """Two parallel calls are written as two lines; the second result continues the chain, the first hangs beside it."""
    path = write_lines(
        tmp_path / "S.jsonl",
        line("u0", None, "user", "go"),
        line("a1", "u0", "assistant", text("Both."), message_id="m1"),
        line("a2", "a1", "assistant", [use("t1", command="ls")], message_id="m1"),
        line("a3", "a2", "assistant", [use("t2", command="pwd")], message_id="m1"),
        line("r1", "a2", "user", result("t1", "files")),
        line("r2", "a3", "user", result("t2", "here")),
        line("a4", "r2", "assistant", text("Done."), message_id="m2"),
    )
    (record,) = canon(path)
    assert raw(record) == ['Bash({"command":"ls"})', 'Bash({"command":"pwd"})', "Done."]
    assert [step["turn"] for step in record["steps"]] == [0, 0, 1]
    assert [step.get("observation") for step in record["steps"]] == ["files", "here", None]
    assert record["steps"][0]["thought"] == "Both."


def test_a_rewound_path_is_a_branch(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "S.jsonl",
        line("u0", None, "user", "go"),
        line("a1", "u0", "assistant", text("First."), message_id="m1"),
        line("u1", "a1", "user", "wrong way"),
        line("a2", "u1", "assistant", [use("t1", command="rm x")], message_id="m2"),
        line("r1", "a2", "user", result("t1", "")),
        line("u2", "a1", "user", "right way"),
        line("a3", "u2", "assistant", [use("t2", command="ls")], message_id="m3"),
        line("r2", "a3", "user", result("t2", "x")),
    )
    main, branch = canon(path)
    assert (main["id"], raw(main)) == ("S", ["First.", 'Bash({"command":"ls"})'])
    assert (branch["id"], raw(branch)) == ("S/abandoned-1", ["First.", 'Bash({"command":"rm x"})'])
    assert branch["parent"] == {"id": "S", "turn": 1}
    assert branch["extra"]["marks"] == ["abandoned"]
    assert len(canon(path, drop=frozenset({"abandoned"}))) == 1


def test_a_line_written_twice_counts_once(tmp_path: Path) -> None:
    """Compaction writes lines again under their old uuid, and a summary as if the user had said it."""
    first = [line("u0", None, "user", "go"), line("a1", "u0", "assistant", text("One."), message_id="m1")]
    boundary = {"sessionId": "S", "uuid": "c", "parentUuid": None, "logicalParentUuid": "a1", "type": "system",
                "subtype": "compact_boundary"}  # fmt: skip
    summary = line("s1", "c", "user", "We did One.", isCompactSummary=True)
    last = line("a2", "s1", "assistant", text("Two."), message_id="m2")
    (record,) = canon(write_lines(tmp_path / "S.jsonl", *first, boundary, summary, *first, last))
    assert raw(record) == ["One.", "Two."]


def test_dangling_parents_continue_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "S.jsonl",
        line("u0", "missing", "user", "go"),
        line("a1", "also-missing", "assistant", text("One."), message_id="m1"),
        line("a2", None, "assistant", text("Two."), message_id="m2"),
    )
    (record,) = canon(path)
    assert (record["task"], raw(record)) == ("go", ["One.", "Two."])


def test_inline_sidechains_are_episodes_of_their_own(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "S.jsonl",
        line("u0", None, "user", "go"),
        line("a1", "u0", "assistant", [use("t1", "Task", prompt="search")], message_id="m1"),
        line("k0", None, "user", "search", isSidechain=True),
        line("k1", "k0", "assistant", [use("t9", "Grep", pattern="x")], message_id="m9", isSidechain=True),
        line("k2", "k1", "user", result("t9", "found"), isSidechain=True),
        line("r1", "a1", "user", result("t1", "found it")),
        line("a2", "r1", "assistant", text("Done."), message_id="m2"),
    )
    main, side = canon(path)
    assert raw(main) == ['Task({"prompt":"search"})', "Done."]
    assert (side["id"], side["task"], raw(side)) == ("S/sidechain-1", "search", ['Grep({"pattern":"x"})'])
    assert side["extra"] == {"parent_session": "S", "marks": ["subagent"]}
    assert [record["id"] for record in canon(path, drop=frozenset({"subagent"}))] == ["S"]


def test_a_resumed_file_begins_with_a_copy_of_another_session(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "NEW.jsonl",
        {**line("u0", None, "user", "go"), "sessionId": "OLD"},
        {**line("a1", "u0", "assistant", text("Old."), message_id="m1"), "sessionId": "OLD"},
        {**line("u1", "a1", "user", "more"), "sessionId": "NEW"},
        {**line("a2", "u1", "assistant", text("New."), message_id="m2"), "sessionId": "NEW"},
    )
    (record,) = canon(path)
    assert (record["id"], raw(record), record["parent"]) == ("NEW", ["Old.", "New."], {"id": "OLD", "turn": 1})


def test_what_the_program_wrote_is_not_the_agent_s_or_the_user_s(tmp_path: Path) -> None:
    totals = Totals()
    path = write_lines(
        tmp_path / "S.jsonl",
        line("m0", None, "user", "Caveat: The messages below were generated by the user while running local commands."),
        line("m1", "m0", "user", "<command-name>/clear</command-name>"),
        line("u0", "m1", "user", "go"),
        {**line("e1", "u0", "assistant", text("API Error: 529")), "isApiErrorMessage": True},
        line("a1", "e1", "assistant", text("One."), message_id="m1"),
    )
    (record,) = canon(path, totals=totals)
    assert (record["task"], raw(record)) == ("go", ["One."])
    assert totals.tally("claude-code").skipped["message injected by the program"] == 2
    assert totals.tally("claude-code").skipped["message made by the program"] == 1


def test_headless_sessions_are_marked(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "S.jsonl",
        line("u0", None, "user", "go", entrypoint="sdk-cli"),
        line("a1", "u0", "assistant", text("One."), message_id="m1", entrypoint="sdk-cli"),
    )
    assert canon(path)[0]["extra"]["marks"] == ["headless"]
    assert canon(path, drop=frozenset({"headless"})) == []


def test_a_project_folder_with_its_subagents() -> None:
    main, agent = canon(log("f_cli_sessions/agentsessions_claude/subagent"))
    assert agent["id"] == f"{main['id']}/agent-a0ad4f44468bdf20d"
    assert agent["extra"]["parent_session"] == main["id"]
    assert agent["extra"]["agent_type"] == "general-purpose"


def test_lines_that_are_no_records_are_told_one_by_one() -> None:
    """Three lines of this file are bare values; everything around them is read."""
    bad: list[Any] = []
    made = canon(log("f_cli_sessions/claudecodelog_edge_cases.jsonl"), bad=bad)
    assert [error.line for error in bad] == [13, 15, 16]
    assert [(record["id"], len(record["actions"])) for record in made] == [("edge_cases", 3), ("todowrite_session", 1)]


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **payload}}


def test_codex_events_repeat_items_and_tell_failures(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        {"type": "session_meta", "payload": {"id": "N", "forked_from_id": "P"}},
        {"type": "session_meta", "payload": {"id": "P"}},
        item("message", role="user", content=[{"type": "input_text", "text": "<environment_context>x"}]),
        item("message", role="user", content=[{"type": "input_text", "text": "go"}]),
        {"type": "event_msg", "payload": {"type": "user_message", "message": "go"}},
        item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}]),
        item("message", role="assistant", content=[{"type": "output_text", "text": "Listing."}]),
        item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
        item("function_call_output", call_id="c1", output='{"output":"no such file","metadata":{"exit_code":2}}'),
        {"type": "event_msg", "payload": {"type": "mcp_tool_call_end", "call_id": "c2", "result": {"Err": "x"}}},
        item("function_call", name="fetch", arguments="{}", call_id="c2"),
        item("function_call_output", call_id="c2", output="failed"),
        item("message", role="assistant", content=[{"type": "output_text", "text": "Done."}]),
        {"type": "event_msg", "payload": {"type": "task_complete"}},
    )
    (record,) = canon(path)
    assert record["id"] == "N"
    assert record["task"] == "go"
    assert raw(record) == ['shell({"command":["ls"]})', "fetch({})", "Done."]
    assert record["steps"][0]["thought"] == "Hm.\n\nListing."
    assert record["steps"][0]["observation"] == "no such file"
    assert [step.get("error", False) for step in record["steps"]] == [True, True, False]
    assert record["extra"]["marks"] == ["forked"]
    assert record["extra"]["claim"] == "task_complete"
    assert "success" not in record


def test_copied_context_is_another_trajectory_s() -> None:
    totals = Totals()
    (record,) = canon(log("traces/atif/main-continuation.trajectory.json"), totals=totals)
    assert record["actions"] == ["book<flight>", "respond<user>"]
    assert totals.tally("atif").skipped["copied context step"] == 3


def test_embedded_subagents_are_episodes_of_their_own() -> None:
    main, search = canon(log("traces/atif/main_with_subagents.trajectory.json"))
    assert main["actions"] == ["delegate", "delegate", "calculate", "respond<user>"]
    assert [step.get("turn") for step in main["steps"]] == [0, 0, 1, 2]
    assert search["id"] == "main/sub-search"
    assert search["extra"]["parent_session"] == "main"
    assert search["extra"]["marks"] == ["subagent"]
    assert (main["success"], main["reward"]) == (True, 1.0)


def test_demonstrations_are_marked_or_left_out() -> None:
    demos = canon(log("e_tau/taubench_airline_few_shot.jsonl"))
    assert all(record["extra"]["marks"] == ["demo"] for record in demos)
    assert canon(log("e_tau/taubench_airline_few_shot.jsonl"), drop=frozenset({"demo"})) == []
    made = canon(log("b_scienceworld_webshop/lats_webshop_example.log"))
    actions = {step["action"] for record in made for step in record["steps"]}
    assert not any("deodorant" in action for action in actions)  # the few-shot episode of every prompt


def test_swe_agent_demonstrations_and_attempts(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "an example", "is_demo": True},
        {"role": "user", "content": "the issue"},
    ]
    step = {"action": "ls\n", "observation": "x", "thought": "t"}
    attempt = {"trajectory": [step], "history": history, "info": {"exit_status": "submitted"}}
    made = canon(write_lines(tmp_path / "org__repo-1.traj", {"attempts": [attempt, attempt]}))
    assert [record["id"] for record in made] == ["org__repo-1-0", "org__repo-1-1"]
    for record in made:
        assert (record["task"], record["question_id"]) == ("the issue", "org__repo-1")
        assert (record["steps"][0]["action"], record["steps"][0]["kind"]) == ("ls", "command")
        assert record["extra"]["claim"] == "submitted"
        assert "success" not in record
