"""Rewards for verl: the signatures that ``custom_reward_function`` calls.

In the trainer's configuration::

    custom_reward_function.path=pkg://xskill.integrations.verl
    custom_reward_function.name=compute_score
"""

from __future__ import annotations

from typing import Any

from xskill.tree.offline_instances import score


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: dict[str, Any] | None = None,
    **kwargs: Any,
) -> float:
    """Offline reward of a completion, for rows of ``xskill tree instances --as verl``.

    Args:
        data_source: not looked at.
        solution_str: the generated text.
        ground_truth: the gold, as the row holds it.

    Raises:
        BadRecord: ``ground_truth`` is no gold of an instance.
    """
    return score(ground_truth, solution_str)
