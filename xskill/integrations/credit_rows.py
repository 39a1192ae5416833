"""Credited trajectories in the forms that trainers read: turn advantages broadcast over the sampled tokens.

``verl``: the keys of verl's batch (``advantages``, ``response_mask``, ``old_log_probs``, ``uid``; ``traj_uid`` as in
verl-agent), over the sampled tokens alone: put them where the response mask of your rows is 1.
``verifiers``: a v1 trace (``nodes`` with ``sampled``, ``mask``, ``logprobs``, ``advantages``), and the turn credits as
``info.turn_rewards``. Neither library is imported.
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


def verl_row(record: Trajectory, credits: Sequence[float | None], weights: Sequence[float] | None) -> dict[str, Any]:
    """One trajectory as a row for verl.

    Args:
        record: the trajectory, with its steps.
        credits: one a turn; null trains nothing (advantage 0, mask 0).
        weights: one a turn, for ``rollout_is_weights``, which verl multiplies into the loss; None leaves it out.
    """
    firsts = first_steps(record)
    counts = [sampled_tokens(step) for step in firsts]
    spread = [0.0 if credit is None else credit for credit in credits]
    advantages = _broadcast(spread, counts)
    row: dict[str, Any] = {
        "uid": record.question_id,
        "traj_uid": record.id,
        "data_source": record.env,
        "reward": record.reward,
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


def verifiers_trace(record: Trajectory, credits: Sequence[float | None]) -> dict[str, Any]:
    """One trajectory as a verifiers v1 trace; ``advantages`` is null on turns without credit."""
    nodes: list[dict[str, Any]] = []

    def add(message: dict[str, Any], **more: Any) -> None:
        parent = len(nodes) - 1 if nodes else None
        nodes.append({"parent": parent, "message": message, "sampled": False, "token_ids": [], **more})

    opening = "\n\n".join(text for text in (record.task, record.initial_observation) if text)
    if opening:
        add({"role": "user", "content": opening})
    by_turn: dict[int, list[tuple[int, Step]]] = {}
    steps = record.steps or []
    for index, (turn, step) in enumerate(zip(turns(steps), steps, strict=True)):
        by_turn.setdefault(turn, []).append((index, step))
    for turn, members in by_turn.items():
        first, credit = members[0][1], credits[turn]
        n = sampled_tokens(first)
        add(
            _assistant(members),
            sampled=True,
            mask=[True] * n,
            logprobs=sampled_logprobs(first) or [],
            advantages=None if credit is None else [credit] * n,
        )
        for index, step in members:
            if step.observation is not None:
                add(_answer(index, step))
    return {
        "version": 1,
        "id": record.id,
        "task": {"type": record.task_type or record.env or "task", "data": {"prompt": record.task}},
        "nodes": nodes,
        "rewards": {} if record.reward is None else {"reward": {"score": record.reward, "weight": 1.0}},
        "info": {"question_id": record.question_id, "turn_rewards": list(credits)},
    }


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


def _assistant(members: list[tuple[int, Step]]) -> dict[str, Any]:
    said = [step.action for _, step in members if step.kind != "call"]
    calls = [_call(index, step.action) for index, step in members if step.kind == "call"]
    message: dict[str, Any] = {"role": "assistant", "content": "\n".join(said) or None}
    if calls:
        message["tool_calls"] = calls
    if thought := members[0][1].thought:
        message["reasoning_content"] = thought
    return message


def _call(index: int, action: str) -> dict[str, str]:
    name, _, rest = action.partition("(")
    return {"id": f"call_{index}", "name": name, "arguments": rest.removesuffix(")") or "{}"}


def _answer(index: int, step: Step) -> dict[str, Any]:
    if step.kind == "call":
        return {"role": "tool", "tool_call_id": f"call_{index}", "content": step.observation}
    return {"role": "user", "content": step.observation}


def _broadcast(values: list[Any], counts: list[int]) -> list[Any]:
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
