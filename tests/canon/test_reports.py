"""The loss report, ATIF out, learned profiles, the list of unmatched actions, the summary."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.canon.logs import canon, log, write_lines
from tests.command import run_with, within
from xskill.canon.accounts.report import Loss
from xskill.canon.formats.atif_export import to_atif
from xskill.records import Trajectory, convert

ROUND_TRIP = [
    "a_alfworld_react/agentgym_mcp_trajectories.json",
    "d_swe/sweagent_marshmallow-1867_function_calling.traj",
    "e_tau/taubench_gpt-4o-airline_first8.json",
    "f_cli_sessions/agentsessions_gemini__large.json",
    "traces/langsmith_runs_read.jsonl",
    "i_trees/lats_mcts_humaneval_gpt4_first8.jsonl",
]


def test_the_report_measures_values(tmp_path: Path) -> None:
    loss = Loss()
    source = {
        "a": "kept whole",
        "b": "pulled apart: first piece here // and a second piece there",
        "c": "gone",
        "d": [7, 12345],
        "e": '{"inner": "kept inside"}',
        "f": True,
        "g": [{"key": "otel.name", "value": {"stringValue": "gone too"}}],
        "n": None,
    }
    output = {"x": "kept whole", "y": ["first piece here", "and a second piece there", "kept inside"], "d": [7]}
    loss.compare(source, [json.dumps(output).encode()])
    assert loss.rows() == [
        {"path": "c", "values": 1, "not_carried": 1},
        {"path": "d[]", "values": 2, "not_carried": 1},
        {"path": "f", "values": 1, "not_carried": 1},
        {"path": "g.otel.name.stringValue", "values": 1, "not_carried": 1},
    ]


def test_the_report_of_a_real_log(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    within("canon", log("e_tau/taubench_gpt-4o-airline_first8.json"), "-o", tmp_path / "o", "--report", report)
    told = json.loads(report.read_text())
    assert (told["trajectories"], told["steps"], told["inputs"]) == (8, 108, 1)
    tau = told["formats"]["tau-bench"]
    assert tau["records_not_carried"] == {"system message": 8}
    lost = {row["path"] for row in tau["fields_not_carried"]}
    assert "traj[].tool_calls[].id" in lost
    assert not any("reward" in path for path in lost)
    plain = tmp_path / "report.txt"
    within("canon", log("e_tau/taubench_gpt-4o-airline_first8.json"), "-o", tmp_path / "o", "--report", plain)
    assert "8  system message (left out)" in plain.read_text()


def test_the_report_is_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    paths = [log("traces/openai_finetune_chat.jsonl"), log("traces/otlp_pydantic_ai_v5_collector.jsonl")]
    told = []
    for jobs in ("1", "2"):
        run_with(jobs)("canon", *paths, "-j", jobs, "-o", tmp_path / "o", "--report", tmp_path / "r.json")
        told.append((tmp_path / "r.json").read_text())
    assert told[0] == told[1]


@pytest.mark.parametrize("path", ROUND_TRIP)
def test_atif_is_valid_and_reads_back(tmp_path: Path, path: str) -> None:
    atif = pytest.importorskip("atif")
    out = tmp_path / "atif.jsonl"
    within("canon", log(path), "--as", "atif", "-o", out)
    for line in out.read_text().splitlines():
        atif.Trajectory.model_validate(json.loads(line))
    before, after = canon(log(path)), canon(out)
    for one, two in zip(before, after, strict=True):
        for name in ("id", "question_id", "task", "task_type", "env", "actions", "args", "success", "reward"):
            assert one.get(name) == two.get(name), name
        assert [step["action"] for step in one["steps"]] == [step["action"] for step in two["steps"]]
        assert [step.get("observation") for step in one["steps"]] == [step.get("observation") for step in two["steps"]]


def test_atif_of_a_record_with_nothing_in_it() -> None:
    made = to_atif(convert({"schema": "xskill.trajectory/1", "id": "x", "actions": []}, Trajectory))
    assert made["steps"] == []
    assert made["extra"] == {"xskill": {"actions": [], "steps": None}}


def test_atif_is_no_table(tmp_path: Path) -> None:
    assert b"not as Parquet" in within("canon", "x", "--as", "atif", "-o", tmp_path / "x.parquet", check=2).stderr


def test_unmatched_actions_are_counted_and_listed(tmp_path: Path) -> None:
    steps = [{"action": "look"}, {"action": "juggle plates"}, {"action": "juggle plates"}, {"action": "hum a tune"}]
    path = write_lines(tmp_path / "s.jsonl", {"env": "alfworld", "steps": steps})
    done = within("canon", path, "--unmatched", tmp_path / "u", "-o", tmp_path / "o")
    assert "1 trajectories, 4 steps from 1 file; unmatched: 3 of 4, 2 distinct" in done.stderr.decode()
    assert (tmp_path / "u").read_text() == "2\tjuggle plates\n1\thum a tune\n"


def test_a_learned_profile_is_smaller_than_the_generic_rule(tmp_path: Path, sample_data: Path) -> None:
    profile = tmp_path / "learned.toml"
    source = sample_data / "scienceworld.jsonl.gz"
    within("canon", source, "--learn", profile, "-o", tmp_path / "o")

    def vocabulary(name: str) -> int:
        return len({token for record in canon(source, profile=name) for token in record["actions"]})

    assert vocabulary(str(profile)) < vocabulary("generic")


def test_the_summary(tmp_path: Path) -> None:
    done = within("canon", log("traces/openai_finetune_chat.jsonl"), "-o", tmp_path / "o")
    told = done.stderr.decode()
    assert re.fullmatch(r"xskill canon: read 8; kept 8; 8 trajectories, 40 steps from 1 file; \d+\.\d\d s\n", told), (
        told
    )
    assert within("canon", "-q", log("traces/openai_finetune_chat.jsonl")).stderr == b""
