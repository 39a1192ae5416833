"""Every real log → what a person counts in it. The numbers were derived by reading the files, not by running canon."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.canon.logs import LOGS, canon, log
from xskill.canon.detect import open_log
from xskill.streams.source import open_input


class Row(NamedTuple):
    """Path, format, trajectories, steps, (successes, failures, unknown), first and last token, last reward."""

    path: str
    format: str
    trajectories: int
    steps: int
    outcomes: tuple[int, int, int]
    first: str | None
    last: str | None
    reward: float | None


REFLEXION = "reflexion_alfworld_env_results_trial"
ROWS = [
    Row("a_alfworld_react/agentgym_mcp_trajectories.json", "agentgym", 3, 11, (3, 0, 0), "right", "left", 0.4),
    Row(f"a_alfworld_react/{REFLEXION}_0.json", "reflexion", 134, 0, (84, 50, 0), None, None, None),
    Row(f"a_alfworld_react/{REFLEXION}_3.json", "reflexion", 134, 0, (113, 21, 0), None, None, None),
    Row("a_alfworld_react/reflexion_hotpotqa_base_react_thought_log.txt", "react", 87, 287, (33, 54, 0),
        "search", "finish", None),
    Row("b_scienceworld_webshop/lats_webshop_example.log", "lats-log", 20, 60, (2, 0, 18),
        "search<query>", "click<buy>", 1.0),
    Row("b_scienceworld_webshop/reflexion_webshop_env_results_trial_1.json", "reflexion", 100, 0, (33, 67, 0),
        None, None, None),
    Row("c_web/onlinemind2web_005be9dd_result.json", "online-mind2web", 1, 10, (0, 0, 1),
        "navigate<url>", "scroll<down>", None),
    Row("c_web/webvoyager_taskESPN--11_interact_messages.json", "webvoyager", 1, 5, (0, 0, 1),
        "click<element>", "respond<user>", None),
    Row("c_web/webvoyager_taskHuggingface--3_interact_messages.json", "webvoyager", 1, 6, (0, 0, 1),
        "click<element>", "respond<user>", None),
    Row("d_swe/miniswe_github_issue.traj.json", "mini-swe-agent", 1, 10, (0, 0, 1), "cat<test>", "git add", None),
    Row("d_swe/miniswe_sqlfluff-2419.traj.json", "mini-swe-agent", 1, 43, (0, 0, 1),
        "find<directory>", "cat<document>", None),
    Row("d_swe/sweagent_ctf_katy.traj", "swe-agent", 1, 18, (0, 0, 1), "file<name>", "submit", None),
    Row("d_swe/sweagent_marshmallow-1867_function_calling.traj", "swe-agent", 1, 11, (0, 0, 1),
        "create<code>", "submit", None),
    Row("e_tau/taubench_airline_few_shot.jsonl", "tau-few-shot", 19, 222, (0, 0, 19), "respond<user>", "unknown", None),
    Row("e_tau/taubench_gpt-4o-airline_first8.json", "tau-bench", 8, 108, (1, 7, 0),
        "respond<user>", "respond<user>", 0.0),
    Row("e_tau/tau2_airline_grok-3.json", "tau2-bench", 5, 55, (5, 0, 0), "respond<user>", "respond<user>", 1.0),
    Row("f_cli_sessions/agentsessions_claude__large.jsonl", "claude-code", 1, 5, (0, 0, 1),
        "printf<name>", "respond<user>", None),
    Row("f_cli_sessions/agentsessions_claude__schema_drift.jsonl", "claude-code", 1, 2, (0, 0, 1),
        "cat<document>", "respond<user>", None),
    Row("f_cli_sessions/agentsessions_claude__small.jsonl", "claude-code", 3, 3, (0, 0, 3),
        "ls", "trimmed<for_fixture>", None),
    Row("f_cli_sessions/agentsessions_claude/subagent", "claude-code-project", 2, 2, (0, 0, 2), "task", "grep", None),
    Row("f_cli_sessions/agentsessions_codex__small.jsonl", "codex", 2, 9, (0, 0, 2),
        "ls", "trimmed<for_fixture>", None),
    Row("f_cli_sessions/agentsessions_copilot__large.jsonl", "copilot-cli", 1, 5, (0, 0, 1),
        "respond<user>", "echo<name>", None),
    Row("f_cli_sessions/agentsessions_gemini__jsonl_v040.jsonl", "gemini-cli", 1, 2, (0, 0, 1),
        "ls", "respond<user>", None),
    Row("f_cli_sessions/agentsessions_gemini__large.json", "gemini-cli", 1, 4, (0, 0, 1),
        "printf<name>", "respond<user>", None),
    Row("g_harbor_inspect_tb/atif_v15_terminus2_hello-world-timeout.trajectory.json", "atif", 1, 3, (0, 0, 1),
        "echo<name>", "sleep", None),
    Row("g_harbor_inspect_tb/atifviewer_-dacode-predict-essay-scores-db7da09c-6e43-4f88-bbcc-600a170a7a87.json",
        "atif-viewer", 1, 45, (0, 0, 1), "ls", "mark<task_complete>", None),
    Row("g_harbor_inspect_tb/atifviewer_-hle-dirac-fermion-tunneling-e2ca0cba-7150-4ea9-9776-cc0f68c98783.json",
        "atif-viewer", 1, 1, (0, 0, 1), "respond<user>", "respond<user>", None),
    Row("g_harbor_inspect_tb/atifviewer_cr-cross-ref-datacenter-docs-60c88c52-6cc6-4535-bf27-fd8a3c1d1c26.json",
        "atif-viewer", 1, 3, (0, 0, 1), "read<file>", "read<file>", None),
    Row("g_harbor_inspect_tb/inspect_2025-05-12T20-28-26-04-00_security-guide.json", "inspect", 3, 3, (3, 0, 0),
        "respond<user>", "respond<user>", 1.0),
    Row("g_harbor_inspect_tb/inspect_log_read_sample.eval", "inspect-eval", 1, 1, (1, 0, 0),
        "respond<user>", "respond<user>", 1.0),
    Row("g_harbor_inspect_tb/inspect_log_tool_call_error.json", "inspect", 1, 0, (0, 0, 1), None, None, None),
    Row("h_otel_langfuse/langfuse_crewai-2025-07-11.trace.json", "langfuse", 1, 1, (0, 0, 1),
        "respond<user>", "respond<user>", None),
    Row("h_otel_langfuse/langfuse_langgraph-python-2025-08-22.trace.json", "langfuse", 1, 2, (0, 0, 1),
        "web<search>", "respond<user>", None),
    Row("h_otel_langfuse/langfuse_openai-agents-2025-09-30.trace.json", "langfuse", 1, 2, (0, 0, 1),
        "get<weather>", "respond<user>", None),
    Row("h_otel_langfuse/langfuse_pydantic-ai-tools-2025-06-06.trace.json", "langfuse", 1, 1, (0, 0, 1),
        "respond<user>", "respond<user>", None),
    Row("h_otel_langfuse/langfuse_seed_openai-assistants-2024-05-29.json", "langfuse", 1, 1, (0, 0, 1),
        "respond<user>", "respond<user>", None),
    Row("i_trees/lats_mcts_humaneval_gpt4_first8.jsonl", "lats-code", 8, 7, (6, 1, 1),
        "submit<code>", "submit<code>", None),
    Row("i_trees/rstar_amc_llama31/Question 0000 - Final Solutions.json", "rstar", 37, 112, (0, 0, 37),
        "think<step>", "answer", None),
    Row("i_trees/rstar_amc_llama31/Question 0000 - Rollout Solutions.json", "rstar", 16, 52, (0, 0, 16),
        "think<step>", "answer", None),
    Row("i_trees/rstar_amc_llama31/Question 0002 - Final Solutions.json", "rstar", 35, 104, (0, 0, 35),
        None, "ask<subquestion>", None),
    Row("i_trees/rstar_amc_llama31/Question 0002 - Rollout Solutions.json", "rstar", 16, 51, (0, 0, 16),
        "ask<subquestion>", "answer", None),
    Row("i_trees/tot_game24_bfs_first12.json", "tree-of-thoughts", 879, 2419, (19, 41, 819),
        "say<text>", "say<text>", None),
    Row("j_sharegpt/llamafactory_glaive_toolcall_en_rec3.json", "sharegpt", 1, 6, (0, 0, 1),
        "calculate<area>", "respond<user>", None),
]  # fmt: skip
"""What the project holds."""

SHARED_ROWS = [
    Row("data/k_gui/screenagent_435eea5c", "screenagent-session", 1, 33, (0, 0, 1),
        "plan<subtask>", "evaluate<subtask>", None),
    Row("data/l_skillrl/alfworld_generated_memories_alfworld_total.json", "skillrl-memories", 223, 669, (113, 110, 0),
        "observe<room layout>", "put<surface>", None),
    Row("data/l_skillrl/search_generated_memories_search.json", "skillrl-memories", 196, 207, (132, 64, 0),
        None, None, None),
    Row("data/l_skillrl/webshop_generated_memories_webshop_100.json", "skillrl-memories", 100, 247, (50, 50, 0),
        "search<query>", None, None),
    Row("data/local_only/b_scienceworld_webshop/swiftsage_oracle_task17-93-102.json", "scienceworld-history",
        10, 70, (10, 0, 0), "observe<room>", None, 1.0),
    Row("data/local_only/b_scienceworld_webshop/swiftsage_oracle_task26-15-19.json", "scienceworld-history",
        5, 104, (5, 0, 0), "observe<room>", "observe<room>", 1.0),
    Row("data/local_only/c_web/webarena_render_0_excerpt.html", "webarena", 1, 2, (0, 0, 1),
        "click<link>", "respond<user>", None),
    Row("data/local_only/d_swe/openhands_v1_738af_events.json", "openhands", 1, 46, (0, 0, 1),
        "view<directory>", None, None),
    Row("data/local_only/g_harbor_inspect_tb/harbor_trial_dialogue-parser__bwqCHfi", "harbor", 1, 19, (0, 0, 1),
        "load<skill>", "mark<task_complete>", 0.833),
    Row("data/local_only/g_harbor_inspect_tb/harbor_trial_gravitational-wave-detection__t2BTNFa", "harbor", 1, 7,
        (1, 0, 0), "load<skill>", "mark<task_complete>", 1.0),
    Row("data/local_only/g_harbor_inspect_tb/tb_droid_hello-world_results.json", "terminal-bench", 1, 0, (0, 1, 0),
        None, None, None),
    Row("data/local_only/g_harbor_inspect_tb/tb_miniswe_extract-safely", "terminal-bench-trial", 1, 0, (0, 1, 0),
        None, None, None),
    Row("data/local_only/j_sharegpt/eto_alfworld_sft_first2_role_content.json", "sharegpt", 2, 13, (0, 0, 2),
        "navigate<surface>", "put<microwave>", None),
    Row("tracing/traces/mlflow_filestore", "mlflow-store", 3, 15, (1, 1, 1), None, None, 0.0),
    Row("tracing/traces/inspect_all_errored/2026-11-29T16-00-16-00-00_support_moeoLV6bsroQ4U8EHcWMQ3.eval",
        "inspect-eval", 3, 0, (0, 0, 3), None, None, None),
]  # fmt: skip
"""What it may not hold: files without a licence, and large ones."""


def check(row: Row, path: Path) -> None:
    made = canon(path)
    assert {record["source"]["format"] for record in made} == {row.format}
    assert len(made) == row.trajectories
    assert sum(len(record["actions"]) for record in made) == row.steps
    told = Counter(record.get("success") for record in made)
    assert (told[True], told[False], told[None]) == row.outcomes
    tokens = [token for record in made for token in record["actions"]]
    if row.first is not None:
        assert tokens[0] == row.first
    if row.last is not None:
        assert tokens[-1] == row.last
    assert made[-1].get("reward") == row.reward
    for record in made:
        assert len(record["actions"]) == len(record["args"]) == len(record["steps"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_real_log(row: Row) -> None:
    check(row, log(row.path))


@pytest.mark.parametrize("row", SHARED_ROWS, ids=lambda row: row.path)
def test_shared_log(row: Row, shared: Path) -> None:
    check(row, shared / row.path)


@pytest.mark.parametrize("row", [row for row in ROWS if log(row.path).is_file()], ids=lambda row: row.path)
def test_a_lying_name_changes_nothing(row: Row, tmp_path: Path) -> None:
    """The format is in the content; the file's name is never looked at."""
    liar = tmp_path / "log.csv"
    liar.write_bytes(log(row.path).read_bytes())
    source = open_input(str(liar), lambda _: None)
    with source.stream:
        if source.container == "text":
            assert open_log(source).format.name == row.format
        else:
            assert row.format == "inspect-eval"


@pytest.mark.parametrize(
    "path",
    [
        "e_tau/tau2_airline_grok-3_zero_sims.json",
        "f_cli_sessions/agentsessions_codex_050_legacy.jsonl",
        "g_harbor_inspect_tb/inspect_log_valid.txt",
        "g_harbor_inspect_tb/inspect_log_with_nan.txt",
        "h_otel_langfuse/otlp_opentelemetry-proto_example_trace.json",
    ],
)
def test_logs_without_an_episode(path: str) -> None:
    """An aborted run, a session without an action, a header without samples, a trace of something else."""
    assert canon(log(path)) == []


def test_every_copied_log_is_in_the_table() -> None:
    listed = {row.path for row in ROWS}
    for path in LOGS.rglob("*"):
        name = str(path.relative_to(LOGS)).removesuffix(".gz")
        if path.is_file() and not name.startswith(("traces/", "wild_")) and "/subagent/" not in name:
            known = name in listed or any(word in name for word in ("zero_sims", "legacy", "log_valid", "with_nan",
                                                                    "proto_example", "exit_statuses", "Answer.json",
                                                                    "edge_cases"))  # fmt: skip
            assert known, f"{name} is in no test"
