"""Reward shaping for online RL: a bonus for the routines in a rollout, as long as successes are rare.

X-Tree, arXiv 2609.32993 (RLVR integration); the guards are ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xskill.errors import BadData, UsageError
from xskill.tree.replay import Tiler, encode, tiler
from xskill.tree.xtree import XTree, success_rate

STD_FLOOR = 1e-6

MOST = 1e6
"""Largest factor of a bonus: sums of squares over a group stay numbers."""


@dataclass(frozen=True, slots=True)
class Shaping:
    """The choices of the shaped reward ``r_i = outcome_i + min(lambda * scale * b_i / max_j b_j, cap)``."""

    strength: float = 0.75
    """lambda when nobody succeeds."""
    threshold: float = 0.4
    """Success rate of the group from which on lambda is 0."""
    scale: float = 2.0
    cap: float | None = None
    """Most that may be added; None: no bound, as published. Without it the bonus may reach ``strength * scale`` = 1.5,
    and a failure can outscore a success while the success rate is below .133."""

    def __post_init__(self) -> None:
        if not (0 <= self.strength <= MOST and 0 <= self.scale <= MOST and self.threshold > 0):
            raise UsageError(f"--strength and --scale must be in 0..{MOST:g}, and --threshold above 0")
        if self.cap is not None and not self.cap >= 0:
            raise UsageError(f"--cap {self.cap}: must be at least 0")

    def weight(self, success: float) -> float:
        """``lambda = strength * clip(1 - success / threshold, 0, 1)`` for a group with this success rate."""
        return self.strength * min(1.0, max(0.0, 1.0 - success / self.threshold))

    def added(self, weight: float, bonus: float, most: float) -> float:
        """What is added to the outcome of a rollout with this bonus, the group's largest being ``most``."""
        if most <= 0:
            return 0.0
        extra = weight * self.scale * (bonus / most)  # in this order, tiny bonuses cannot overshoot
        return extra if self.cap is None else min(extra, self.cap)


@dataclass(frozen=True, slots=True)
class Bonus:
    """A tree made ready for counting the bonus of a rollout.

    Mined from successes only, a node is worth ``1 + depth / 2``; in a tree that knows success rates it is worth
    ``success * length``, and the sum is divided by the number of actions.
    """

    tiler: Tiler
    worth: tuple[float, ...]
    """Of each node."""
    per_action: bool

    def of(self, actions: Sequence[str]) -> float:
        """b = sum of the worth of the top-level nodes of ``actions``, each node once; over all actions if so set."""
        return self.of_symbols([symbol for symbol, _ in encode(self.tiler, actions)], len(actions))

    def of_symbols(self, symbols: Sequence[int], n_actions: int) -> float:
        """The same for a tiling (symbols of :func:`xskill.tree.replay.encode`) of ``n_actions`` actions."""
        first, last = self.tiler.n_primitives, self.tiler.width - 1
        nodes = {symbol - first for symbol in symbols if first <= symbol < last}
        return self.of_worths([self.worth[node] for node in nodes], n_actions)

    def of_worths(self, worths: Sequence[float], n_actions: int) -> float:
        """The same for what the distinct nodes in such a tiling are worth."""
        total = math.fsum(worths)
        return total / n_actions if self.per_action and n_actions else total


def refuse_failures(tree: XTree, use: str) -> None:
    """A tree of failures holds lessons; nobody should be paid for failing.

    Raises:
        BadData: the tree was mined with ``--outcome failure``.
    """
    if tree.header.outcome == "failure":
        raise BadData(f"this tree was mined from failures (--outcome failure); {use} would teach to fail")


def bonus_of(tree: XTree) -> Bonus:
    """Make ``tree`` ready.

    Raises:
        BadData: a tree of failures.
    """
    refuse_failures(tree, "a reward")
    rates = [success_rate(node, tree) for node in tree.nodes]
    if all(rate is None for rate in rates):
        return Bonus(tiler(tree), tuple(1 + 0.5 * node.depth for node in tree.nodes), per_action=False)
    base = tree.header.stats.get("base_rate")
    unknown = base if isinstance(base, float) else 0.0
    worth = ((unknown if rate is None else rate) * node.length for node, rate in zip(tree.nodes, rates, strict=True))
    return Bonus(tiler(tree), tuple(worth), per_action=True)


def succeeded(outcome: float) -> bool:
    """Whether what a rollout got is a success, when nothing else says so: a reward of 1 or more."""
    return outcome >= 1


@dataclass(frozen=True, slots=True)
class ShapedGroup:
    """The rollouts of one question, shaped."""

    weight: float
    """lambda."""
    rewards: list[float]
    advantages: list[float]


def shape_group(
    outcomes: Sequence[float], bonuses: Sequence[float], shaping: Shaping, *, success: float | None = None
) -> ShapedGroup:
    """Shape the rewards of one group of rollouts.

    Args:
        outcomes: what the environment gave each rollout (0 or 1, or a graded reward). [n]
        bonuses: node bonus of each. [n]
        success: success rate of the group; default: the share of ``outcomes`` that :func:`succeeded`.

    Returns:
        lambda, the shaped rewards, and ``(r - mean) / (std + 1e-6)`` with the population standard deviation; all
        advantages are 0 when the rewards are equal. [n]
    """
    n = len(outcomes)
    if n == 0:
        return ShapedGroup(0.0, [], [])
    weight = shaping.weight(sum(map(succeeded, outcomes)) / n if success is None else success)
    most = max(bonuses)
    rewards = [outcome + shaping.added(weight, bonus, most) for outcome, bonus in zip(outcomes, bonuses, strict=True)]
    return ShapedGroup(weight, rewards, normalised(rewards))


def normalised(rewards: Sequence[float]) -> list[float]:
    """``(r - mean) / (std + 1e-6)``, population standard deviation; zeros when all are equal."""
    if all(reward == rewards[0] for reward in rewards):
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    std = math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / len(rewards))
    return [(reward - mean) / (std + STD_FLOOR) for reward in rewards]
