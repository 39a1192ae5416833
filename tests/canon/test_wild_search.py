"""Logs of searches and evaluations: what a person counts in them, and the traps of each kind."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.canon.logs import LOGS, canon, log, write_lines
from tests.command import within
from xskill.canon.accounts.totals import Totals

WILD = LOGS / "wild_b"


class Row(NamedTuple):
    """File, format, steps of each episode, (successes, failures, unknown), results, errors."""

    path: str
    format: str
    steps: list[int]
    outcomes: tuple[int, int, int]
    results: int
    errors: int


FEVER = [2, 2, 2, 7, 2, 2, 2, 3, 4, 3, 2, 2, 2, 3, 2, 2, 2, 2, 2, 4, 2, 2, 3, 2, 2, 2, 0]
SHOP = [4, 3, 4, 8, 4, 5, 5, 4, 5, 5, 6, 5, 3, 4, 5, 5, 2]
ROWS = [
    Row("langsmith_batches.jsonl", "langsmith", [2], (0, 0, 1), 1, 1),
    Row("langsmith_js_wrap_openai_stream.json", "langsmith", [1], (0, 0, 1), 0, 0),
    Row("lats_hotpot.log", "lats-log", [1, 2], (1, 1, 0), 3, 0),
    Row("lats_hotpot_tot_10it.log", "lats-log", [1] * 4 + [2] * 4 + [3] * 4 + [4] * 3 + [5] * 5, (0, 0, 20), 61, 0),
    Row("lats_dfs_humaneval_first3.jsonl", "lats-code", [0, 1, 1], (1, 1, 1), 2, 0),
    Row("react_FEVER_cut.ipynb", "react-notebook", FEVER, (16, 10, 1), 65, 5),
    Row("react_WebShop_cut.ipynb", "react-notebook", SHOP, (8, 2, 7), 77, 6),
    Row("terminus_episodes.json", "terminus-episodes", [4], (0, 0, 1), 2, 0),
    Row("harbor_traces.jsonl", "harbor-traces", [2, 1], (1, 0, 1), 1, 0),
    Row("harbor_trial", "harbor", [2], (1, 0, 0), 1, 1),
    Row("cua_result.json", "cua-result", [5], (0, 0, 1), 0, 0),
    Row("aide_journal.json", "search-journal", [2, 2], (0, 0, 2), 4, 1),
    Row("mlevolve_journal.json", "search-journal", [3], (0, 0, 1), 3, 1),
    Row("osworld/ex1", "osworld-results", [4], (1, 0, 0), 0, 0),
    Row("osworld/ex1/traj.jsonl", "osworld", [4], (1, 0, 0), 0, 0),
    Row("agentbench_runs.jsonl", "agentbench", [2, 2, 2], (1, 2, 0), 3, 0),
    Row("verl_12.jsonl", "verl-dump", [2, 1, 1], (2, 1, 0), 1, 0),
    Row("samples_gsm8k.jsonl", "lm-eval-samples", [1, 1], (1, 1, 0), 0, 0),
    Row("samples_arc_easy.jsonl", "lm-eval-samples", [0], (1, 0, 0), 0, 0),
    Row("promptfoo_results.json", "promptfoo", [1, 1, 0], (1, 1, 1), 0, 0),
    Row("gobrowse_traj_0", "gobrowse", [3], (1, 0, 0), 2, 1),
    Row("gobrowse_rows.jsonl", "gobrowse-steps", [2, 1], (1, 1, 0), 1, 1),
    Row("browsergym_steps.json", "browsergym", [1], (1, 0, 0), 1, 0),
    Row("2026-01-02_GenericAgent_on_miniwob.click-test_1", "agentlab-results", [0], (1, 0, 0), 0, 0),
    Row("2026-01-02_GenericAgent_on_miniwob.click-test_1/summary_info.json", "agentlab-summary", [0], (1, 0, 0), 0, 0),
]  # fmt: skip


def wild(name: str) -> Path:
    return log(f"wild_b/{name}")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_a_log_as_a_person_counts_it(row: Row) -> None:
    episodes = canon(wild(row.path))
    steps = [step for episode in episodes for step in episode["steps"]]
    outcomes = Counter(episode.get("success") for episode in episodes)
    assert {episode["source"]["format"] for episode in episodes} == {row.format}
    assert sorted(len(episode["steps"]) for episode in episodes) == sorted(row.steps)
    assert (outcomes[True], outcomes[False], outcomes[None]) == row.outcomes
    assert sum("observation" in step for step in steps) == row.results
    assert sum(step.get("error", False) for step in steps) == row.errors
    assert len({episode["id"] for episode in episodes}) == len(episodes)


def test_every_file_here_is_in_the_table() -> None:
    listed = [row.path for row in ROWS]
    for path in WILD.rglob("*"):
        name = str(path.relative_to(WILD)).removesuffix(".gz")
        if path.is_file() and name != "README.md":
            shown = any(name == one or name.startswith(one + "/") for one in listed)
            assert shown or name.startswith(("osworld/ex2", "tot_dfs")), name


def skipped(*paths: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Episodes, and what was counted as left out."""
    totals = Totals()
    episodes = canon(*paths, totals=totals)
    counts: Counter[str] = Counter()
    for tally in totals.tallies.values():
        counts.update(tally.skipped)
    return episodes, counts


