"""Baselines where their numbers were wrong: terminal rewards, rollouts that end early, rewards that are all equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.credit.make import gather
from xskill.credit.choices import METHODS
from xskill.credit.methods import Config, run_method


def rollout(name: str, actions: list[str], reward: float, **more: Any) -> dict[str, Any]:
    steps = [{"action": action, "observation": "o"} for action in actions]
    return {"id": name, "question_id": "q", "steps": steps, "reward": reward, **more}


def credit(records: list[dict[str, Any]], method: str, **options: str) -> Any:
    return run_method(*gather(records), Config(method=method, options=options))


def in_the_field(at_last_step: bool) -> list[dict[str, Any]]:
    records = []
    for name, turns, reward in (
        ("a", [("north", "yard"), ("dig", "hole")], 1.0),
        ("b", [("south", "road"), ("dig", "mud")], 0.0),
        ("c", [("north", "yard"), ("sit", "tired")], 0.0),
    ):
        steps: list[dict[str, Any]] = [{"action": action, "observation": seen} for action, seen in turns]
        if at_last_step:
            steps[-1]["reward"] = reward
        records.append(
            {"id": name, "question_id": "q", "initial_observation": "gate", "steps": steps, "reward": reward}
        )
    return records


@pytest.mark.parametrize("at_last_step", [False, True])
@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        ("1", [4 / 3, 7 / 6, -2 / 3, -1 / 3, -2 / 3, -5 / 6]),
        ("0.5", [1, 7 / 6, -1 / 2, -1 / 3, -1 / 2, -5 / 6]),
    ],
)
def test_a_terminal_reward_is_that_of_the_last_turn(gamma: str, expected: list[float], at_last_step: bool) -> None:
    got = credit(in_the_field(at_last_step), "gigpo", gamma=gamma)
    assert got.credit == pytest.approx(expected)


def test_step_rewards_that_say_something_are_taken_as_they_are() -> None:
    records = in_the_field(at_last_step=False)
    records[0]["steps"][0]["reward"] = 0.25
    assert credit(records, "gigpo", gamma="1").credit[:2] == pytest.approx([2 / 3 + 0.25 - 0.25 / 3, 2 / 3])


def test_a_rollout_that_ends_early_is_in_the_subgroups_that_it_reached_once() -> None:
    records = [rollout("1", ["a"], 1), rollout("2", ["a", "b", "c"], 0), rollout("3", ["d", "e", "f"], 0)]
    got = credit(records, "treepo", whiten="false").advantage
    assert got == pytest.approx([(2 / 3 + 1 / 2) / 2, -(1 / 3 + 1 / 2) / 2, -1 / 3])


ALIKE = {"at2po": {"norm": "false", "adv": "diff_localglobal"}, "treepo": {"estimator": "segment"}}


@pytest.mark.parametrize("method", [one.name for one in METHODS])
@given(
    reward=st.sampled_from([0.1, 0.7, 1 / 3, 1e-9, 12345.678]),
    paths=st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), min_size=2, max_size=7),
)
def test_equal_rewards_give_exactly_nothing(method: str, reward: float, paths: list[list[str]]) -> None:
    records = [rollout(str(i), path, reward) for i, path in enumerate(paths)]
    for record in records[1:]:
        record["parent"] = {"id": "0", "turn": 0}  # one tree, for Tree-GRPO keeps the reward of a lone rollout
    for options in ({}, ALIKE.get(method, {})):
        got = credit(records, method, **options)
        if method != "gigpo":  # its returns differ with the turns that are left
            assert not np.any(got.credit), got.credit


def test_gigpo_of_equal_rollouts_is_exactly_nothing() -> None:
    assert not np.any(credit([rollout(str(i), ["a", "b"], 0.1) for i in range(3)], "gigpo").credit)


def test_listwise_credit_of_equal_branches_is_exactly_nothing() -> None:
    records = [rollout(str(i), ["a", action], 0.1) for i, action in enumerate("xyz")]
    records.append(rollout("other", ["b"], 1.0))
    got = run_method(*gather(records), Config(turn_credit="listwise"))
    assert got.credit[[1, 3, 5]].tolist() == [0, 0, 0]
