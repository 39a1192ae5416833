"""Rewards for verifiers: a plugged reward for its tasks (0.2 and later), a rubric function before that.

Plugged into any taskset whose task data carry the field ``ground_truth``::

    --env.taskset.task.rewards.tree.fn xskill.integrations.verifiers:tree_reward
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xskill.tree.offline_instances import score


async def tree_reward(task: Any, trace: Any) -> float:
    """Offline reward of the last assistant message of a trace.

    Args:
        task: task data with the field ``ground_truth``, the gold of an instance.
        trace: the finished trace.

    Raises:
        BadRecord: ``ground_truth`` is no gold of an instance.
    """
    messages = trace.assistant_messages
    return score(task.ground_truth, messages[-1].model_dump(mode="json") if messages else "")


def tree_rubric(completion: Any, answer: Any = "", info: Mapping[str, Any] | None = None, **kwargs: Any) -> float:
    """Offline reward of a completion: ``vf.Rubric(funcs=[tree_rubric])``.

    Args:
        completion: generated text, or the list of messages.
        answer: the gold, when ``info`` holds none: the dataset's ``answer`` column.
        info: the dataset's ``info`` column; its ``ground_truth`` is the gold.

    Raises:
        BadRecord: no gold of an instance in either.
    """
    return score((info or {}).get("ground_truth") or answer, completion)
