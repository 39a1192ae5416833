"""Offline-RL instances: continue a successful episode from the point where a routine begins.

X-Tree, arXiv 2609.32993 (offline integration). One instance per node occurrence; its reward, from generated text, is

    r = 0.7 * m / L + 0.3 * (1 + 0.5 * depth) * [m == L]

with L the length of the node and m the number of leading actions that match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from xskill.canon.canonicalize import Canonicalizer
from xskill.canon.parse_call import split_json_call
from xskill.canon.profile import load_profile
from xskill.errors import BadRecord
from xskill.records import Gold, Instance, Kind
from xskill.records.instances import COMPLETION_SHARE, STEP_SHARE
from xskill.tree.completions import parse_actions

DEPTH_FACTOR = 0.5


def offline_reward(matched: int, length: int, depth: int) -> float:
    """``0.7 * m / L + 0.3 * (1 + 0.5 * depth) * [m == L]``."""
    return reward_of(matched, length, STEP_SHARE, completion_bonus(depth))


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

    The actions in the completion (:func:`parse_actions`) are canonicalised with the profile of the source episode and
    compared with the gold tokens, up to the first mismatch. What comes after the last gold action is not looked at.

    Args:
        instance: an instance, its gold, or that as a mapping or as JSON text (a trainer's ``ground_truth``).
        completion: generated text, a chat message, or a list of messages.

    Raises:
        BadRecord: ``instance`` is none.
    """
    gold = gold_of(instance)
    actions = parse_actions(completion, blocks="command" in gold.kinds)
    return reward_of(matched_steps(gold, actions), len(gold.tokens), gold.step_share, gold.completion)


def gold_of(instance: Instance | Gold | Mapping[str, Any] | str) -> Gold:
    """The gold part of whatever a trainer hands back."""
    if isinstance(instance, Instance):
        return instance.gold
    if isinstance(instance, Gold):
        return instance
    try:
        value = msgspec.json.decode(instance) if isinstance(instance, str) else dict(instance)
        return msgspec.convert(value.get("gold", value), Gold)
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError) as error:
        raise BadRecord(f"no gold of an instance: {error}") from None


def matched_steps(gold: Gold, actions: Sequence[str]) -> int:
    """Number of leading actions that match."""
    matched = 0
    for raw, action, token, kind in zip(actions, gold.actions, gold.tokens, gold.kinds, strict=False):
        if _plain(raw) != _plain(action) and _token(raw, kind, gold) != token:
            break
        matched += 1
    return matched


def _token(raw: str, kind: Kind, gold: Gold) -> str | None:
    if gold.profile is None:
        return None
    if kind == "respond" and split_json_call(raw) is not None:
        return None  # a call is no message to the user
    return canonicalizer(gold.profile).action(raw, kind=kind, goal_options=gold.options or None)[0]


@lru_cache(maxsize=16)
def canonicalizer(profile: str) -> Canonicalizer:
    """The canonicalizer of a profile, kept for the life of the process."""
    return Canonicalizer(load_profile(profile))


def _plain(raw: str) -> str:
    return " ".join(raw.split()).lower()
