"""Is the credit estimator sane on this data? What ``rollout check`` measures, and when it warns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xskill.array_types import Floats, Ints64
from xskill.credit.advantage import SINGLE_LEAF, UNFINISHED, ZERO_VARIANCE, advantages, group_moments
from xskill.credit.backup import action_likelihood
from xskill.credit.choices import RATIOS
from xskill.credit.methods import Config, radius_from_data
from xskill.credit.targets import check_radius, log_ratio, target
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.prefix_tree import Trie, summary

COLLAPSED = 0.95
"""A likelihood weight above this leaves one action to speak for all."""


@dataclass(frozen=True, slots=True)
class SanityReport:
    """Measurements by name, and what is wrong in words."""

    numbers: dict[str, Any]
    warnings: list[str]


def check(rollouts: Rollouts, trie: Trie, config: Config) -> SanityReport:
    """Measure the data against the choices of a credit run.

    Shares are of questions or of turns, as their names say; ``None`` is what the data cannot tell.
    """
    numbers: dict[str, Any] = dict(summary(rollouts, trie))
    _, skipped = advantages(rollouts.reward, rollouts.question, len(rollouts.questions), config.std)
    numbers |= _questions(rollouts, skipped)
    numbers["shared_question_ids"] = rollouts.shared_ids
    numbers |= _branches(rollouts, trie)
    numbers |= _weights(rollouts, trie, config.tau)
    numbers |= _radius(rollouts, config)
    numbers |= _turn_index_bias(rollouts)
    return SanityReport(numbers, _warnings(numbers))


def _questions(rollouts: Rollouts, skipped: Ints64) -> dict[str, Any]:
    n = max(1, len(np.unique(rollouts.question)))

    def share(reason: int) -> float:
        return len(np.unique(rollouts.question[skipped == reason])) / n

    return {
        "share_zero_variance": share(ZERO_VARIANCE),
        "share_single_leaf": share(SINGLE_LEAF),
        "share_unfinished": float((skipped == UNFINISHED).mean()),
    }


def _branches(rollouts: Rollouts, trie: Trie) -> dict[str, Any]:
    """Turns without an alternative have no contrast; turns that one rollout walks alone only repeat its outcome."""
    actions = np.bincount(trie.group_parent, minlength=trie.n_nodes)
    node = trie.node
    if not len(node):
        return {"share_unbranched_turns": None, "share_single_rollout_turns": None}
    return {
        "share_unbranched_turns": float((actions[trie.parent[node]] <= 1).mean()),
        "share_single_rollout_turns": float((trie.shared[node] == 1).mean()),
    }


def _weights(rollouts: Rollouts, trie: Trie, tau: float) -> dict[str, Any]:
    """Effective sample size ``1 / sum w^2`` of the likelihood weights over the actions at branch points."""
    likelihood = action_likelihood(rollouts, trie)
    missing = float(np.isnan(rollouts.logprob).mean()) if rollouts.n_turns else 1.0
    positive = rollouts.positive_logprobs / max(1, rollouts.n_turns)
    valued = ~np.isnan(likelihood)
    actions = np.bincount(trie.group_parent[valued], minlength=trie.n_nodes)
    chosen = valued & (actions[trie.group_parent] > 1)
    if not chosen.any():
        return {
            "share_turns_without_logprob": missing,
            "share_positive_logprob": positive,
            "effective_actions": None,
            "share_collapsed": None,
        }
    parent = trie.group_parent[chosen]
    logit = likelihood[chosen]
    highest = np.full(trie.n_nodes, -np.inf)
    np.maximum.at(highest, parent, logit)
    with np.errstate(over="ignore"):
        raw = np.exp((logit - highest[parent]) / tau)
    weight = raw / np.bincount(parent, raw, trie.n_nodes)[parent]
    at = np.unique(parent)
    effective = 1.0 / np.bincount(parent, weight**2, trie.n_nodes)[at]
    largest = np.zeros(trie.n_nodes)
    np.maximum.at(largest, parent, weight)
    return {
        "share_turns_without_logprob": missing,
        "share_positive_logprob": positive,
        "effective_actions": float(effective.mean()),
        "effective_share": float((effective / actions[at]).mean()),
        "share_collapsed": float((largest[at] > COLLAPSED).mean()),
    }


def _radius(rollouts: Rollouts, config: Config) -> dict[str, Any]:
    """The farthest target against how far the turns' log ratios really are."""
    rho = log_ratio(rollouts.logprob_new, rollouts.logprob, rollouts.n_tokens.astype(np.float64), config.ratio)
    moved = np.abs(rho[~np.isnan(rho)])
    radius = RATIOS[config.ratio].radius if config.radius in (None, "auto") else config.radius
    if config.radius == "auto":
        radius = radius_from_data(rho[~np.isnan(rho)], config.map)
    assert isinstance(radius, float)
    check_radius(config.map, radius)
    bound = float(np.log(target(np.ones(1), config.map, radius)[1][0]))
    numbers: dict[str, Any] = {"radius": radius, "target_log_ratio": bound}
    if not len(moved):
        return numbers | {"log_ratio_median": None, "log_ratio_p90": None, "share_past_target": None}
    return numbers | {
        "log_ratio_median": float(np.median(moved)),
        "log_ratio_p90": float(np.quantile(moved, 0.9)),
        "log_ratio_max": float(moved.max()),
        "share_past_target": float((moved > bound).mean()),
    }