# Terminus and Harbor


def test_commands_of_a_terminus_answer_are_calls_and_their_one_output_is_of_the_last() -> None:
    (episode,) = canon(wild("terminus_episodes.json"))
    touch, listing, end, again = episode["steps"]
    assert episode["task"] == "Make bun.txt"
    assert "observation" not in touch
    assert listing["observation"] == "root@box:/app# touch bun.txt\nroot@box:/app# ls\nbun.txt\n"
    assert touch["thought"] == "start\n\ngo"
    assert (end["action"], again["action"]) == ("mark_task_complete({})", "mark_task_complete({})")
    assert episode["extra"]["claim"] is True
    assert "success" not in episode


@pytest.mark.parametrize(
    "answer",
    [
        '{"state_analysis": "a", "explanation": "b", "commands": [{"keystrokes": "ls\\n", "is_blocking": true}], '
        '"is_task_complete": false}',
        '<think>well</think>\nHere:\n```json\n{"analysis": "a", "plan": "b", '
        '"commands": [{"keystrokes": "ls\\n"}]}\n```',
        '<response><analysis>a</analysis><plan>b</plan><commands><keystrokes duration="0.1">ls\n</keystrokes>'
        "</commands><task_complete>false</task_complete></response>",
    ],
)
def test_answers_of_every_version(answer: str, tmp_path: Path) -> None:
    rows = [{"episode": 0, "prompt": "Task Description:\nLook.\n", "response": answer}]
    (episode,) = canon(write_lines(tmp_path / "e.jsonl", *rows))
    (step,) = episode["steps"]
    assert '"keystrokes":"ls\\n"' in step["action"]
    assert "a\n\nb" in step["thought"]
    assert episode["task"] == "Look."


def test_an_answer_that_is_no_command_is_talk_that_failed_and_is_counted() -> None:
    (episode,), counts = skipped(wild("harbor_trial"))
    assert [step["kind"] for step in episode["steps"]] == ["call", "respond"]
    assert episode["steps"][1]["error"] is True
    assert counts["answers that are no Terminus command"] == 1
    assert episode["id"] == "bun__abc1234"


def test_cumulative_rows_count_once_in_any_order(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in wild("harbor_traces.jsonl").read_text().splitlines()]
    usual = canon(wild("harbor_traces.jsonl"))
    for mutated in (rows[::-1], [*rows, rows[0]], [rows[1], rows[2]]):
        other = canon(write_lines(tmp_path / "t.jsonl", *mutated))
        assert {e["id"]: e["actions"] for e in other} == {e["id"]: e["actions"] for e in usual}
    assert [episode.get("reward") for episode in usual] == [1.0, None]
    assert usual[1]["extra"]["exception"] == "AgentTimeoutError"


