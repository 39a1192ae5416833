"""Credited trajectories as rows for verl: turn advantages broadcast over the sampled tokens.

The keys of verl's batch (``advantages``, ``response_mask``, ``old_log_probs``, ``uid``; ``traj_uid`` as in verl-agent),
over the sampled tokens alone: put them where the response mask of your rows is 1. verl is not imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xskill.errors import BadRecord
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

    Raises:
        BadRecord: tokens of a turn that do not fit their mask, or their number.
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
    """Number of sampled tokens of a turn, the masked ones left out.

    Counted from its log-probabilities, else from ``extra.token_ids``, else as ``n_tokens`` says; 1 when nothing does.

    Raises:
        BadRecord: a mask or ``n_tokens`` that does not fit the tokens.
    """
    ids = step.extra.get("token_ids")
    tokens = step.logprob if isinstance(step.logprob, list) else ids
    if not isinstance(tokens, list):
        return step.n_tokens or 1
    if isinstance(ids, list) and len(ids) != len(tokens):
        raise BadRecord(f"extra.token_ids: expected {len(tokens)} entries, one a log-probability, got {len(ids)}")
    mask = step.extra.get("mask")
    if mask is None:
        n = len(tokens)
    elif isinstance(mask, list) and len(mask) == len(tokens):
        n = sum(map(bool, mask))
    else:
        raise BadRecord(f"extra.mask: expected {len(tokens)} entries, one a token")
    if tokens is ids and step.n_tokens not in (None, n):
        raise BadRecord(f"extra.token_ids: expected {step.n_tokens} sampled tokens, as n_tokens says, got {n}")
    return n


def sampled_logprobs(step: Step) -> list[float] | None:
    """Log-probabilities of the sampled tokens; None when only their sum is known."""
    if not isinstance(step.logprob, list):
        return [step.logprob] if step.logprob is not None and sampled_tokens(step) == 1 else None
    mask = step.extra.get("mask") or [True] * len(step.logprob)
    return [value for value, kept in zip(step.logprob, mask, strict=True) if kept]


def _broadcast(values: list[Any], counts: list[int]) -> list[Any]:
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
