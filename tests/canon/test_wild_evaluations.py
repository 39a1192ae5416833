"""Logs of benchmarks, evaluations and web agents: the traps of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.canon.logs import canon, write_lines
from tests.canon.test_wild_search import skipped, wild
from tests.command import within

# Computers and screens


def test_calls_written_as_python() -> None:
    (episode,) = canon(wild("cua_result.json"))
    assert [step["action"] for step in episode["steps"]] == [
        'computer({"action":"screenshot"})',
        'computer({"action":"type","text":"don\'t \\"stop\\""})',
        'computer({"action":"left_click","coordinate":[31,47]})',
        'computer({"action":"wait","duration":1})',
        "DONE",
    ]
    assert [step["turn"] for step in episode["steps"]] == [0, 1, 2, 2, 3]
    assert episode["steps"][1]["thought"] == "it's open"


def test_listed_actions_take_the_place_of_raw_answers_and_a_status_is_a_claim(tmp_path: Path) -> None:
    record = {"task_id": "a1", "task": "Find it.", "status": "SUCCESS", "agent_answer": "It is here.",
              "actions": ["click(100, 200)", "type('it')"], "thoughts": ["one", "two"], "urls": ["http://x.example/"],
              "history_resps": ["Thought: one\nAction: click(start_box='(100,200)')",
                                "Thought: two\nAction: type(…)"]}  # fmt: skip
    path = tmp_path / "result.json"
    path.write_text(json.dumps(record))
    (episode,), counts = skipped(path)
    assert [(s["action"], s["thought"]) for s in episode["steps"]] == [
        ("click(100, 200)", "one"),
        ("type('it')", "two"),
    ]
    assert "success" not in episode
    assert episode["extra"]["claim"]["status"] == "SUCCESS"
    assert counts["raw answers of listed actions"] == 2
    del record["actions"]
    path.write_text(json.dumps(record))
    (episode,) = canon(path)
    assert [s["action"] for s in episode["steps"]] == ["click(start_box='(100,200)')", "type(…)"]
    assert [s["thought"] for s in episode["steps"]] == ["one", "two"]


def test_the_verdict_of_osworld_is_beside_the_steps(tmp_path: Path) -> None:
    (episode,) = canon(wild("osworld/ex1/traj.jsonl"))
    assert [step["action"] for step in episode["steps"]] == [
        "pyautogui.click(100, 200)", "pyautogui.typewrite('hello')", "WAIT", "DONE",
    ]  # fmt: skip
    assert [step["turn"] for step in episode["steps"]] == [0, 0, 1, 2]
    assert "thought" not in episode["steps"][1]
    assert (episode["id"], episode["reward"], episode["extra"]["claim"]) == ("ex1", 1.0, "DONE")
    alone = tmp_path / "traj.jsonl"
    alone.write_bytes(wild("osworld/ex1/traj.jsonl").read_bytes())
    assert "success" not in canon(alone)[0]


def test_an_osworld_run_that_failed(tmp_path: Path) -> None:
    bad: list[Any] = []
    (episode,) = canon(wild("osworld/ex2"), bad=bad)
    assert len(bad) == 2
    assert [step["action"] for step in episode["steps"]] == ['CLICK({"x":1,"y":2})']
    assert episode["extra"]["error"] == "Time limit exceeded in chrome/ex2"
    rows = [json.loads(line) for line in wild("osworld/ex1/traj.jsonl").read_text().splitlines()]
    usual = canon(wild("osworld/ex1/traj.jsonl"))[0]["actions"]
    for mutated in ([*rows[:1], *rows], [rows[0], rows[1], rows[3], rows[2]]):
        assert canon(write_lines(tmp_path / "o.jsonl", *mutated))[0]["actions"] == usual
    twice = canon(write_lines(tmp_path / "o.jsonl", *rows, *rows))
    assert [len(episode["steps"]) for episode in twice] == [4, 4]


# AgentBench, verl, lm-eval, promptfoo


def test_agentbench_verdicts_and_actions() -> None:
    episodes, counts = skipped(wild("agentbench_runs.jsonl"))
    first, second, third = episodes
    assert first["task"] == "how many files in /etc?"
    assert [(s["action"], s.get("observation")) for s in first["steps"]] == [
        ("ls /etc | wc -l", "220"),
        ("answer(220)", None),
    ]
    assert (first["success"], second["success"], third["reward"]) == (True, False, 0.5)
    assert third["task"] == "i need lamp"
    assert counts["runs that failed without an output"] == 1
    assert len({episode["question_id"] for episode in episodes}) == 3


def test_an_answer_of_agentbench_is_a_claim(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "Question: The last value?"},
        {"role": "agent", "content": "GET http://box/fhir?x=1"},
        {"role": "user", "content": "Error in sending the GET request: 400"},
        {"role": "agent", "content": 'POST http://box/fhir\n{"a": 1}'},
        {"role": "user", "content": "accepted"},
        {"role": "agent", "content": "FINISH([-1])"},
    ]
    output = {"index": 1, "status": "completed", "result": "[-1]", "history": history}
    record = {"index": 1, "error": None, "info": None, "output": output, "time": {}}
    (episode,) = canon(write_lines(tmp_path / "runs.jsonl", record))
    assert "success" not in episode
    assert episode["extra"]["claim"] == "[-1]"
    assert [step.get("error", False) for step in episode["steps"]] == [True, False, False]
    assert episode["steps"][1]["action"] == 'POST({"body":"{\\"a\\": 1}","url":"http://box/fhir"})'


def test_answers_to_one_input_share_a_question() -> None:
    one, two, three = canon(wild("verl_12.jsonl"))
    assert one["question_id"] == two["question_id"] != three["question_id"]
    assert [(s["action"], s.get("observation")) for s in one["steps"]] == [
        ('calc({"expr":"6*7"})', "42"),
        ("#### 42", None),
    ]
    assert one["steps"][0]["thought"] == "use it"
    assert one["task"] == "What is 6*7? Use tools."
    assert (two["success"], three["reward"]) == (False, 1.1)


def test_a_document_of_several_filters_is_one_episode(tmp_path: Path) -> None:
    first, second = canon(wild("samples_gsm8k.jsonl"))
    assert (first["task"], first["steps"][0]["action"]) == ("Q: 6*7?", "The answer is 42.")
    assert first["extra"]["scores"] == {"strict-match": {"exact_match": 1.0}, "flexible-extract": {"exact_match": 1.0}}
    assert (first["success"], second["success"]) == (True, False)
    rows = [json.loads(line) for line in wild("samples_gsm8k.jsonl").read_text().splitlines()]
    again = canon(write_lines(tmp_path / "s.jsonl", *rows, *rows))
    assert len(again) == 2
    _, counts = skipped(wild("samples_arc_easy.jsonl"))
    assert counts["likelihoods of given answers"] == 2


def test_a_promptfoo_result_that_did_not_run_has_no_verdict() -> None:
    right, wrong, failed = canon(wild("promptfoo_results.json"))
    assert (right["task"], right["success"], right["steps"][0]["action"]) == ("River of Bigtown?", True, "Red")
    assert (wrong["success"], wrong["reward"]) == (False, 0.5)
    assert wrong["steps"][0]["action"] == 'lookup({"city":"Bigtown"})'
    assert "success" not in failed
    assert failed["extra"]["error"] == "API error: 429"


# ReAct logs, Inspect, LangSmith

BANNERS = """------------- BEGIN CORRECT AGENTS -------------

