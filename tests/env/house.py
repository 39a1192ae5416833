"""A toy household in ALFWorld's grammar, made from a number: it needs no simulator and answers at once.

As a command it is a worker: ``python -m tests.env.house --policy follower|expert-noise [--rate P]`` or ``--tasks``.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import msgspec
import numpy as np

from xskill.sampling.protocol import Begun, Taken
from xskill.workers.follower import Follower
from xskill.workers.policies.without_model import ExpertNoise
from xskill.workers.serve import serve

SURFACES = ["shelf 1", "shelf 2", "countertop 1", "sidetable 1"]
CONTAINERS = ["cabinet 1", "drawer 1"]
APPLIANCES = {"sinkbasin 1": "clean", "microwave 1": "heat", "fridge 1": "cool"}
PLACES = [*SURFACES, *CONTAINERS, *APPLIANCES]
THINGS = ["mug 1", "plate 1", "apple 1", "pan 1"]
KINDS = {
    "pick_and_place_simple": (None, "put a {thing} in {place}."),
    "pick_clean_then_place_in_recep": ("clean", "put a clean {thing} in {place}."),
    "pick_heat_then_place_in_recep": ("heat", "put a hot {thing} in {place}."),
    "pick_cool_then_place_in_recep": ("cool", "put a cool {thing} in {place}."),
}


class House:
    """The task's ``variation`` says where things are, what is wanted and where it shall go."""

    def __init__(self) -> None:
        self.at: str | None = None
        self.held: str | None = None

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        rng = np.random.default_rng(int(task["variation"]))
        kind = task["task_type"]
        self.needs, wording = KINDS[kind]
        where = rng.permutation([*SURFACES, *CONTAINERS])
        self.inside = {place: [] for place in PLACES}
        for thing, place in zip(THINGS, where, strict=False):
            self.inside[str(place)].append(thing)
        self.wanted = str(rng.choice(THINGS))
        full = {place.split()[0] for place, things in self.inside.items() if self.wanted in things}
        self.goal = str(rng.choice([place for place in where if place.split()[0] not in full]))
        self.opened = set()
        self.done_to = dict.fromkeys(THINGS)
        self.at = self.held = None
        text = wording.format(thing=self.wanted.split()[0], place=self.goal.split()[0])
        return Begun(observation="You are in a room.", task=text, task_type=kind, env="alfworld")

    def is_open(self) -> bool:
        return self.at not in CONTAINERS or self.at in self.opened

    def actions(self) -> list[str]:
        found = ["look"] + [f"go to {place}" for place in PLACES if place != self.at]
        if self.at is None:
            return sorted(found)
        if not self.is_open():
            found.append(f"open {self.at}")
        elif self.held is None:
            found += [f"take {thing} from {self.at}" for thing in self.inside[self.at]]
        else:
            found.append(f"put {self.held} in/on {self.at}")
        if self.held is not None and self.at in APPLIANCES:
            found.append(f"{APPLIANCES[self.at]} {self.held} with {self.at}")
        return sorted(found)

    def step(self, action: str) -> Taken:
        known = action in self.actions()
        verb, _, rest = action.partition(" ")
        if known and verb == "go":
            self.at = rest.removeprefix("to ")
        elif known and verb == "open":
            self.opened.add(self.at)
        elif known and verb == "take":
            self.held = rest.split(" from ")[0]
            self.inside[self.at].remove(self.held)
        elif known and verb == "put":
            self.inside[self.at].append(self.held)
            self.held = None
        elif known and verb in APPLIANCES.values():
            self.done_to[self.held] = verb
        there = any(self.wanted in self.inside[place] for place in PLACES if place.split()[0] == self.goal.split()[0])
        won = there and self.done_to[self.wanted] == self.needs
        seen = ", ".join(self.inside[self.at]) if self.at is not None and self.is_open() else "nothing"
        text = f"At {self.at}: {seen}. You hold {self.held}." if known else "Nothing happens."
        return Taken(observation=text, done=won, reward=float(won), success=won, error=not known)

    def expert(self) -> str | None:
        here = next((place for place in PLACES if self.wanted in self.inside[place]), None)
        appliance = next((place for place, does in APPLIANCES.items() if does == self.needs), None)
        if here is not None:
            return self._towards(here, f"take {self.wanted} from {here}")
        if self.held != self.wanted:
            return None
        if appliance is not None and self.done_to[self.wanted] != self.needs:
            return self._towards(appliance, f"{self.needs} {self.wanted} with {appliance}")
        return self._towards(self.goal, f"put {self.wanted} in/on {self.goal}")

    def _towards(self, place: str, act: str) -> str:
        if self.held not in (None, self.wanted):
            return f"put {self.held} in/on {self.at}" if self.at is not None and self.is_open() else "go to shelf 1"
        if self.at != place:
            return f"go to {place}"
        return act if self.is_open() else f"open {place}"

    def close(self) -> None:
        pass


class TellingHouse(House):
    """Lists with every answer what can be done, for a policy in another process."""

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        return msgspec.structs.replace(super().reset(task, seed), extra={"actions": self.actions()})

    def step(self, action: str) -> Taken:
        return msgspec.structs.replace(super().step(action), extra={"actions": self.actions()})


def tasks(per_type: int) -> list[dict[str, Any]]:
    """Tasks of every kind; one in four is held out as test."""
    return [
        {"id": f"{kind}-{n}", "task_type": kind, "env": "alfworld", "variation": n}
        | {"split": "test" if n % 4 == 3 else "train"}
        for kind in KINDS
        for n in range(per_type)
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--policy", default="expert-noise")
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--telling", action="store_true")
    parser.add_argument("--tasks", action="store_true")
    options = parser.parse_args()
    if options.tasks:
        print("\n".join(json.dumps(task) for task in tasks(40)))
    else:
        house = TellingHouse() if options.telling else House()
        serve(house, Follower() if options.policy == "follower" else ExpertNoise(options.rate))


if __name__ == "__main__":
    main()
