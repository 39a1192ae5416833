"""Reward function for TRL's GRPO and RLOO trainers: ``reward_funcs=[tree_reward]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xskill.tree.offline_instances import score


def tree_reward(
    prompts: Sequence[Any], completions: Sequence[Any], ground_truth: Sequence[Any] = (), **kwargs: Any
) -> list[float]:
    """Offline reward of each completion, for rows of ``xskill tree instances --as trl``.

    Args:
        prompts: not looked at.
        completions: generated texts, or lists of messages. [n]
        ground_truth: the column of that name: one gold a completion. [n]
        kwargs: the other columns, and what a version of the trainer adds.

    Raises:
        BadRecord: a gold that is none.
        ValueError: not one gold a completion.
    """
    return [score(gold, completion) for completion, gold in zip(completions, ground_truth, strict=True)]