Question: Who baked it?
Correct answer: Ida

Question: Who sold it?
Thought 1: I search.
Action 1: Search[bread]
Observation 1: Sold by Jon.
Action 2: Finish[Jon]
Observation 2: Answer is CORRECT
Correct answer: Jon

------------- BEGIN INCORRECT AGENTS -------------

Question: When?
Action 1: Finish[1900]
Observation 1: Answer is INCORRECT
Correct answer: 1901

------------- BEGIN HALTED AGENTS -------------

Question: Where?
Action 1: Search[it]
Observation 1: nothing
"""


@pytest.mark.parametrize("filler", [0, 300])
def test_banners_are_verdicts_and_the_gold_answer_leaves_the_task(filler: int, tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    head, rest = BANNERS.split("\n\n", 1)
    path.write_text(head + "\n\n" + "Question: A question of no weight, told again and again?\n" * filler + "\n" + rest)
    episodes = canon(path)[filler:]
    assert [episode["task"] for episode in episodes] == ["Who baked it?", "Who sold it?", "When?", "Where?"]
    assert [episode.get("success") for episode in episodes] == [True, True, False, None]
    assert [episode["extra"].get("target") for episode in episodes] == ["Ida", "Jon", "1901", None]
    assert [len(episode["steps"]) for episode in episodes] == [0, 2, 1, 1]


def test_no_answer_is_a_failure_and_tasks_share_no_question(tmp_path: Path) -> None:
    questions = []
    for task in ("one", "two"):
        sample = {"id": 1, "epoch": 1, "input": "q", "messages": [{"role": "assistant", "content": "a"}],
                  "scores": {"match": {"value": "N"}}}  # fmt: skip
        path = tmp_path / f"{task}.json"
        path.write_text(json.dumps({"version": 2, "status": "success", "eval": {"task": task}, "plan": {},
                                    "samples": [sample]}))  # fmt: skip
        (episode,) = canon(path)
        assert (episode["success"], episode["reward"]) == (False, 0.0)
        questions.append(episode["question_id"])
    assert questions == ["one/1", "two/1"]


def test_batches_in_any_order_and_twice(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in wild("langsmith_batches.jsonl").read_text().splitlines()]
    (usual,) = canon(wild("langsmith_batches.jsonl"))
    assert [(s["action"], s.get("observation"), s.get("error", False)) for s in usual["steps"]] == [
        ('search({"q":"lamp"})', "[7]", False),
        ('price({"sku":"7"})', None, True),
    ]
    for mutated in (rows[::-1], [*rows, *rows], [rows[1], rows[0], rows[2]]):
        (other,) = canon(write_lines(tmp_path / "b.jsonl", *mutated))
        assert other["steps"] == usual["steps"]
    episodes, counts = skipped(write_lines(tmp_path / "b.jsonl", rows[2], rows[0]))
    assert counts["patches of a run that is not there"] == 1
    assert episodes == []


def test_a_patch_without_an_id_finds_its_run() -> None:
    (episode,) = canon(wild("langsmith_js_wrap_openai_stream.json"))
    assert (episode["task"], episode["steps"][0]["action"]) == ("howdy", "Howdy! How can I assist you today?")


# Web agents


def test_roles_come_from_the_page_by_the_element_id() -> None:
    (episode,) = canon(wild("gobrowse_traj_0"))
    assert episode["actions"] == ["type<search>", "click<button>", "respond<user>"]
    assert episode["steps"][1]["extra"]["error"] == "Error: bid 13 gone"
    assert episode["steps"][2]["action"] == "5 dollars"
    led, unread = canon(wild("gobrowse_rows.jsonl"))
    assert led["actions"] == ["click<link>", "respond<user>"]
    assert led["steps"][0]["extra"] == {"is_prefix_step": True}
    assert unread["steps"][0]["error"] is True
    (clicked,) = canon(wild("browsergym_steps.json"))
    assert clicked["actions"] == ["click<button>"]
    assert (clicked["steps"][0]["reward"], clicked["task"]) == (1.0, "Click the button.")


def test_steps_of_browsergym_in_another_order_and_twice(tmp_path: Path) -> None:
    rows = json.loads(wild("browsergym_steps.json").read_text())
    (usual,) = canon(wild("browsergym_steps.json"))
    for mutated in (rows[::-1], [*rows, rows[0]]):
        (other,) = canon(write_lines(tmp_path / "b.jsonl", *mutated))
        assert other["steps"] == usual["steps"]


def test_a_summary_without_steps_tells_so() -> None:
    (episode,), counts = skipped(wild("2026-01-02_GenericAgent_on_miniwob.click-test_1"))
    assert (episode["reward"], episode["steps"]) == (1.0, [])
    assert counts["steps that a summary counts and does not hold"] == 2


TREE_ROLES = {"text_input": "textbox", "select": "combobox"}
HTML = {
    "input_text": "<input type=text ref=%s>", "input_password": "<input ref='%s' type=\"password\">",
    "input_checkbox": '<input type="checkbox" ref="%s">', "button": '<button ref="%s">x</button>',
    "text": '<span ref="%s">x</span>',
}  # fmt: skip


def test_the_pairs_of_the_authors_on_a_page_that_holds_their_elements(shared: Path, tmp_path: Path) -> None:
    """Each command is taken on a page whose element has the role that the authors' token names."""
    pairs = json.loads((shared / "xtree" / "canon_pairs.json").read_text())
    rows = [p for p in pairs if p["env"] in ("WebArena", "MiniWoB++") and p["form"] == "command" and "<" in p["token"]]
    wrong = []
    for pair in rows:
        inner = pair["raw"].partition("(")[2]
        identity = inner.removeprefix("ref=").strip("'\"").partition(",")[0].strip("')\" ")
        role = pair["token"].partition("<")[2].rstrip(">")
        page = HTML.get(role, "%s") % identity if pair["env"] == "MiniWoB++" else (
            f"RootWebArea 'x'\n\t[{identity}] {TREE_ROLES.get(role, role)} 'x', clickable")  # fmt: skip
        rows_ = [{"step": 0, "obs": {"goal": "g", "axtree_txt": page}, "action": pair["raw"], "reward": 0.0,
                  "terminated": False, "truncated": False}]  # fmt: skip
        profile = "miniwob" if pair["env"] == "MiniWoB++" else "webarena"
        (episode,) = canon(write_lines(tmp_path / "p.jsonl", *rows_), profile=profile)
        if episode["actions"] != [pair["token"]]:
            wrong.append((pair["raw"], pair["token"], episode["actions"]))
    assert len(rows) >= 36
    assert wrong == []


# Any of them


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("cua-result", {"task": "t", "history_resps": "x"}),
        ("agentbench", {"index": 1, "output": {"history": [3]}, "time": 1}),
        ("verl-dump", {"input": "a", "output": "b", "score": "much", "step": 1}),
        ("promptfoo", {"results": {"results": [3]}}),
        ("search-journal", {"nodes": [3], "node2parent": {}}),
        ("tot-dfs", [[{"actions": 3, "env_step": 1, "info": {}}]]),
        ("osworld", {"step_num": "x", "action": 1, "done": True, "screenshot_file": ""}),
        ("react-notebook", {"nbformat": 4, "cells": [3]}),
    ],
)
def test_a_wrong_type_is_a_bad_record(name: str, record: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(record))
    done = within("canon", "--from", name, path, check=65)
    assert b"x.json" in done.stderr
    assert b"Error:" not in done.stderr
