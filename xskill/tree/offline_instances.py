"""Offline-RL instances: continue a successful episode from the point where a routine begins.

X-Tree, arXiv 2609.32993 (offline integration). One instance per node occurrence; its reward, from generated text, is

    r = 0.7 * m / L + 0.3 * (1 + 0.5 * depth) * [m == L]

with L the length of the node and m the number of leading actions that match.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from xskill.errors import BadRecord
from xskill.records import Gold, Instance
from xskill.records.instances import COMPLETION_SHARE
from xskill.tree.completions import parse_parts
from xskill.tree.matching import matched_steps

DEPTH_FACTOR = 0.5


def completion_bonus(depth: int) -> float:
    """``0.3 * (1 + 0.5 * depth)``: what matching the whole node of this depth adds."""
    return COMPLETION_SHARE * (1 + DEPTH_FACTOR * depth)


def reward_of(matched: int, length: int, step_share: float, completion: float) -> float:
    """``step_share * m / L + completion * [m == L]``; 0 for an empty gold."""
    if length == 0:
        return 0.0
    return step_share * matched / length + (completion if matched == length else 0.0)


def score(instance: Instance | Gold | Mapping[str, Any] | str, completion: Any) -> float:
    """Reward of a generated completion, whatever it holds: no completion is an error.

    The actions in the completion (:func:`xskill.tree.completions.parse_actions`) are canonicalised with the profile of
    the source episode and compared with the gold tokens, up to the first mismatch
    (:func:`xskill.tree.matching.matched_steps`). What comes after the last gold action is not looked at.

    Example::

        for instance in xskill.read("instances.jsonl", xskill.Instance):
            print(tree.score(instance, "go to kitchen"))

    Args:
        instance: an instance, its gold, or that as a mapping or as JSON text (a trainer's ``ground_truth``).
        completion: generated text, a chat message, or a list of messages.

    Raises:
        BadRecord: ``instance`` is none.
    """
    gold = gold_of(instance)
    parts = parse_parts(completion, blocks="command" in gold.kinds)
    return reward_of(matched_steps(gold, parts), len(gold.tokens), gold.step_share, gold.completion)


def gold_of(instance: Instance | Gold | Mapping[str, Any] | str) -> Gold:
    """The gold part of whatever a trainer hands back."""
    if isinstance(instance, Instance):
        return instance.gold
    if isinstance(instance, Gold):
        return instance
    try:
        value = msgspec.json.decode(instance) if isinstance(instance, str) else dict(instance)
        return msgspec.convert(value.get("gold", value), Gold)
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise BadRecord(f"no gold of an instance: {error}") from None
