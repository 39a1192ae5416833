"""Baselines that compare whole rollouts, or equal states: GRPO, RLOO, GSPO, Tree-GRPO, GiGPO.

Each follows its official code, singleton rules included, so that numbers compare with published runs.
A rollout without a reward stays out (no official rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

import numpy as np

from xskill.array_types import Floats, Ints64
from xskill.credit.advantage import EPSILON, group_moments
from xskill.rollouts.arrays import Rollouts, texts_of
from xskill.rollouts.prefix_tree import Trie, root_ancestor


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline gives."""

    turn: Floats
    """[T] advantage of each turn."""
    rollout: Floats | None = None
    """[n] advantage of each rollout, when its turns share it."""
    sequence_ratio: Floats | None = None
    """[n]"""


@dataclass(frozen=True, slots=True)
class Grpo:
    """Options of GRPO."""

    std: bool = True
    """Divide by the deviation (False: Dr. GRPO)."""


@dataclass(frozen=True, slots=True)
class Rloo:
    """Options of RLOO."""

    vectorized: bool = False
    """The vectorised variant, which gives a lone rollout 0 instead of its reward."""


@dataclass(frozen=True, slots=True)
class Gspo:
    """GSPO has no options."""


@dataclass(frozen=True, slots=True)
class TreeGrpo:
    """Options of Tree-GRPO."""

    estimator: Literal["tree", "tree_inner", "tree_2norm"] = "tree"
    """Question term + tree term; the tree term alone; or one normalisation after the other."""


@dataclass(frozen=True, slots=True)
class Gigpo:
    """Options of GiGPO."""

    gamma: float = 0.95
    """Discount of the rewards (the config's default is 1, the examples use 0.95)."""
    mode: Literal["mean_norm", "mean_std_norm"] = "mean_norm"
    """Subtract the mean only, or divide by the deviation too."""
    w: float = 1.0
    """Weight of the step term."""
    similarity: float = 0.0
    """Group anchors that are at least this similar (difflib ratio); 0 = equal anchors only."""


def group_normalised(x: Floats, groups: Ints64, n_groups: int, std: bool = True) -> Floats:
    """``(x - mean) / (sd + 1e-6)`` in each group, sd with n - 1; a group of one has mean 0 and sd 1."""
    mean, deviation, size = group_moments(x, groups, n_groups, ddof=1)
    mean = np.where(size == 1, 0.0, mean)
    centred = x - mean[groups]
    centred[(deviation[groups] == 0) & (size[groups] > 1)] = 0.0
    if not std:
        return centred
    return centred / (np.where(size == 1, 1.0, deviation) + EPSILON)[groups]


def grpo(rollouts: Rollouts, trie: Trie, options: Grpo) -> Baseline:
    """GRPO (arXiv 2402.03300) as in verl 0.9.1 ``compute_grpo_outcome_advantage``; a lone rollout keeps A = R."""
    return _broadcast(
        rollouts, group_normalised(rollouts.reward, rollouts.question, len(rollouts.questions), options.std)
    )


def rloo(rollouts: Rollouts, trie: Trie, options: Rloo) -> Baseline:
    """RLOO (arXiv 2402.14740) as in verl 0.9.1: R less the mean of the others; a lone rollout keeps A = R."""
    reward, question = rollouts.reward, rollouts.question
    mean, _, size = group_moments(reward, question, len(rollouts.questions))
    n = size[question]
    lone = np.zeros_like(reward) if options.vectorized else reward
    advantage = np.where(n > 1, n / np.maximum(n - 1, 1) * (reward - mean[question]), lone)
    advantage[np.isnan(reward)] = np.nan
    return _broadcast(rollouts, advantage)


def gspo(rollouts: Rollouts, trie: Trie, options: Gspo) -> Baseline:
    """GSPO (arXiv 2507.18071) as in verl 0.9.1: the advantage of GRPO.

    Its loss uses ``sequence_ratio = exp(min(10, sum(logprob_new - logprob) / sum(n_tokens)))``.
    """
    trajectory, n = rollouts.trajectory, rollouts.n
    difference = np.bincount(trajectory, rollouts.logprob_new - rollouts.logprob, n)
    with np.errstate(invalid="ignore"):
        ratio = np.exp(np.minimum(10.0, difference / np.bincount(trajectory, rollouts.n_tokens, n)))
    same = grpo(rollouts, trie, Grpo())
    return Baseline(same.turn, same.rollout, ratio)


def tree_grpo(rollouts: Rollouts, trie: Trie, options: TreeGrpo) -> Baseline:
    """Tree-GRPO (arXiv 2509.21240): GRPO over the question plus GRPO over the tree.

    A tree is an initial rollout with all that was expanded from it, along ``parent`` links.
    """
    ancestor = root_ancestor(rollouts)
    over_question = group_normalised(rollouts.reward, rollouts.question, len(rollouts.questions))
    if options.estimator == "tree_2norm":
        return _broadcast(rollouts, group_normalised(over_question, ancestor, rollouts.n))
    over_tree = group_normalised(rollouts.reward, ancestor, rollouts.n)
    return _broadcast(rollouts, over_tree if options.estimator == "tree_inner" else over_question + over_tree)


