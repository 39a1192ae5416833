"""Success comes only from a verifier's word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.canon.logs import canon, log, write_lines
from xskill.canon.outcome.expression import compile_test
from xskill.canon.outcome.joined import read_outcomes
from xskill.canon.reading.evaluations import Evaluations
from xskill.errors import BadData, UsageError

CLAIMS = {
    "c_web/onlinemind2web_005be9dd_result.json": "success",
    "d_swe/miniswe_sqlfluff-2419.traj.json": "Submitted",
    "d_swe/sweagent_ctf_katy.traj": "submitted",
    "d_swe/sweagent_marshmallow-1867_function_calling.traj": "submitted",
    "f_cli_sessions/agentsessions_codex__small.jsonl": "task_complete",
}


@pytest.mark.parametrize("path", CLAIMS)
def test_a_claim_is_kept_and_not_believed(path: str) -> None:
    record = canon(log(path))[0]
    assert record["extra"]["claim"] == CLAIMS[path]
    assert record.get("success") is None


def test_an_answer_is_a_claim() -> None:
    (record,) = canon(log("c_web/webvoyager_taskESPN--11_interact_messages.json"))
    assert record["extra"]["claim"].startswith("There are 30 NBA teams.")
    assert record.get("success") is None


def steps(**fields: Any) -> dict[str, Any]:
    return {"steps": [{"action": "look"}], **fields}


@pytest.mark.parametrize(
    ("fields", "success", "reward"),
    [
        ({"reward": 1}, True, 1.0),
        ({"reward": 0}, False, 0.0),
        ({"reward": 0.5}, None, 0.5),
        ({"reward": 1, "success": False}, False, 1.0),
        ({"score": 100}, None, 100.0),
        ({"score": 100, "reward": 0.25}, None, 0.25),
        ({}, None, None),
    ],
)
def test_rewards(tmp_path: Path, fields: dict[str, Any], success: bool | None, reward: float | None) -> None:
    (record,) = canon(write_lines(tmp_path / "s.jsonl", steps(**fields)))
    assert (record.get("success"), record.get("reward")) == (success, reward)


@pytest.mark.parametrize(
    ("expression", "fields", "expected"),
    [
        ("reward >= 0.5", {"reward": 0.5}, True),
        ("reward>=0.5", {"reward": 0.4}, False),
        ("reward >= 0.5", {}, None),
        ("score = 100 and not timeout", {"reward": 1, "score": 100, "timeout": False}, True),
        ("extra.stop == 'won' or reward > 3", {"stop": "won"}, True),
        ("(reward < 1) or (n_steps > 5)", {"reward": 2}, False),
        ("not missing", {"reward": 0.3}, None),
        ("env != 'x'", {"env": "alfworld", "reward": 0.3}, True),
    ],
)
def test_success_if(tmp_path: Path, expression: str, fields: dict[str, Any], expected: bool | None) -> None:
    (record,) = canon(write_lines(tmp_path / "s.jsonl", steps(**fields)), success_if=expression)
    assert record.get("success") is expected


@pytest.mark.parametrize("text", ["reward >=", "__import__('os')", "reward ** 2", "(reward", "a b", "reward; 1", ""])
def test_expressions_that_do_not_parse(text: str) -> None:
    with pytest.raises(UsageError):
        compile_test(text)


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_a_usage_error(text: str) -> None:
    try:
        test = compile_test(text)
    except UsageError:
        return
    assert test(lambda name: 1.0) in (True, False, None)


def test_unknown_stays_unknown() -> None:
    def value(expression: str) -> bool | None:
        return compile_test(expression)({"yes": True, "no": False}.get)

    assert value("yes and gone") is None
    assert value("no and gone") is False
    assert value("yes or gone") is True
    assert value("no or gone") is None
    assert value("not gone") is None


ROWS = [{"case": "a", "resolved": True, "score": 0.7}, {"case": "b", "resolved": False}]


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet", "by_id", "lists"])
def test_outcomes_from_a_second_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"outcomes.{kind}"
    if kind == "jsonl":
        write_lines(path, *ROWS)
    elif kind == "json":
        write_lines(path, ROWS)
    elif kind == "csv":
        path.write_text("case,resolved,score\na,True,0.7\nb,False,\n")
    elif kind == "parquet":
        pl.DataFrame(ROWS).write_parquet(path)
    elif kind == "by_id":
        write_lines(path, {"a": {"resolved": True, "score": 0.7}, "b": {"resolved": False}})
    else:
        write_lines(path, {"resolved_ids": ["a"], "unresolved_ids": ["b"]})
    key = "id" if kind in ("by_id", "lists") else "case"
    log_path = write_lines(tmp_path / "l.jsonl", steps(id="a"), steps(id="b", reward=3), steps(id="c"))
    made = canon(log_path, outcomes=read_outcomes(str(path), f"id={key}"))
    rewards = [None if kind == "lists" else 0.7, 3.0, None]
    assert [record.get("success") for record in made] == [True, False, None]
    assert [record.get("reward") for record in made] == rewards


def test_outcomes_by_a_field_of_the_metadata(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "o.jsonl", {"case_id": "ep_01", "success": True})
    made = canon(log("traces/raw_openai_chat.jsonl"), outcomes=read_outcomes(str(path)))
    assert [record.get("success") for record in made] == [True] + [None] * 7


def test_outcomes_without_any(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="no row with a key"):
        read_outcomes(str(write_lines(tmp_path / "o.jsonl", {"x": 1})))
    with pytest.raises(UsageError, match="no row has 'y'"):
        read_outcomes(str(write_lines(tmp_path / "o.jsonl", {"id": 1, "success": True})), "y")


def test_outcomes_that_contradict_each_other(tmp_path: Path) -> None:
    agreeing = write_lines(tmp_path / "o", {"id": 1, "success": True}, {"id": 1, "reward": 1, "success": True})
    assert read_outcomes(str(agreeing)).rows == {"1": (True, 1.0)}
    trials = write_lines(
        tmp_path / "t", {"task_id": 1, "reward": 0, "run": "a"}, {"task_id": 1, "reward": 1, "run": "b"}
    )
    with pytest.raises(BadData, match="task_id '1' stands in several rows with different outcomes"):
        read_outcomes(str(trials))
    assert read_outcomes(str(trials), "run").rows == {"a": (None, 0.0), "b": (None, 1.0)}


def test_only_what_judges_the_task_is_an_outcome() -> None:
    """Of the scores of a trace, those of its tone are kept and not believed."""
    verdict = Evaluations()
    for name, value in (("toxicity", 1), ("task_success", "fail"), ("task_success", 0.25), ("politeness", True)):
        verdict.feed(name, value)
    assert verdict.finish() == (False, 0.25)
    assert verdict.all == {"toxicity": 1, "task_success": "fail", "politeness": True}
    verdict = Evaluations()
    verdict.feed("task_success", "partial")
    verdict.feed("score", 0.25)
    assert verdict.finish() == (None, 0.25)


def test_an_overridden_assessment_does_not_count() -> None:
    """MLflow keeps the old feedback with valid: false beside the new one."""
    record = next(r for r in canon(log("traces/mlflow_traces_v3.jsonl")) if r["task"].startswith("Book user_3"))
    assert record.get("success") is None
    assert record["reward"] == 0.25
    assert record["extra"]["evaluations"] == {"score": 0.25, "task_success": "partial"}


def test_a_task_type_from_a_field(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", steps(domain={"kind": "heat"}), steps())
    made = canon(path, task_type="domain.kind")
    assert [record.get("task_type") for record in made] == ["heat", None]


def _raw(**fields: Any) -> dict[str, Any]:
    return {"id": "e", "steps": [{"action": "look"}], **fields}


def _own(**fields: Any) -> dict[str, Any]:
    return {"schema": "xskill.trajectory/1", "id": "e", "actions": ["look"], **fields}


@pytest.mark.parametrize("record", [_raw, _own])
@pytest.mark.parametrize(
    ("fields", "row", "options", "success", "reward"),
    [
        ({}, {"reward": 1.0}, {}, True, 1.0),
        ({}, {"reward": 0.0}, {}, False, 0.0),
        ({}, {"reward": 0.5}, {}, None, 0.5),
        ({"success": True}, {"reward": 0.0}, {}, True, 0.0),
        ({"success": True, "reward": 1.0}, {"success": False}, {}, False, 1.0),
        ({}, {"reward": 1.0}, {"success_if": "reward > 2"}, False, 1.0),
        ({}, {"reward": 1.0}, {"success_if": "extra.score > 2"}, True, 1.0),
    ],
)
def test_one_rule_decides_for_raw_logs_and_for_our_own_trajectories(
    tmp_path: Path, record: Any, fields: Any, row: Any, options: Any, success: Any, reward: Any
) -> None:
    outcomes = write_lines(tmp_path / "outcomes.jsonl", {"id": "e", **row})
    log_file = write_lines(tmp_path / "log.jsonl", record(**fields))
    (got,) = canon(log_file, outcomes=read_outcomes(str(outcomes)), **options)
    assert (got.get("success"), got.get("reward")) == (success, reward)


def test_the_reward_that_our_own_trajectory_came_with_changes_nothing(tmp_path: Path) -> None:
    """It passes as it is; the reward of a raw log is new, and decides."""
    other = read_outcomes(str(write_lines(tmp_path / "outcomes.jsonl", {"id": "of another", "reward": 1.0})))
    for options in ({}, {"outcomes": other}):
        assert canon(write_lines(tmp_path / "own.jsonl", _own(reward=1.0)), **options)[0].get("success") is None
        assert canon(write_lines(tmp_path / "raw.jsonl", _raw(reward=1.0)), **options)[0]["success"] is True
