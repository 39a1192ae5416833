"""ScienceWorld (Wang et al. 2022): a text simulator of elementary-school science, in a Java process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from xskill.errors import CannotAnswer
from xskill.sampling.protocol import Begun, Taken
from xskill.workers.extras import need

RewardFrom = Literal["score", "success"]

_UNKNOWN = "No known action matches that input"


class ScienceWorldEnvironment:
    """One task variation at a time; a task record says ``task_type`` (or ``task_name``) and ``variation``.

    Talks to the simulator's server directly: the package's ``step`` also lists all valid actions, the inventory and the
    room for every step, which takes 80 to 90% of its time. The simulator is not quite deterministic: it may list the
    things of a room in another order, and in a few states another process lists other valid actions.

    Args:
        simplification: comma-separated names, ``easy`` for all.
        reward: ``score``: the change of the task score, 0 to 1, where a fatal mistake takes all back;
            ``success``: 1 for the full score, else 0.
        gold: have the simulator plan the expert's path (slow for a few task types).
    """

    def __init__(self, simplification: str, reward: RewardFrom, *, gold: bool) -> None:
        scienceworld = need("scienceworld", "scienceworld")
        self._env = scienceworld.ScienceWorldEnv("", envStepLimit=10**9)
        self._server = self._env.server
        self._simplification = simplification
        self._reward = reward
        self._gold = gold
        self._loaded: tuple[str, int] | None = None
        self._path: list[str] = []
        self._followed = 0
        self._progress = 0.0

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        """Load the variation, or rewind it; the simulator draws nothing else, so the seed has no say."""
        wanted = _name_and_variation(task)
        if wanted != self._loaded:
            self._load(*wanted)  # a fresh load stands at the beginning
        else:
            self._server.reset()
        self._followed, self._progress = 0, 0.0
        observation = str(self._server.step("look around"))
        reward = self._advance(self._score())
        return Begun(
            observation=observation,
            reward=reward or None,
            task=str(self._server.getTaskDescription()).removeprefix("Task Description:").strip(),
            task_type=wanted[0],
            env="scienceworld",
            extra={"variation": wanted[1]},
        )

    def _load(self, name: str, variation: int) -> None:
        self._loaded = None
        names = list(self._env.get_task_names())
        if name not in names:
            raise CannotAnswer(f"no ScienceWorld task {name!r}: one of {', '.join(sorted(names))}")
        count = int(self._env.get_max_variations(name))
        if not 0 <= variation < count:
            raise CannotAnswer(f"{name} has variations 0 to {count - 1}, not {variation}")
        self._env.load(name, variation, self._simplification, generateGoldPath=self._gold)
        self._path = [str(action) for action in self._env.get_gold_action_sequence()] if self._gold else []
        self._loaded = (name, variation)

    def step(self, action: str) -> Taken:
        observation = str(self._server.step(action))
        if self._followed < len(self._path) and action == self._path[self._followed]:
            self._followed += 1
        score = self._score()
        return Taken(
            observation=observation,
            done=bool(self._server.getCompleted()) or score < 0,
            reward=self._advance(score),
            value=self._progress,
            success=score == 100,
            error=observation.startswith(_UNKNOWN),
        )

    def actions(self) -> list[str]:
        """All valid combinations, which takes the simulator 40 to 120 ms."""
        valid = json.loads(str(self._server.getValidActionObjectCombinationsJSON()))["validActions"]
        return sorted({entry["action"] for entry in valid})

    def expert(self) -> str | None:
        """The next action of the gold path that was not yet taken, in order."""
        return self._path[self._followed] if self._followed < len(self._path) else None

    def close(self) -> None:
        self._env.close()

    def _score(self) -> int:
        return round(100 * float(self._server.getScore()))

    def _advance(self, score: int) -> float:
        """The reward of reaching this score."""
        progress = max(0, score) / 100 if self._reward == "score" else float(score == 100)
        before, self._progress = self._progress, progress
        return round(progress - before, 2)


def list_tasks() -> Iterator[dict[str, Any]]:
    """A task record for each variation of each task type, with the split that its authors give it."""
    env = need("scienceworld", "scienceworld").ScienceWorldEnv("", envStepLimit=10**9)
    for name in sorted(env.get_task_names()):
        env.load(name, 0, "easy")
        for split, variations in (
            ("train", env.get_variations_train()),
            ("validation", env.get_variations_dev()),
            ("test", env.get_variations_test()),
        ):
            for variation in variations:
                yield {
                    "id": f"{name}-{variation}",
                    "task_type": name,
                    "env": "scienceworld",
                    "split": split,
                    "variation": int(variation),
                }
    env.close()


def _name_and_variation(task: dict[str, Any]) -> tuple[str, int]:
    name, variation = task.get("task_name", task.get("task_type")), task.get("variation")
    if not isinstance(name, str) or not isinstance(variation, int):
        raise CannotAnswer("a ScienceWorld task needs a task_type (or task_name) and a variation, a number")
    return name, variation
