"""ALFWorld (Shridhar et al. 2021): household tasks as text games, from a folder of game files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from xskill.sampling.protocol import Begun, Taken
from xskill.workers.environments.alfworld_expert import HandcodedExpert
from xskill.workers.environments.alfworld_speed import remember_parses
from xskill.workers.environments.textworld import find_game, tidy
from xskill.workers.extras import need
from xskill.workers.session import CannotAnswer

ExpertKind = Literal["handcoded", "planner", "none"]
GAME = "game.tw-pddl"
_GOAL = "Your task is to:"
_SPLITS = {"train": "train", "valid_seen": "validation", "valid_unseen": "test"}


class AlfworldEnvironment:
    """One game at a time; a task record's ``game`` is the folder of a game file, relative to ``games``.

    The reward is 1 for the step that wins. Experts: ``handcoded`` looks for things as an agent would (ALFWorld's own
    rules), ``planner`` knows where everything is (a PDDL plan anew from every state, 0.1 to 0.4 s a step).
    """

    def __init__(self, games: str, expert: ExpertKind) -> None:
        self._textworld = need("textworld", "alfworld")
        self._wrappers = need("alfworld.agents.environment.alfred_tw_env", "alfworld")
        self._games = Path(games)
        self._kind = expert
        self._game: str | None = None
        self._env: Any = None
        self._state: Any = None
        self._handcoded: HandcodedExpert | None = None
        remember_parses()

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        """Start the game. The seed fixes the handcoded expert's whims; the game has none."""
        name = task.get("game")
        if not isinstance(name, str):
            raise CannotAnswer("an ALFWorld task needs a game: its folder inside --games DIR")
        game = find_game(self._games, os.path.join(name, GAME))
        if game != self._game:
            self._load(game)
        self._state = self._env.reset()
        feedback = tidy(self._state["feedback"])
        goal = feedback.split(_GOAL)[-1].strip() if _GOAL in feedback else None
        if self._kind == "handcoded":
            self._handcoded = HandcodedExpert(game, self._state, seed)
        return Begun(observation=feedback, task=goal, task_type=_task_type(game), env="alfworld")

    def _load(self, game: str) -> None:
        if self._env is not None:
            self._env.close()
        self._game = None
        infos = self._textworld.EnvInfos(
            won=True,
            admissible_commands=True,
            facts=self._kind == "handcoded",
            policy_commands=self._kind == "planner",
        )
        self._env = self._textworld.start(
            game, infos, wrappers=[self._wrappers.AlfredDemangler(shuffle=False), self._wrappers.AlfredInfos()]
        )
        self._game = game

    def step(self, action: str) -> Taken:
        self._state, _, done = self._env.step(action)
        if self._handcoded is not None:
            self._handcoded.see(self._state, action)
        feedback, won = tidy(self._state["feedback"]), bool(self._state["won"])
        return Taken(
            observation=feedback,
            done=bool(done) or won,
            reward=float(won),
            success=won,
            error=feedback.startswith("Nothing happens"),
        )

    def actions(self) -> list[str]:
        return sorted(self._state["admissible_commands"])

    def expert(self) -> str | None:
        if self._handcoded is not None:
            return self._handcoded.action
        plan = self._state["policy_commands"] if self._kind == "planner" else None
        return str(plan[0]) if plan else None

    def close(self) -> None:
        if self._env is not None:
            self._env.close()


def list_tasks(games: str) -> Iterator[dict[str, Any]]:
    """A task record for each game in the folder; the folders' names tell the split (``valid_unseen`` is test)."""
    root = Path(games)
    for file in sorted(root.rglob(GAME)):
        name = file.parent.relative_to(root).as_posix()
        record: dict[str, Any] = {"id": name, "task_type": _task_type(str(file)), "env": "alfworld"}
        split = next((_SPLITS[part] for part in file.parts if part in _SPLITS), None)
        yield record | ({"split": split} if split else {}) | {"game": name}


def _task_type(game: str) -> str | None:
    """From the record that lies beside the game."""
    try:
        task_type = json.loads(Path(game).with_name("traj_data.json").read_bytes())["task_type"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return task_type if isinstance(task_type, str) else None
