"""Credited trajectories as verifiers v1 traces: a chain of ``nodes``, credit on the sampled tokens of each turn.

In a trace ``mask`` is parallel to ``token_ids``; ``logprobs`` and ``advantages`` have one entry a token that the mask
keeps; and the token ids of a branch, end to end, are the sequence that the model saw. So they need the ids: in
``steps[].extra.token_ids`` of every turn's first step, parallel to a list ``logprob``, with ``extra.mask`` 0 on what
was not sampled (the tokens of the prompt, and of observations before the action, belong there too). Where a turn lacks
them the trace has no tokens at all, because one with holes would train on a sequence that no model saw; the recorded
log-probabilities are then in ``info.turn_logprobs``.

The credits of turns always stand in ``info.turn_rewards``, one a sampled turn. verifiers is not imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xskill.errors import BadRecord
from xskill.integrations.credit_rows import sampled_logprobs
from xskill.records import Step, Trajectory, turns


def verifiers_trace(
    record: Trajectory, credits: Sequence[float | None], weights: Sequence[float] | None, reward: float | None
) -> dict[str, Any]:
    """One trajectory as a verifiers v1 trace.

    Args:
        record: the trajectory, with its steps.
        credits: one a turn; ``advantages`` is null where the credit is.
        weights: one a turn, for ``info.turn_weights``; None leaves it out.
        reward: the reward that was credited; None = unfinished, which makes the trace neither complete nor ``ok``.

    Raises:
        BadRecord: the token ids of a turn are no list of ids, or not parallel to its mask or its log-probabilities.
    """
    members = _members(record.steps or [])
    tokens = _tokens(members)
    nodes: list[dict[str, Any]] = []

    def add(message: dict[str, Any], **more: Any) -> None:
        parent = len(nodes) - 1 if nodes else None
        nodes.append({"parent": parent, "message": message, "sampled": False, **more})

    opening = "\n\n".join(text for text in (record.task, record.initial_observation) if text)
    if opening:
        add({"role": "user", "content": opening})
    for turn, steps in enumerate(members):
        sampled: dict[str, Any] = {"sampled": True}
        if tokens is not None:
            sampled |= _credited(*tokens[turn], steps[0][1], credits[turn])
        add(_assistant(steps), **sampled)
        for index, step in steps:
            if step.observation is not None:
                add(_answer(index, step))
    info: dict[str, Any] = {"question_id": record.question_id, "turn_rewards": list(credits)}
    if weights is not None:
        info["turn_weights"] = list(weights)
    logprobs = [steps[0][1].logprob for steps in members]
    if tokens is None and any(value is not None for value in logprobs):
        info["turn_logprobs"] = logprobs
    return {
        "version": 1,
        "id": record.id,
        "task": {
            "type": record.task_type or record.env or "task",
            "data": {"id": record.question_id, "prompt": record.task},
            "key": record.question_id,
        },
        "agent": {"config": {}},
        "nodes": nodes,
        "rewards": {} if reward is None else {"reward": {"score": reward, "weight": 1.0}},
        "info": info,
        "is_completed": reward is not None,
        "ok": reward is not None,
    }


def has_tokens(trace: dict[str, Any]) -> bool:
    """Whether the sampled nodes of a trace hold tokens, and with them advantages."""
    return any("token_ids" in node for node in trace["nodes"])


def _members(steps: list[Step]) -> list[list[tuple[int, Step]]]:
    """The steps of each turn, with their indices."""
    found: list[list[tuple[int, Step]]] = []
    for index, (turn, step) in enumerate(zip(turns(steps), steps, strict=True)):
        if turn == len(found):
            found.append([])
        found[turn].append((index, step))
    return found


def _tokens(members: list[list[tuple[int, Step]]]) -> list[tuple[list[int], list[bool]]] | None:
    """Token ids of each turn, and which of them were sampled; None when a turn has none."""
    if any(steps[0][1].extra.get("token_ids") is None for steps in members):
        return None
    return [_turn_tokens(*steps[0]) for steps in members]


def _turn_tokens(index: int, step: Step) -> tuple[list[int], list[bool]]:
    ids, mask = step.extra["token_ids"], step.extra.get("mask")
    path = f"steps[{index}].extra"
    if not isinstance(ids, list) or any(type(one) is not int or one < 0 for one in ids):
        raise BadRecord("expected a list of token ids", path=f"{path}.token_ids")
    if mask is None:
        mask = [True] * len(ids)
    elif not isinstance(mask, list) or len(mask) != len(ids):
        raise BadRecord(f"expected {len(ids)} entries, one a token id", path=f"{path}.mask")
    kept = [bool(one) for one in mask]
    if isinstance(step.logprob, list):
        if len(step.logprob) != len(ids):
            reason = f"expected {len(step.logprob)} entries, one a log-probability, got {len(ids)}"
            raise BadRecord(reason, path=f"{path}.token_ids")
    elif step.n_tokens is not None and step.n_tokens != sum(kept):
        reason = f"expected {step.n_tokens} sampled tokens, as n_tokens says, got {sum(kept)}"
        raise BadRecord(reason, path=f"{path}.token_ids")
    return ids, kept


def _credited(ids: list[int], mask: list[bool], step: Step, credit: float | None) -> dict[str, Any]:
    """Tokens of a sampled node; of a sum of log-probabilities only that of one token can be placed."""
    n = sum(mask)
    logprobs = sampled_logprobs(step) or []
    if len(logprobs) != n:
        logprobs = []
    advantages = None if credit is None else [credit] * n
    return {"token_ids": ids, "mask": mask, "logprobs": logprobs, "advantages": advantages}


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
