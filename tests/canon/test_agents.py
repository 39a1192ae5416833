"""Sessions of CLI agents, browser agents and agent libraries: right values, traps, and what a broken file tells."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.canon.logs import canon, log, write_lines
from tests.command import within
from xskill.canon.accounts.totals import Totals
from xskill.errors import BadRecord


class Row(NamedTuple):
    """What a person counts in a file: calls, results, errors and talk of every episode; the first task."""

    path: str
    format: str
    episodes: list[tuple[int, int, int, int]]
    task: str | None


ROWS = [
    Row("qwen/019f0000-0000-7000-8000-000000000001.jsonl", "qwen-code", [(1, 1, 0, 1)],
        "Inspect the synthetic fixture."),
    Row("qwen/019f0000-0000-7000-8000-000000000004.jsonl", "qwen-code", [(1, 0, 0, 0), (0, 0, 0, 1)],
        "Begin the active-chain fixture."),
    Row("qwen/019f0000-0000-7000-8000-000000000005.jsonl", "qwen-code", [(0, 0, 0, 1)],
        'Inspect {"glued": "objects"} safely.'),
    Row("qwen/system_telemetry.jsonl", "qwen-code", [(1, 1, 0, 0)], None),
    Row("cline_api.json", "cline", [(4, 4, 1, 0)], "Fix the sum in cart.py"),
    Row("cline_ui.json", "cline-ui", [(4, 2, 1, 0)], "Fix the sum in cart.py"),
    Row("codex_exec.jsonl", "codex-exec", [(7, 3, 3, 1)], None),
    Row("claude_stream.jsonl", "claude-stream", [(3, 3, 1, 1), (1, 1, 1, 0)], None),
    Row("opencode_export.json", "opencode", [(4, 3, 2, 1)], "Fix the sum in cart.py"),
    Row("opencode", "opencode-storage", [(1, 1, 0, 1), (1, 1, 1, 1), (1, 1, 0, 1)], "Hello"),
    Row("goose.jsonl", "goose", [(3, 3, 2, 1)], "Fix the sum in cart.py"),
    Row("pi/agentsessions_openclaw_large.jsonl", "pi", [(2, 2, 0, 1)], "Open /tmp/large and run status"),
    Row("pi/agentsessions_openclaw_schema_drift.jsonl", "pi", [(1, 1, 0, 0)], "Need a quick diagnostic"),
    Row("pi/agentsessions_small.jsonl", "pi", [(0, 0, 0, 2)],
        "Read hello.py and summarize what it prints without editing files."),
    Row("pi/openclaw_tree_handmade.jsonl", "pi", [(2, 2, 1, 1), (3, 3, 2, 0)], "How many tests fail in shop?"),
    Row("pi/tmustier_sample.jsonl", "pi", [(2, 1, 0, 1)], "Create a hello world function in Python"),
    Row("kimi/agentsessions_assistant_tools.jsonl", "kimi", [(19, 19, 1, 6)], "hi"),
    Row("kimi/kimicli_context_handmade.jsonl", "kimi", [(1, 1, 1, 1)], "How many tests fail?"),
    Row("kimi/kimicli_wire_handmade.jsonl", "kimi", [(2, 2, 1, 1), (1, 1, 0, 0)], "How many tests fail?"),
    Row("openhands.json", "openhands-v0", [(4, 3, 2, 0)], "Create hat.txt"),
    Row("browser_use.json", "browser-use", [(6, 5, 1, 0)], None),
    Row("smolagents/code.json", "smolagents", [(3, 2, 1, 0)], "What is 6*7?"),
    Row("smolagents/toolcalling.json", "smolagents", [(3, 2, 0, 0)], "Lamp price?"),
    Row("aider.md", "aider", [(2, 2, 1, 1), (3, 3, 1, 0)], "add a total\nto the cart"),
]  # fmt: skip


def counts(record: dict[str, Any]) -> tuple[int, int, int, int]:
    calls = [step for step in record["steps"] if step.get("kind") == "call"]
    return (
        len(calls),
        sum(step.get("observation") is not None for step in calls),
        sum(step.get("error", False) for step in calls),
        len(record["steps"]) - len(calls),
    )


def read(name: str) -> list[dict[str, Any]]:
    return canon(log(f"wild_a/{name}"))


def n_skipped(totals: Totals) -> int:
    return sum(sum(tally.skipped.values()) for tally in totals.tallies.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_a_file_comes_to_what_a_person_counts_in_it(row: Row) -> None:
    records = read(row.path)
    assert {record["source"]["format"] for record in records} == {row.format}
    assert [counts(record) for record in records] == row.episodes
    assert records[0].get("task") == row.task
    assert len({record["id"] for record in records}) == len(records)
    for record in records:
        assert record.get("success") is (False if row.format == "browser-use" else None)


def test_a_rewound_qwen_path_is_an_abandoned_branch() -> None:
    main, branch = read("qwen/019f0000-0000-7000-8000-000000000004.jsonl")
    assert main["steps"][0]["thought"] == "Reason over the active branch.\n\nActive branch answer."
    assert main["steps"][0].get("observation") is None
    assert branch["parent"] == {"id": main["id"], "turn": 0}
    assert branch["extra"]["abandoned"] is True
    assert branch["steps"][0]["action"] == "Discarded branch answer."


def test_clines_results_go_to_the_call_of_that_name_and_argument(tmp_path: Path) -> None:
    (record,) = read("cline_api.json")
    first, second, third, last = record["steps"]
    assert first["observation"] == "a + b"
    assert second["error"]
    assert "File not found" in second["observation"]
    assert third["thought"] == "run"
    assert third["observation"] == "Command executed.\nOutput:\n1 failed"
    assert [step["turn"] for step in record["steps"]] == [0, 0, 1, 2]
    assert last["extra"]["user"] == "Also add a test"
    assert record["extra"]["claim"] == "Fixed."
    messages = json.loads(log("wild_a/cline_api.json").read_text())
    messages[2]["content"][0], messages[2]["content"][1] = messages[2]["content"][1], messages[2]["content"][0]
    swapped = tmp_path / "api_conversation_history.json"
    swapped.write_text(json.dumps(messages))
    (again,) = canon(swapped)
    assert again["steps"] == record["steps"]


def test_a_cline_task_is_named_by_its_folder(tmp_path: Path) -> None:
    for task in ("1767600000001", "1767600000002"):
        (tmp_path / task).mkdir()
        text = log("wild_a/cline_api.json").read_text()
        (tmp_path / task / "api_conversation_history.json").write_text(text)
    added = canon(*sorted(tmp_path.glob("*/*.json")))
    assert len({record["id"] for record in added}) == 2


def test_codex_exec_declines_and_what_never_ended_have_no_result() -> None:
    (record,) = read("codex_exec.jsonl")
    by_command = {step["action"]: step for step in record["steps"]}
    declined = next(step for action, step in by_command.items() if "rm -rf" in action)
    assert declined["error"]
    assert declined.get("observation") is None
    assert next(step for action, step in by_command.items() if "sleep" in action).get("observation") is None
    assert record["steps"][0]["observation"] == "cart.py\ntests\n"
    assert record["extra"]["claim"] == "turn.failed"


def test_item_ids_that_begin_anew_with_a_turn_are_other_items(tmp_path: Path) -> None:
    def ran(command: str) -> dict[str, Any]:
        item = {"id": "item_0", "type": "command_execution", "command": command, "aggregated_output": command,
                "exit_code": 0, "status": "completed"}  # fmt: skip
        return {"type": "item.completed", "item": item}

    start = {"type": "turn.started"}
    path = write_lines(tmp_path / "e.jsonl", {"type": "thread.started", "thread_id": "t"}, start, ran("ls"), start,
                       ran("pwd"))  # fmt: skip
    (record,) = canon(path)
    assert [step["observation"] for step in record["steps"]] == ["ls", "pwd"]


def test_a_streamed_claude_run_counts_deltas_and_the_last_word_once() -> None:
    main, side = read("claude_stream.jsonl")
    assert main["steps"][-1]["action"] == "Nothing to fix."
    assert main["extra"]["claim"] == "Nothing to fix."
    assert side["task"] == "Find the bug"
    assert side["extra"]["parent_session"] == main["id"]
    assert side["extra"]["marks"] == ["subagent"]


def test_what_opencode_reverted_is_a_branch(tmp_path: Path) -> None:
    session = json.loads(log("wild_a/opencode_export.json").read_text())
    session["info"]["revert"] = {"messageID": "msg_3"}
    path = tmp_path / "export.json"
    path.write_text(json.dumps(session))
    main, branch = canon(path)
    assert counts(main) == (4, 3, 2, 0)
    assert counts(branch) == (4, 3, 2, 1)
    assert branch["parent"]["id"] == main["id"]
    assert branch["extra"]["abandoned"]


def test_goose_keeps_what_is_for_the_model_and_marks_calls_that_did_not_parse() -> None:
    (record,) = read("goose.jsonl")
    shell, editor, unparsed, _ = record["steps"]
    assert shell["observation"] == "1 failed"
    assert editor["observation"] == "a + b"
    assert unparsed["error"]
    assert "Could not interpret" in unparsed["observation"]


def test_pi_branches_and_openclaws_wrapper() -> None:
    main, branch = read("pi/openclaw_tree_handmade.jsonl")
    assert main["steps"][0]["observation"] == "2 failed, 9 passed"
    assert not main["steps"][0].get("error")
    assert main["steps"][1]["error"]
    assert main["steps"][-1]["action"] == "Two tests fail."
    assert branch["parent"] == {"id": main["id"], "turn": 1, "step": 2}


def test_subagents_of_kimi_keep_calls_of_one_id_apart() -> None:
    main, side = read("kimi/kimicli_wire_handmade.jsonl")
    assert [step["observation"] for step in main["steps"][:2]] == ["1 failed", "one file"]
    assert side["steps"][0]["observation"] == "cart.py"
    assert side["extra"]["parent_session"] == main["id"]


def test_calls_of_one_response_share_a_turn_and_an_error_by_itself_is_told() -> None:
    totals = Totals()
    (record,) = canon(log("wild_a/openhands.json"), totals=totals)
    assert [step["turn"] for step in record["steps"]] == [0, 0, 1, 2]
    assert record["steps"][0]["thought"] == "A shell will do.\n\nI look."
    assert record["steps"][2]["observation"] == ""
    assert record["extra"]["claim"] == "hat.txt is there."
    assert totals.tallies["openhands-v0"].skipped["error observation without an action"] == 1


def test_the_first_openhands_form_has_no_ids() -> None:
    first, second = canon(log("wild_a/openhands_resolver.jsonl"))
    assert counts(first) == (4, 3, 0, 0)
    assert counts(second) == (22, 21, 0, 0)
    assert first.get("success") is None
    assert first["extra"]["harness_success"] is True


def test_a_judge_decides_and_the_agent_claims_in_browser_use() -> None:
    (record,) = read("browser_use.json")
    assert record["success"] is False
    assert record["extra"]["scorer"] == "judgement"
    assert record["extra"]["claimed_success"] is True
    assert record["extra"]["claim"] == "Found a red lamp"
    assert record["steps"][3].get("observation") is None
    assert record["steps"][4]["error"]


def test_an_error_of_smolagents_is_no_observation() -> None:
    (record,) = read("smolagents/code.json")
    failed = record["steps"][1]
    assert failed["error"]
    assert failed.get("observation") is None
    assert "not allowed" in failed["extra"]["error"]
    assert record["extra"]["claim"] == "42"


def test_undone_edits_of_aider_leave_the_main_line() -> None:
    main, branch = read("aider.md")
    edit, failed, talk = main["steps"]
    assert "def total()" in edit["action"]
    assert edit["observation"].startswith("Committing cart.py")
    assert failed["error"]
    assert talk["action"] == "No test has a cart."
    assert branch["parent"]["id"] == main["id"]
    assert "print(red(total()))" in branch["steps"][-1]["action"]


LINES = [row.path for row in ROWS if log(f"wild_a/{row.path}").suffix in (".jsonl", ".gz") and "005" not in row.path]


def lines_of(name: str) -> list[str]:
    path = log(f"wild_a/{name}")
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw.decode().splitlines()


def told_and_kept(path: Path) -> tuple[list[tuple[int, int, int, int]], int, int]:
    totals, bad = Totals(), list[BadRecord]()
    records = canon(path, totals=totals, bad=bad)
    return [counts(record) for record in records], n_skipped(totals), len(bad)


@pytest.mark.parametrize("name", LINES)
def test_junk_costs_its_line_alone(name: str, tmp_path: Path) -> None:
    lines = lines_of(name)
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines))
    before = told_and_kept(path)
    path.write_text("\n".join([lines[0], '{"cut": ', *lines[1:], "stderr: a warning"]))
    after = told_and_kept(path)
    assert after[0] == before[0]
    assert after[2] == before[2] + 2


@pytest.mark.parametrize("name", [name for name in LINES if not name.startswith("kimi/kimicli")])
def test_a_line_written_twice_counts_once(name: str, tmp_path: Path) -> None:
    lines = lines_of(name)
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines))
    before = told_and_kept(path)[0]
    for index in range(0, len(lines), 1 + len(lines) // 12):
        path.write_text("\n".join([*lines[: index + 1], lines[index], *lines[index + 1 :]]))
        assert told_and_kept(path)[0] == before, index


@pytest.mark.parametrize("name", LINES)
def test_lines_that_change_places_or_are_missing_lose_nothing_silently(name: str, tmp_path: Path) -> None:
    """Whatever is not in an episode any more is counted under a reason."""
    lines = lines_of(name)
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines))
    kept, skipped, _ = told_and_kept(path)
    whole = sum(map(sum, kept))
    for index in range(0, len(lines) - 1, 1 + len(lines) // 12):
        swapped = [*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]]
        path.write_text("\n".join(swapped))
        after, more, _ = told_and_kept(path)
        assert after == kept or more > skipped or sum(map(sum, after)) >= whole, index
        path.write_text("\n".join([*lines[:index], *lines[index + 1 :]]))
        told_and_kept(path)
        path.write_text("\n".join([*lines[:index], lines[index][: len(lines[index]) // 2]]))
        told_and_kept(path)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.path.endswith((".json", ".jsonl"))], ids=lambda row: row.path
)
def test_values_of_another_type_are_bad_records_and_no_crash(row: Row, tmp_path: Path) -> None:
    """Every value in turn becomes a number, a list or a text."""
    path = log(f"wild_a/{row.path}")
    if path.suffix == ".gz" or "005" in row.path:
        pytest.skip("covered by a smaller file")
    text = path.read_text()
    lines = [json.loads(line) for line in text.splitlines()] if row.path.endswith("l") else json.loads(text)
    broken = tmp_path / "broken.jsonl"
    for spot in places(lines)[:: 1 + len(places(lines)) // 60]:
        for value in (7, ["x"], "x", None, {"x": 1}):
            changed = json.loads(json.dumps(lines))
            holder = changed
            for key in spot[:-1]:
                holder = holder[key]
            holder[spot[-1]] = value
            if row.path.endswith("l"):
                write_lines(broken, *changed)
            else:
                broken.write_text(json.dumps(changed))
            canon(broken, format=row.format, bad=[])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [spot for key, inner in pairs for spot in [(*path, key), *places(inner, (*path, key))]]


DOCUMENTS = ("cline_api.json", "cline_ui.json", "opencode_export.json", "browser_use.json", "smolagents/code.json",
             "openhands.json")  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_record_of_a_document_written_twice_swapped_or_dropped_is_told(name: str, tmp_path: Path) -> None:
    document = json.loads(log(f"wild_a/{name}").read_text())
    key = next((key for key in ("messages", "history") if isinstance(document, dict) and key in document), None)
    records = document[key] if key else document
    path = tmp_path / "session.json"

    def after(changed: list[Any]) -> tuple[list[tuple[int, int, int, int]], int, int]:
        path.write_text(json.dumps({**document, key: changed} if key else changed))
        return told_and_kept(path)

    kept, skipped, _ = after(records)
    for index in range(len(records)):
        if "task" not in records[index] and "output" not in records[index] and "plan" not in records[index]:
            assert after([*records[: index + 1], *records[index:]])[0] == kept, index
        if index:
            moved = [*records[: index - 1], records[index], records[index - 1], *records[index + 1 :]]
            added, more, _ = after(moved)
            assert added == kept or more > skipped or sum(map(sum, added)) >= sum(map(sum, kept)) - 1, index
        if len(records) > 1:
            after([*records[:index], *records[index + 1 :]])


def test_the_command_reads_a_storage_folder() -> None:
    done = within("canon", log("wild_a/opencode"))
    assert len(done.stdout.splitlines()) == 3


def test_calls_in_clines_xml_keep_tags_in_their_values(tmp_path: Path) -> None:
    page = "<write_to_file>\n<path>a.html</path>\n<content>\n<div><path>x</path></div>\n</content>\n</write_to_file>"
    history = [
        {"role": "user", "content": [{"type": "text", "text": "<task>\nMake a page\n</task>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": f"<thinking>\neasy\n</thinking>\n{page}"}]},
        {"role": "user", "content": [{"type": "text", "text": "[write_to_file for 'a.html'] Result:\nSaved."}]},
    ]
    path = tmp_path / "history.json"
    path.write_text(json.dumps(history))
    (record,) = canon(path)
    (step,) = record["steps"]
    assert "<div><path>x</path></div>" in step["action"]
    assert step["observation"] == "Saved."
    assert step["thought"] == "easy"


def test_results_of_qwen_without_ids_go_by_name(tmp_path: Path) -> None:
    def line(uuid: str, parent: str | None, kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"uuid": uuid, "parentUuid": parent, "sessionId": "q", "type": kind, "message": {"parts": list(parts)}}

    path = write_lines(
        tmp_path / "q.jsonl",
        line("1", None, "user", {"text": "Fetch both"}),
        line("2", "1", "assistant", {"functionCall": {"name": "lamp", "args": {}}},
             {"functionCall": {"name": "chair", "args": {}}}),
        line("3", "2", "tool_result", {"functionResponse": {"name": "chair", "response": {"output": "oak"}}}),
        line("4", "3", "tool_result", {"functionResponse": {"name": "lamp", "response": {"error": "gone"}}}),
    )  # fmt: skip
    (record,) = canon(path)
    assert [step["observation"] for step in record["steps"]] == ["gone", "oak"]
    assert [step.get("error", False) for step in record["steps"]] == [True, False]
