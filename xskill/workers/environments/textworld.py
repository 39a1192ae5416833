"""TextWorld (Côté et al. 2018): games from a folder, or generated from a task's seed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from xskill.sampling.protocol import Begun, Taken
from xskill.workers.extras import need
from xskill.workers.session import CannotAnswer

GENERATED = {"rooms": 3, "objects": 6, "quest_length": 4}
"""Size of a generated game, where the task record does not say."""


class TextWorldEnvironment:
    """One game at a time. A task record names a ``game`` in the folder, or a ``game_seed`` to make one from.

    The reward is the change of the score over the maximal score. The expert is the game's own walkthrough, planned
    anew from every state.

    Args:
        games: folder of compiled games (``.z8``, ``.ulx``); generated ones are made in a temporary folder.
    """

    def __init__(self, games: str | None) -> None:
        self._textworld = need("textworld", "textworld")
        self._games = Path(games) if games is not None else None
        self._generated = tempfile.TemporaryDirectory(prefix="xskill-textworld-")
        self._env: Any = None
        self._game: str | None = None
        self._state: Any = None
        self._score = 0.0

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        """Start the task's game; a game has no luck of its own, so the seed has no say."""
        game = self._file(task)
        if game != self._game:
            if self._env is not None:
                self._env.close()
            self._game = None
            infos = self._textworld.EnvInfos(
                admissible_commands=True,
                policy_commands=True,
                won=True,
                lost=True,
                score=True,
                max_score=True,
                objective=True,
            )
            self._env = self._textworld.start(game, infos)
            self._game = game
        self._state = self._env.reset()
        self._score = 0.0
        return Begun(
            observation=tidy(self._state["feedback"]),
            task=tidy(self._state["objective"] or "") or None,
            env="textworld",
        )

    def step(self, action: str) -> Taken:
        self._state, _, done = self._env.step(action)
        score = (self._state["score"] or 0) / (self._state["max_score"] or 1)
        before, self._score = self._score, score
        return Taken(
            observation=tidy(self._state["feedback"]),
            done=bool(done),
            reward=round(score - before, 6),
            value=score,
            success=bool(self._state["won"]),
        )

    def actions(self) -> list[str]:
        return sorted(self._state["admissible_commands"])

    def expert(self) -> str | None:
        plan = self._state["policy_commands"]
        return str(plan[0]) if plan else None

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
        self._generated.cleanup()

    def _file(self, task: dict[str, Any]) -> str:
        if isinstance(task.get("game"), str):
            if self._games is None:
                raise CannotAnswer("this task names a game: start the worker with --games DIR")
            return find_game(self._games, task["game"])
        seed = task.get("game_seed")
        if not isinstance(seed, int):
            raise CannotAnswer("a TextWorld task needs a game (a file) or a game_seed (a number)")
        return self._generate(seed, {name: int(task.get(name, size)) for name, size in GENERATED.items()})

    def _generate(self, seed: int, size: dict[str, int]) -> str:
        """Make the game once; the same seed and size make the same game."""
        name = hashlib.blake2b(json.dumps([seed, size]).encode(), digest_size=8).hexdigest()
        path = os.path.join(self._generated.name, f"{name}.z8")
        if not os.path.exists(path):
            options = self._textworld.GameOptions()
            options.seeds = seed
            options.nb_rooms, options.nb_objects, options.quest_length = (
                size["rooms"],
                size["objects"],
                size["quest_length"],
            )
            options.path = path
            self._textworld.make(options)
        return path


def find_game(folder: Path, name: str) -> str:
    """The file of a game that a task record names, inside ``folder`` and nowhere else."""
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or not path.is_file():
        raise CannotAnswer(f"no game {name!r} in the games folder")
    return str(path)


def tidy(text: str) -> str:
    """What the game says, without the interpreter's prompt, its status line and the banner of dollar signs."""
    text = re.sub(r"\n>[^\n]*$", "", text.rstrip())
    text = re.sub(r"[ \t]+\n", "\n", text)
    paragraphs = [part.strip("\n") for part in re.split(r"\n{2,}", text) if "$$$" not in part]
    return "\n\n".join(part for part in paragraphs if part).strip()
