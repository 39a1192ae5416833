"""The policy: reads a state as a scene and its skills as procedures, and takes what is best."""

from __future__ import annotations

import numpy as np

from xskill.errors import CannotAnswer
from xskill.sampling.protocol import Child
from xskill.workers.follower.choice import preferences
from xskill.workers.follower.instructions import read_skill
from xskill.workers.follower.scene import Reader, TriedDeed, look
from xskill.workers.session import State


class Follower:
    """The policy of ``xskill worker follower``."""

    def __init__(self) -> None:
        self._readers: dict[str | None, Reader] = {}

    def propose(self, state: State, k: int, rng: np.random.Generator) -> list[Child]:
        """The action that it takes, then those that it would take in its stead."""
        env = state.begun.env or state.task.get("env")
        if env not in self._readers:
            self._readers[env] = Reader(env)
        read = self._readers[env].read
        can = state.environment.actions()
        if can is None:
            raise CannotAnswer("the follower has to know what can be done, and the environment does not list it")
        turns = [
            TriedDeed(read(action), answer, number in state.refused)
            for number, (action, answer) in enumerate(state.turns)
        ]
        task = state.begun.task or state.task.get("task") or ""
        scene = look(task, turns, [read(action) for action in can], first=state.begun.observation)
        procedures = [read_skill(skill) for skill in state.skills]
        chosen: dict[str, None] = {}
        for deed in preferences(scene, procedures, state.begun.task_type or state.task.get("task_type")):
            chosen.setdefault(deed.raw)
            if len(chosen) == k:
                break
        return [Child(action=raw, logprob=0.0 if k == 1 else None) for raw in chosen]