def _turn_index_bias(rollouts: Rollouts) -> dict[str, Any]:
    """What a baseline of its own for each turn index would add to the credit of going on.

    At index t only rollouts that are still running are compared. When the policy decides when to stop, their mean
    reward differs from the question's: the difference, ``mean(all) - mean(still running)``, is a bonus (or a fine) for
    taking another turn that no action earned. Mean and root mean square over turns, in deviations of the reward.
    """
    reward, question = rollouts.reward, rollouts.question
    n_questions = len(rollouts.questions)
    mean, deviation, _ = group_moments(reward, question, n_questions)
    trajectory, position = rollouts.trajectory, rollouts.position
    counts = ~np.isnan(reward[trajectory]) & (deviation[question[trajectory]] > 0)
    who = trajectory[counts]
    if not len(who):
        return {"turn_index_bonus": None, "turn_index_bias": None, "length_reward_correlation": None}
    cell = question[who] * (int(rollouts.lengths.max()) + 1) + position[counts]
    _, group = np.unique(cell, return_inverse=True)
    running: Floats = np.bincount(group, reward[who]) / np.bincount(group)
    bonus = (mean[question[who]] - running[group]) / deviation[question[who]]
    return {
        "turn_index_bonus": float(bonus.mean()),
        "turn_index_bias": float(np.sqrt((bonus**2).mean())),
        "length_reward_correlation": _length_correlation(rollouts, mean, deviation),
        "rollouts_compared": int((~np.isnan(reward) & (deviation[question] > 0)).sum()),
    }


def _length_correlation(rollouts: Rollouts, mean: Floats, deviation: Floats) -> float | None:
    """Correlation of length and reward within questions."""
    question = rollouts.question
    used = ~np.isnan(rollouts.reward) & (deviation[question] > 0)
    lengths = rollouts.lengths.astype(np.float64)
    centre, spread, _ = group_moments(np.where(used, lengths, np.nan), question, len(mean))
    used &= spread[question] > 0
    if not used.any():
        return None
    q = question[used]
    z = (rollouts.reward[used] - mean[q]) / deviation[q] * (lengths[used] - centre[q]) / spread[q]
    return float(z.mean())


