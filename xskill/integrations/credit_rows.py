"""Credited trajectories as rows for verl: turn advantages broadcast over the sampled tokens.

The keys of verl's batch (``advantages``, ``response_mask``, ``old_log_probs``, ``uid``; ``traj_uid`` as in verl-agent),
over the sampled tokens alone: put them where the response mask of your rows is 1. verl is not imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xskill.records import Step, Trajectory, turns

VERL_COLUMNS: dict[str, type | list[type]] = {
    "uid": str,
    "traj_uid": str,
    "data_source": str,
    "reward": float,
    "advantages": [float],
    "returns": [float],
    "response_mask": [int],
    "turn_ids": [int],
    "rollout_is_weights": [float],
    "old_log_probs": [float],
}
"""Columns of :func:`verl_row` in Parquet; a list type is a list of that type."""


def verl_row(
    record: Trajectory, credits: Sequence[float | None], weights: Sequence[float] | None, reward: float | None
) -> dict[str, Any]:
    """One trajectory as a row for verl.

    Args:
        record: the trajectory, with its steps.
        credits: one a turn; null trains nothing (advantage 0, mask 0).
        weights: one a turn, for ``rollout_is_weights``, which verl multiplies into the loss; None leaves it out.
        reward: the reward that was credited; None = unfinished.
    """
    firsts = first_steps(record)
    counts = [sampled_tokens(step) for step in firsts]
    spread = [0.0 if credit is None else credit for credit in credits]
    advantages = _broadcast(spread, counts)
    row: dict[str, Any] = {
        "uid": record.question_id,
        "traj_uid": record.id,
        "data_source": record.env,
        "reward": reward,
        "advantages": advantages,
        "returns": advantages,
        "response_mask": _broadcast([int(credit is not None) for credit in credits], counts),
        "turn_ids": _broadcast(list(range(len(counts))), counts),
    }
    if weights is not None:
        row["rollout_is_weights"] = _broadcast(list(weights), counts)
    logprobs = [sampled_logprobs(step) for step in firsts]
    if logprobs and all(values is not None for values in logprobs):
        row["old_log_probs"] = [value for values in logprobs for value in values or ()]
    return row


def first_steps(record: Trajectory) -> list[Step]:
    """The first step of each turn, which carries the turn's log-probabilities."""
    steps = record.steps or []
    index = turns(steps)
    return [step for i, step in enumerate(steps) if i == 0 or index[i] != index[i - 1]]


def sampled_tokens(step: Step) -> int:
    """Number of sampled tokens of a turn, the masked ones left out."""
    if not isinstance(step.logprob, list):
        return step.n_tokens or 1
    mask = step.extra.get("mask")
    return sum(map(bool, mask)) if mask is not None else len(step.logprob)


def sampled_logprobs(step: Step) -> list[float] | None:
    """Log-probabilities of the sampled tokens; None when only their sum is known."""
    if not isinstance(step.logprob, list):
        return [step.logprob] if step.logprob is not None and (step.n_tokens or 1) == 1 else None
    mask = step.extra.get("mask") or [True] * len(step.logprob)
    return [value for value, kept in zip(step.logprob, mask, strict=True) if kept]


def _broadcast(values: list[Any], counts: list[int]) -> list[Any]:
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
