"""ALFWorld's handcoded expert behind an adapter for both grammars of its games.

The expert of alfworld 0.4 says ``move X to Y`` and looks for the word ``put`` in what it did; older game files say
``put X in/on Y``. Where it would repeat itself, its own wrapper draws any command; here that is left to the policy.
"""

from __future__ import annotations

import random
from typing import Any

from xskill.workers.extras import need

MAX_STEPS = 200
"""After which the expert gives up."""


class HandcodedExpert:
    """Follows one episode from its start; :attr:`action` is what it would do now."""

    def __init__(self, game: str, state: Any, seed: int) -> None:
        agent = need("alfworld.agents.expert", "alfworld").HandCodedTWAgent(max_steps=MAX_STEPS)
        agent.reset(game)
        agent.observe(state["feedback"])
        self._policy = agent.policy
        self._seed = seed
        self._turn = 0
        self.action: str | None = "look" if "look" in state["admissible_commands"] else None
        """None: it is at its wits' end."""

    def see(self, state: Any, action: str) -> None:
        """Tell it what was done and what came of it."""
        commands = state["admissible_commands"]
        seen = {
            "feedback": state["feedback"],
            "facts": state["facts"],
            "admissible_commands": [_as_move(command) for command in commands],
        }
        self._turn += 1
        random.seed(f"{self._seed}/{self._turn}")  # between several things of a kind it draws from the global generator
        try:
            said = self._policy.act(seen, _as_put(action))
        except Exception:  # it gives up in many ways, a NameError among them
            said = None
        command = next((form for form in (said, _as_put(said or "")) if form in commands), None)
        self.action = command if command != action else None


def _as_move(command: str) -> str:
    if command.startswith("put ") and " in/on " in command:
        thing, place = command[4:].split(" in/on ", 1)
        return f"move {thing} to {place}"
    return command


def _as_put(command: str) -> str:
    if command.startswith("move ") and " to " in command:
        thing, place = command[5:].split(" to ", 1)
        return f"put {thing} in/on {place}"
    return command