def _warnings(numbers: dict[str, Any]) -> list[str]:
    warnings: list[str] = []

    def warn(condition: bool, text: str) -> None:
        if condition:
            warnings.append(text)

    zero, collapsed, past = numbers["share_zero_variance"], numbers["share_collapsed"], numbers["share_past_target"]
    warn(
        zero > 0.5, f"{zero:.0%} of the questions have equal rewards: they teach nothing; sample harder or easier ones"
    )
    shared = numbers["shared_question_ids"]
    warn(
        shared > 0,
        f"{shared:,} question_ids stand for several environments or task texts: each of these is a question of its own",
    )
    warn(numbers["branch_points"] == 0, "no question branches: every turn's credit is its rollout's advantage")
    unbranched = numbers["share_unbranched_turns"]
    warn(
        bool(numbers["branch_points"]) and unbranched is not None and unbranched > 0.9,
        f"{unbranched or 0:.0%} of the turns have no alternative: listwise credit is 0 there; sample more branches",
    )
    positive = numbers["share_positive_logprob"]
    warn(positive > 0, f"{positive:.1%} of the turns have log-probabilities above 0: is their sign turned?")
    missing = numbers["share_turns_without_logprob"]
    warn(missing > 0, f"{missing:.0%} of the turns lack logprob: the back-up is the plain mean in their questions")
    warn(
        collapsed is not None and collapsed > 0.2,
        f"at {collapsed or 0:.0%} of the branch points one action has more than {COLLAPSED:.0%} of the weight: "
        "raise --tau, or check that n_tokens is set (sums instead of means collapse)",
    )
    warn(past is None, "no logprob_new: whether the radius suits the policy's moves cannot be told")
    bound, high = numbers["target_log_ratio"], numbers["log_ratio_p90"]
    warn(
        past is not None and past > 0.5,
        f"{past or 0:.0%} of the turns are already farther from 1 than the farthest target (log ratio {bound:.3g}): "
        "it is passed at once and the loss pulls back; raise --radius (auto suggests one) or use --ratio mean",
    )
    warn(
        high is not None and high < bound / 20,
        f"nine of ten turns have moved less than {high or 0:.3g}, the farthest target is at {bound:.3g}: it cannot be "
        "reached in such an update and nothing corrects itself; lower --radius (auto suggests one)",
    )
    bias, bonus, r = (numbers[name] for name in ("turn_index_bias", "turn_index_bonus", "length_reward_correlation"))
    warn(
        # With few rollouts at late turns the bias is mostly noise: only a length that goes with the reward counts.
        r is not None and bias > 0.1 and abs(r) * np.sqrt(numbers["rollouts_compared"]) > 3,
        f"reward goes with length (correlation {r or 0:+.2f}): baselines per turn index would be off by "
        f"{bias or 0:.2f} deviations, {bonus or 0:+.2f} on average for taking another turn",
    )
    return warnings


def as_text(report: SanityReport) -> str:
    """The report for people."""
    n = report.numbers

    def share(name: str) -> str:
        return "unknown" if n.get(name) is None else f"{n[name]:.1%}"

    def number(name: str) -> str:
        return "unknown" if n.get(name) is None else f"{n[name]:.3g}"

    rows = [
        ("questions", f"{n['questions']:,}, {n['trajectories']:,} rollouts, cost {n['cost']:.3g} full rollouts each"),
        ("zero variance", f"{share('share_zero_variance')} of the questions"),
        ("single leaf", f"{share('share_single_leaf')} of the questions"),
        ("unfinished", f"{share('share_unfinished')} of the rollouts"),
        ("unbranched", f"{share('share_unbranched_turns')} of the turns have no alternative"),
        ("walked alone", f"{share('share_single_rollout_turns')} of the turns only repeat one outcome"),
        ("branching", f"{n['branch_points']:,} points of choice, {n['branching']:.3g} actions each"),
        (
            "likelihood weights",
            f"{number('effective_actions')} effective actions, {share('share_collapsed')} collapsed",
        ),
        ("farthest target", f"log ratio {number('target_log_ratio')} (radius {number('radius')})"),
        (
            "log ratios",
            f"median {number('log_ratio_median')}, 90% {number('log_ratio_p90')}, "
            f"past the target {share('share_past_target')}",
        ),
        ("turn index", f"bias {number('turn_index_bias')}, bonus for another turn {number('turn_index_bonus')}"),
    ]
    lines = [f"{name:20s}{text}" for name, text in rows]
    return "\n".join(lines + [f"warning: {text}" for text in report.warnings])