def test_a_conversation_that_begins_anew_is_an_episode_of_its_own(tmp_path: Path) -> None:
    row = json.loads(wild("harbor_traces.jsonl").read_text().splitlines()[0])
    new = {**row, "episode": "episode-1", "conversations": [{"role": "user", "content": "Summary."},
                                                           {"role": "assistant", "content": "fine"}]}  # fmt: skip
    episodes = canon(write_lines(tmp_path / "t.jsonl", row, new))
    assert [episode["id"] for episode in episodes] == ["bun__abc1234", "bun__abc1234/1"]


def test_terminus_turns_in_another_order_and_twice(tmp_path: Path) -> None:
    rows = json.loads(wild("terminus_episodes.json").read_text())
    (usual,) = canon(wild("terminus_episodes.json"))
    for mutated in (rows[::-1], [rows[0], *rows]):
        (other,) = canon(write_lines(tmp_path / "e.jsonl", *mutated))
        assert other["steps"] == usual["steps"]
    two = canon(write_lines(tmp_path / "e.jsonl", *rows, {**rows[0], "response": '{"commands": []}'}))
    assert len(two) == 2


# LATS, trees of thoughts, journals


def test_code_of_another_problem_is_no_step() -> None:
    episodes, counts = skipped(wild("lats_dfs_humaneval_first3.jsonl"))
    assert counts["implementations of another problem"] == 2
    assert counts["problems without an implementation"] == 1
    assert all("strlen" not in step["action"] for episode in episodes for step in episode["steps"])


def test_a_node_hangs_on_the_path_of_its_prompt_and_has_the_reward_after_it() -> None:
    wrong, right = canon(wild("lats_hotpot.log"))
    assert wrong["task"] == right["task"] == "Which river runs through Bigtown?"
    assert [step["action"] for step in right["steps"]] == ["Search[Bigtown]", "Finish[Red]"]
    assert right["steps"][0]["observation"] == "Bigtown lies on the Red (river), in Land."
    assert (wrong["reward"], right["reward"]) == (0.0, 1.0)
    assert all(step["thought"] for step in right["steps"])


def test_the_tree_of_a_real_hotpot_search() -> None:
    episodes = canon(wild("lats_hotpot_tot_10it.log"))
    nodes = {tuple((s["thought"], s["action"]) for s in e["steps"][: n + 1]) for e in episodes
             for n in range(len(e["steps"]))}  # fmt: skip
    assert Counter(map(len, nodes)) == {1: 5, 2: 5, 3: 5, 4: 4, 5: 5}
    assert {episode["task"] for episode in episodes} == {
        "Which magazine was started first Arthur's Magazine or First for Women?"
    }


def test_a_thought_of_many_lines_is_one_step(tmp_path: Path) -> None:
    plan, whole = "Plan:\n1. up\n2. out\n", "Plan:\n1. up\n2. out\nPassage:\nIt rained.\n\nWe left."
    record = {"idx": 3, "ys": [whole], "steps": [
        {"x": "It rained.", "ys": [""], "new_ys": [plan, "Plan:\n1. stay\n"], "values": [2, 0]},
        {"x": "It rained.", "ys": [plan], "new_ys": [whole], "values": [5], "select_new_ys": [whole]},
    ]}  # fmt: skip
    path = tmp_path / "t.json"
    path.write_text(json.dumps([record]))
    chosen, cut = canon(path)
    assert [step["action"] for step in chosen["steps"]] == ["Plan:\n1. up\n2. out", "Passage:\nIt rained.\n\nWe left."]
    assert [step["q"] for step in chosen["steps"]] == [2.0, 5.0]
    assert [step["action"] for step in cut["steps"]] == ["Plan:\n1. stay"]


def test_the_states_of_depth_first_searches() -> None:
    episodes = canon(wild("tot_dfs_infoss_first3.json"))
    states = {(e["question_id"], *[s["action"] for s in e["steps"][: n + 1]]) for e in episodes
              for n in range(len(e["steps"]))}  # fmt: skip
    source = json.loads(gzip.decompress(wild("tot_dfs_infoss_first3.json").read_bytes()))
    assert len({e["question_id"] for e in episodes}) == 3
    for index, problem in enumerate(source, 1):
        for state in problem:
            assert (f"tot_dfs_infoss_first3-{index}", *state["actions"]) in states or state["actions"] == []
    assert episodes[0]["steps"][0]["action"] == "h2. motor"
    assert max(e["reward"] for e in episodes if e["question_id"].endswith("-1")) == 0.2


