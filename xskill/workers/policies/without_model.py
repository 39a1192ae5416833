"""Policies without a model: a uniform one, and an expert with noise. Their likelihoods are exact."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from xskill.sampling.protocol import Child
from xskill.workers.session import State


class RandomPolicy:
    """Any of the actions that can be taken, with equal probability."""

    def propose(self, state: State, k: int, rng: np.random.Generator) -> list[Child]:
        actions = state.environment.actions() or []
        return draw(actions, np.full(len(actions), 1.0 / max(1, len(actions))), k, rng)


class ExpertNoise:
    """The expert's action with probability 1 - ``rate``, else any other one, with equal probability.

    Without an expert's action it is :class:`RandomPolicy`.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate

    def propose(self, state: State, k: int, rng: np.random.Generator) -> list[Child]:
        expert = state.environment.expert()
        if expert is None:
            return RandomPolicy().propose(state, k, rng)
        if k == 1 and rng.random() >= self._rate:  # listing the others may cost more than all else
            return [Child(action=expert, logprob=math.log1p(-self._rate))]
        others = [action for action in state.environment.actions() or [] if action != expert]
        if not others:
            return [Child(action=expert, logprob=0.0)]
        each = self._rate / len(others)
        if k == 1:
            return [Child(action=others[int(rng.integers(len(others)))], logprob=math.log(each))]
        return draw([expert, *others], np.array([1 - self._rate] + [each] * len(others)), k, rng)


def draw(actions: list[str], probabilities: NDArray[np.float64], k: int, rng: np.random.Generator) -> list[Child]:
    """At most ``k`` different actions in the order of a draw without replacement (Gumbel top-k)."""
    possible = np.flatnonzero(probabilities > 0)
    if not len(possible):
        return []
    logs = np.log(probabilities[possible])
    order = np.argsort(-(logs + rng.gumbel(size=len(possible))), kind="stable")[:k]
    return [Child(action=actions[possible[i]], logprob=float(logs[i])) for i in order]
