"""A toy environment that needs nothing: a full tree with one planted path to success; for trials, tests, the bench."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from xskill.sampling.protocol import Begun, Taken


class NullEnvironment:
    """``breadth`` actions ``take 0`` … at each of ``depth`` turns; only one path, drawn from the seed, is rewarded.

    Args:
        delay: seconds that each action takes.
        value: tell with each observation for how many turns the path was right.
    """

    def __init__(self, breadth: int, depth: int, *, delay: float = 0.0, value: bool = False) -> None:
        self._actions = [f"take {i}" for i in range(breadth)]
        self._depth = depth
        self._delay = delay
        self._value = value
        self._path: list[str] = []
        self._taken: list[str] = []

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        rng = np.random.default_rng(seed)
        self._path = [self._actions[i] for i in rng.integers(len(self._actions), size=self._depth)]
        self._taken = []
        return Begun(observation="You stand at the root.", task="Find the way.", env="null")

    def step(self, action: str) -> Taken:
        if self._delay:
            time.sleep(self._delay)
        self._taken.append(action)
        depth = len(self._taken)
        pairs = enumerate(zip(self._taken, self._path, strict=False))
        right = next((i for i, (taken, planted) in pairs if taken != planted), depth)
        done = depth == self._depth
        return Taken(
            observation=f"You are {depth} deep after {action}.",
            done=done,
            reward=float(right == self._depth),
            value=right / self._depth if self._value and not done else None,
            error=action not in self._actions,
        )

    def actions(self) -> list[str]:
        return self._actions

    def expert(self) -> str:
        return self._path[len(self._taken)]

    def close(self) -> None:
        pass