def test_branches_of_a_journal_by_node2parent_and_a_metric_is_no_reward() -> None:
    first, second = canon(wild("aide_journal.json"))
    assert [step["action"] for step in first["steps"]] == [
        'run_code({"code":"1/0"})',
        'run_code({"code":"print(0.6)"})',
    ]
    assert [step["thought"] for step in second["steps"]] == ["draft one", "improve"]
    assert "reward" not in first
    assert second["extra"]["metric"] == {"value": 0.9, "maximize": True}
    (evolved,) = canon(wild("mlevolve_journal.json"))
    assert [step.get("error", False) for step in evolved["steps"]] == [True, False, False]


def test_a_journal_that_is_a_cycle_is_a_bad_record(tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    nodes = [{"id": name, "code": name, "step": 0} for name in "abc"]
    path.write_text(json.dumps({"nodes": nodes, "node2parent": {"a": "b", "b": "a", "c": "a"}}))
    done = within("canon", path, check=65)
    assert b"node2parent" in done.stderr


# Notebooks


def test_a_notebook_joins_the_pieces_of_its_output() -> None:
    episodes = canon(wild("react_WebShop_cut.ipynb"))
    first = episodes[0]
    assert [step["action"] for step in first["steps"]] == [
        "search[long clip-in hair extension natural looking]", "click[B08H5DCD65]", "click[natural black #1b]",
        "click[Buy Now]",
    ]  # fmt: skip
    assert first["task"].startswith("i need a long clip-in hair extension")
    rewards = [episode.get("reward") for episode in episodes]
    assert rewards[:6] == [0.0, 1.0, 0.75, 0.0, 0.5, 0.4]
    assert rewards[9] == pytest.approx(2 / 3)
    assert rewards[-1] is None


def test_the_gold_answer_is_in_no_task() -> None:
    episodes = canon(wild("react_FEVER_cut.ipynb"))
    assert episodes[0]["task"] == "Paramore is not from Tennessee."
    assert episodes[0]["question_id"] == "3687"
    assert episodes[0]["extra"]["target"] == "REFUTES"
    assert [episode.get("reward") for episode in episodes][:4] == [1.0, 1.0, 0.0, 0.0]


def test_an_alfworld_notebook(tmp_path: Path) -> None:
    text = (
        "pick_and_place_simple-Mug/trial_1\npick_and_place put\nYou are in the middle of a room.\n"
        "Your task is to: put a mug on desk.\nAct 1: think: I look.\nObs 1: OK.\nAct 2: go to desk 1\n"
        "Obs 2: On the desk 1, you see a mug.\n1 r True rs [1] cnts [1] sum(rs)/sum(cnts) 1.0\n------------\n\n"
    )
    cell = {"cell_type": "code", "source": "run()", "outputs": [
        {"output_type": "stream", "name": "stdout", "text": text[:100]},
        {"output_type": "stream", "name": "stderr", "text": "a warning"},
        {"output_type": "stream", "name": "stdout", "text": text[100:]},
    ]}  # fmt: skip
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
    (episode,), counts = skipped(path)
    assert [(s["action"], s["thought"]) for s in episode["steps"]] == [("go to desk 1", "I look.")]
    assert (episode["task"], episode["success"]) == ("put a mug on desk", True)
    assert counts["outputs that are not standard output"] == 1


def test_an_option_of_the_page_that_the_instruction_speaks_of() -> None:
    tokens = [
        (step["action"], token)
        for episode in canon(wild("react_WebShop_cut.ipynb"))
        for step, token in zip(episode["steps"], episode["actions"], strict=True)
    ]
    assert ("click[xx-large]", "click<option-size>") in tokens
    assert ("click[redwood]", "click<option-color>") in tokens
    assert ("click[full | queen]", "click<option>") in tokens
