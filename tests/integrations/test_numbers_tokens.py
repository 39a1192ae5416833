"""Rows for verl have as many tokens a turn as its token ids say."""

from __future__ import annotations

from typing import Any

import pytest

from xskill.errors import BadRecord
from xskill.integrations.credit_rows import verl_row
from xskill.records import Trajectory, convert


def trajectory(*steps: dict[str, Any]) -> Trajectory:
    actions = ["go", "dig"][: len(steps)]
    return convert(
        {
            "id": "a",
            "question_id": "q",
            "actions": actions,
            "args": [[] for _ in steps],
            "steps": [{"action": action, **step} for action, step in zip(actions, steps, strict=True)],
        },
        Trajectory,
    )


def test_token_ids_are_counted_without_what_was_not_sampled() -> None:
    record = trajectory(
        {"extra": {"token_ids": [11, 12, 13], "mask": [0, 1, 1]}},
        {"extra": {"token_ids": [14, 15]}, "logprob": -1.0},
    )
    row = verl_row(record, [0.5, -0.5], [1, 0.5], 1.0)
    assert row["advantages"] == [0.5, 0.5, -0.5, -0.5]
    assert row["response_mask"] == [1] * 4
    assert row["turn_ids"] == [0, 0, 1, 1]
    assert row["rollout_is_weights"] == [1, 1, 0.5, 0.5]
    assert "old_log_probs" not in row  # one sum for two tokens


def test_n_tokens_says_the_same() -> None:
    counted = verl_row(trajectory({"n_tokens": 2}, {"n_tokens": 2}), [0.5, -0.5], None, 1.0)
    assert counted == verl_row(
        trajectory({"extra": {"token_ids": [1, 2]}, "n_tokens": 2}, {"extra": {"token_ids": [3, 4]}}),
        [0.5, -0.5],
        None,
        1.0,
    )


@pytest.mark.parametrize(
    "step",
    [
        {"extra": {"token_ids": [1, 2, 3], "mask": [1]}},
        {"extra": {"token_ids": [1, 2, 3]}, "n_tokens": 2},
        {"extra": {"token_ids": [1, 2, 3]}, "logprob": [-1.0, -1.0]},
    ],
)
def test_tokens_that_do_not_fit_are_refused(step: dict[str, Any]) -> None:
    with pytest.raises(BadRecord, match="expected"):
        verl_row(trajectory(step), [0.5], None, 1.0)
