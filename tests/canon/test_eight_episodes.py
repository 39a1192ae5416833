"""Eight episodes with known ground truth, written by the real SDKs in every format that can carry them.

33 tool calls, 37 model turns, 4 successes; two runs claim a success that they did not have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.canon.logs import canon, log
from xskill.canon.outcome.joined import read_outcomes


class Episode(NamedTuple):
    """What happened: calls as (turn, name, values in sorted-key order), whether it answered, success, score."""

    calls: list[tuple[int, str, tuple[str, ...]]]
    answered: bool
    success: bool
    score: float


EPISODES = {
    "I am user_1. Book me one seat": Episode(
        [(0, "get<user_details>", ("user_1",)), (1, "search<flights>", ("2031-05-01", "BBB", "AAA")),
         (2, "calculate", ("120.5 * 1",)), (3, "book<flight>", ("EX10", "1", "user_1"))], True, True, 1.0),
    "user_2 here. Round trip": Episode(
        [(0, "get<user_details>", ("user_2",)), (1, "search<flights>", ("2031-05-01", "BBB", "AAA")),
         (1, "search<flights>", ("2031-05-08", "AAA", "BBB")), (2, "calculate", ("2 * (120.5 + 110.0)",)),
         (3, "book<flight>", ("EX10", "2", "user_2")), (3, "book<flight>", ("EX20", "2", "user_2"))], True, True, 1.0),
    "user_1: cancel my reservation R101": Episode(
        [(0, "get<user_details>", ("user_1",)), (1, "cancel<reservation>", ("R101",)),
         (2, "cancel<reservation>", ("R100",))], True, False, 0.0),
    "Find user_3 a flight ZZZ": Episode(
        [(0, "get<user_details>", ("user_3",))] + [(n, "search<flights>", ("2031-05-01", "BBB", "ZZZ"))
                                                  for n in range(1, 6)], True, False, 0.0),
    "user_2 wants XXX to BBB": Episode(
        [(0, "get<user_details>", ("user_2",)), (1, "calculate", ("1+1",)),
         (2, "search<flights>", ("2031-05-02", "BBB", "XXX"))], False, False, 0.0),
    "user_2: cancel R200": Episode(
        [(0, "get<user_details>", ("user_2",)), (1, "cancel<reservation>", ("R200",)),
         (2, "calculate", ("75.25 * 3",))], True, True, 1.0),
    "Book user_3 the cheapest seat": Episode(
        [(0, "get<user_details>", ("user_3",)), (1, "search<flights>", ("2031-05-01", "BBB", "AAA")),
         (2, "book<flight>", ("EX11", "user_3")), (3, "book<flight>", ("EX20", "1", "user_3"))], True, False, 0.25),
    "I'm user_9, sorry: user_1.": Episode(
        [(0, "get<user_details>", ("user_9",)), (0, "get<user_details>", ("user_1",)),
         (1, "search<flights>", ("2031-05-01", "BBB", "AAA")), (2, "book<flight>", ("EX10", "2", "user_1"))],
        True, True, 1.0),
}  # fmt: skip
ERRORS = 9
"""Calls that came back as errors: one in ep_03, five in ep_04, one each in ep_05, ep_07, ep_08."""

OWN_OUTCOME = [
    "traces/atif/all_with_nulls.jsonl",
    "traces/inspect/2026-11-29T15-55-24-00-00_support_TaLcEFEeZjzcsJTSSoPeJH.json",
    "traces/inspect/2026-11-29T15-55-48-00-00_support_E6xmqR6VY9kegGVKeREiwg.eval",
    "traces/langsmith_run_trees_nested.jsonl",
    "traces/langsmith_runs_read.jsonl",
    "traces/mlflow_search_traces_df.jsonl",
    "traces/mlflow_traces_v3.jsonl",
    "traces/otel_sdk_console_openinference.jsonl",
    "traces/otlp_openinference_openai_agents_collector.jsonl",
    "traces/otlp_pydantic_ai_sdkfile.jsonl",
    "traces/otlp_pydantic_ai_v2_collector.jsonl",
    "traces/otlp_pydantic_ai_v5_collector.jsonl",
    "traces/phoenix_otlpv1_spans.json",
    "traces/phoenix_rest_spans.jsonl",
    "traces/phoenix_spans_dataframe.jsonl",
]
JOINED = [
    "traces/langsmith_runs_posted.jsonl",
    "traces/openai_agents_native_trace.jsonl",
    "traces/raw_anthropic_messages.jsonl",
    "traces/raw_openai_chat.jsonl",
    "traces/raw_openai_responses.jsonl",
]
NO_OUTCOME = ["traces/openai_finetune_chat.jsonl", "traces/trl_sft_tools.jsonl"]
TELLS_ERRORS = [path for path in OWN_OUTCOME + JOINED if "atif" not in path and "raw_openai" not in path]
UNTOLD = {
    "inspect": {"user_2 wants XXX to BBB"},  # the sample failed with an exception and was never scored
    "mlflow": {"Book user_3 the cheapest seat"},  # the valid feedback is the text "partial": neither yes nor no
}


def of(record: dict[str, Any]) -> tuple[str, Episode]:
    return next((start, e) for start, e in EPISODES.items() if record["task"].startswith(start))


def check_actions(record: dict[str, Any]) -> None:
    _, truth = of(record)
    expected = [name for _, name, _ in truth.calls] + ["respond<user>"] * truth.answered
    assert record["actions"] == expected
    assert [tuple(args) for args in record["args"]][: len(truth.calls)] == [values for _, _, values in truth.calls]
    turns = [step.get("turn") for step in record["steps"]]
    if turns[0] is None:
        turns = list(range(len(turns)))
    assert turns[: len(truth.calls)] == [turn for turn, _, _ in truth.calls]
    for step, is_last in zip(record["steps"], [False] * (len(truth.calls) - 1) + [True], strict=False):
        if not (is_last and not truth.answered):  # the last call of the run that died has no result
            assert "observation" in step


@pytest.mark.parametrize("path", OWN_OUTCOME + JOINED)
def test_equal_actions_and_outcomes(path: str) -> None:
    outcomes = read_outcomes(str(log("traces/raw_outcomes_by_case.jsonl"))) if path in JOINED else None
    made = canon(log(path), outcomes=outcomes)
    assert len(made) == 8
    untold = next((starts for word, starts in UNTOLD.items() if word in path), set())
    for record in made:
        check_actions(record)
        start, truth = of(record)
        if start in untold:
            assert record.get("success") is None
        else:
            assert record["success"] is truth.success
            assert record["reward"] == truth.score
    assert sum(step.get("kind") == "call" for record in made for step in record["steps"]) == 33
    assert sum(record.get("success") is True for record in made) == 4


@pytest.mark.parametrize("path", TELLS_ERRORS)
def test_failed_calls(path: str) -> None:
    """Formats that tell which call failed; a run that died is told by the traces alone."""
    failed = sum(step.get("error", False) for record in canon(log(path)) for step in record["steps"])
    assert failed == (ERRORS - 1 if "inspect" in path or "anthropic" in path else ERRORS)


@pytest.mark.parametrize("path", NO_OUTCOME)
def test_a_claim_is_not_believed(path: str) -> None:
    """Two runs say that they succeeded and did not; without a verifier's word all eight are unknown."""
    made = canon(log(path))
    assert len(made) == 8
    for record in made:
        check_actions(record)
        assert record.get("success") is None
        assert record.get("reward") is None