def gigpo(rollouts: Rollouts, trie: Trie, options: Gigpo) -> Baseline:
    """GiGPO (arXiv 2505.10978) as in verl-agent: A = episode term + w * step term, row by row (a row is a turn).

    The episode term normalises the rollout's reward over all rows of the question, so that a long rollout
    counts more often. The step term normalises the discounted return over the rows of the question that saw the same
    observation before they acted; a row alone gets 0. A rollout without step rewards got its reward at its last turn.
    """
    trajectory = rollouts.trajectory
    question = rollouts.question[trajectory]
    reward = rollouts.reward[trajectory]
    finished = ~np.isnan(reward)
    divides = options.mode == "mean_std_norm"
    episode = group_normalised(reward, question, len(rollouts.questions), divides)
    anchor = _anchors(rollouts, question, options.similarity)
    returns = np.where(finished, discounted_returns(rollouts, options.gamma), np.nan)
    n_anchors = int(anchor.max(initial=-1)) + 1
    mean, deviation, size = group_moments(returns, anchor, n_anchors, ddof=1)
    step = returns - mean[anchor]
    step[finished & (deviation[anchor] == 0)] = 0.0
    if divides:
        step = step / (np.where(size > 1, deviation, 1.0) + EPSILON)[anchor]
    return Baseline(episode + options.w * step)


def discounted_returns(rollouts: Rollouts, gamma: float) -> Floats:
    """[T] ``G_t = sum_k gamma^k r_{t+k}`` over the step rewards of the trajectory.

    Where none of them says anything (all null or 0), the reward of the trajectory is that of its last turn.
    """
    returns = rollouts.step_reward.copy()
    lengths, last = rollouts.lengths, rollouts.turn_start[1:] - 1
    silent = np.bincount(rollouts.trajectory, returns != 0, rollouts.n) == 0
    terminal = silent & (lengths > 0) & ~np.isnan(rollouts.reward)
    returns[last[terminal]] = rollouts.reward[terminal]
    active = np.flatnonzero(lengths > 1)
    back = 1
    while len(active):
        turn = last[active] - back
        returns[turn] += gamma * returns[turn + 1]
        back += 1
        active = active[lengths[active] > back]
    return returns


def _anchors(rollouts: Rollouts, question: Ints64, similarity: float) -> Ints64:
    """[T] group of each turn by what was observed before it: in the first turn, the initial observation."""
    last_step = np.append(rollouts.first_step[1:], len(rollouts.turn_of_step)) - 1
    before = np.concatenate([np.zeros(1, np.int64), rollouts.step_observation[last_step[:-1]]])[: rollouts.n_turns]
    first = rollouts.turn_start[:-1][rollouts.lengths > 0]
    before[first] = -1 - _initial_codes(rollouts)[rollouts.lengths > 0]
    pairs = np.stack([question, before], axis=1)
    anchor: Ints64 = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    return anchor if similarity <= 0 else _merge_similar(rollouts, question, before, anchor, similarity)


def _initial_codes(rollouts: Rollouts) -> Ints64:
    """[n] ``-1 - code``, if a step with that ``code`` observed the same text as the first observation; else a new
    code."""
    table: dict[tuple[int, str | None], int] = {}
    codes = np.empty(rollouts.n, np.int64)
    for i, (question, text) in enumerate(zip(rollouts.question.tolist(), rollouts.initial, strict=True)):
        code = rollouts.observations[question].get(text)
        codes[i] = -1 - code if code is not None else table.setdefault((question, text), len(table))
    return codes


def _merge_similar(rollouts: Rollouts, question: Ints64, before: Ints64, anchor: Ints64, similarity: float) -> Ints64:
    """Greedy, in row order: a row joins the first group whose first row is similar enough."""
    texts = dict(zip(before[before >= 0].tolist(), texts_of(rollouts.observations, before[before >= 0]), strict=True))
    first = np.flatnonzero(before < 0)
    texts.update(
        zip(before[first].tolist(), np.asarray(rollouts.initial, object)[rollouts.trajectory[first]], strict=True)
    )
    groups: dict[int, list[tuple[str, int]]] = {}
    merged: dict[int, int] = {}
    for row in np.sort(np.unique(anchor, return_index=True)[1]).tolist():
        text = texts[int(before[row])] or ""
        earlier = groups.setdefault(int(question[row]), [])
        for representative, group in earlier:
            if SequenceMatcher(None, text, representative).ratio() >= similarity:
                merged[int(anchor[row])] = group
                break
        else:
            merged[int(anchor[row])] = len(merged)
            earlier.append((text, merged[int(anchor[row])]))
    return np.asarray([merged[code] for code in anchor.tolist()], np.int64)


def _broadcast(rollouts: Rollouts, advantage: Floats) -> Baseline:
    return Baseline(np.repeat(advantage, rollouts.lengths), advantage)
