"""``xskill.credit`` in Python: rollouts → credited trajectories, with the options of ``xskill credit``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from xskill.bounds import bounded
from xskill.credit.methods import Config, run_method
from xskill.credit.output import credited_lines, header
from xskill.records import CreditsHeader, Trajectory, decode
from xskill.rollouts.load import load_rollouts
from xskill.streams.run import PythonRun
from xskill.streams.streams_face import counted


class Credited(NamedTuple):
    """What :func:`credit` gives; ``xskill.write([result.header, *result.trajectories], path)`` writes it."""

    header: CreditsHeader
    """Every choice made, and what was counted."""
    trajectories: list[Trajectory]
    """The rollouts in their order, with arrays aligned with ``steps``."""


@bounded(tau=(None, None), radius=(None, None), scale=(None, None))
def credit(
    trajectories: Iterable[Trajectory],
    *,
    method: str = "treeopsd",
    backup: Literal["likelihood", "mean", "leaf"] = "likelihood",
    tau: float = 1.0,
    turn_credit: Literal["pointwise", "listwise"] = "pointwise",
    map: Literal["odds", "probability", "logistic"] = "odds",
    radius: float | Literal["auto"] | None = None,
    scale: float | Literal["max"] = 1.0,
    ratio: Literal["sum", "mean"] = "sum",
    std: Literal["population", "sample"] = "population",
    shared: Literal["weight", "once"] = "weight",
    option: Mapping[str, str] | None = None,
    reward_from: Literal["reward", "success"] = "reward",
) -> Credited:
    """Credit every turn of rollout trees and set the teacher's bounded targets, or compute a baseline's advantages.

    Adds ``advantage, values, credits, targets, target_ratios, weights``, and with ``steps[].logprob_new`` also
    ``residuals`` and ``losses``; a rollout that has none of them says why in ``skipped``.

    Example::

        header, credited = credit.credit(xskill.read("rollouts.jsonl", xskill.Trajectory), method="grpo")

    Args:
        trajectories: rollouts with a ``question_id``, ``steps`` and, for branches, a ``parent``.
        method: how credit is made: treeopsd, tree-pg, or a baseline (grpo, rloo, gspo, tree-grpo, …).
        backup: weights of the children of a node.
        tau: temperature of the likelihood weights.
        turn_credit: value of the action, or less the mean of its alternatives.
        map: from credit to the teacher's probability.
        radius: how far a target may go; None is 0.2, with ``ratio="mean"`` 0.005.
        scale: credit at which a target reaches its bound; ``max``: that of the question.
        ratio: turn log ratio: sum over its tokens, or mean.
        std: deviation that advantages are divided by.
        shared: each of k copies of a turn weighs 1/k, or the first 1 and the others 0.
        option: options of a baseline by name; an unknown name lists them.
        reward_from: what counts as the reward.

    Raises:
        BadRecord: a rollout that cannot be used; with its number.
        NoRecord: there is no rollout.
        UsageError: an option that the method does not have, or a value out of range.
    """
    config = Config(
        method=method,
        backup=backup,
        tau=tau,
        turn_credit=turn_credit,
        map=map,
        radius=radius,
        scale=scale,
        ratio=ratio,
        std=std,
        shared=shared,
        options=dict(option or {}),
    )
    run = PythonRun("credit")
    rollouts, trie, originals = load_rollouts(counted(trajectories, run), run, reward_from=reward_from)
    credits = run_method(rollouts, trie, config)
    lines = credited_lines(rollouts, originals, credits)
    return Credited(
        header(config, credits, reward_from=reward_from),
        [decode(line, Trajectory) for line in lines],
    )