def test_rollouts_share_a_question() -> None:
    made = canon(log("traces/verifiers/results.jsonl"))
    assert len(made) == 16
    for record in made:
        check_actions(record)
        assert record["success"] is of(record)[1].success
        assert record["reward"] == of(record)[1].score
    assert len({record["question_id"] for record in made}) == 8


def test_parquet_of_rollouts() -> None:
    made = canon(log("traces/rollouts.parquet"))
    assert len(made) == 16
    for record in made:
        check_actions(record)
        assert record["reward"] == of(record)[1].score
    assert len({record["question_id"] for record in made}) == 8


def test_labels_and_preferences() -> None:
    made = canon(log("traces/trl_kto_unpaired.jsonl"))
    assert [record["success"] for record in made] == [of(record)[1].success for record in made]
    pair = canon(log("traces/trl_dpo_preference.jsonl"))
    assert [record["extra"]["preference"] for record in pair] == ["chosen", "rejected"]
    assert [record["id"] for record in pair] == ["trl_dpo_preference-1-chosen", "trl_dpo_preference-1-rejected"]
    assert all(record.get("success") is None for record in pair)


def test_streamed_answers_are_put_together() -> None:
    (record,) = canon(log("traces/raw_openai_chat_stream_chunks.jsonl"))
    check_actions(record)


def test_single_documents() -> None:
    for number in range(1, 9):
        (record,) = canon(log(f"traces/atif/ep_0{number}.trajectory.json"))
        check_actions(record)
        assert record["id"] == f"t-ep_0{number}"
    (record,) = canon(log("traces/mlflow_trace_single_pretty.json"))
    check_actions(record)


def test_a_store_keeps_its_outcomes_beside_the_traces() -> None:
    made = canon(log("traces/mlflow_filestore"))
    assert {record["extra"]["metadata"]["case_id"] for record in made} == {"ep_02", "ep_05", "ep_07"}
    for record in made:
        check_actions(record)
        assert record["reward"] == of(record)[1].score


def test_all_formats_together_in_one_run(tmp_path: Path) -> None:
    """Inputs of different formats give one stream; each is detected on its own."""
    made = canon(*(log(path) for path in NO_OUTCOME + OWN_OUTCOME[:3]))
    assert len(made) == 8 * 5
    assert len({tuple(record["actions"]) for record in made}) == 8
