"""Which of several deeds the follower takes in a room of ScienceWorld, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xskill.workers.follower.choice import preferences
from xskill.workers.follower.instructions import read_skill
from xskill.workers.follower.scene import Reader, TriedDeed, look

FOCUS: dict[str, Any] = {
    "id": "focus",
    "tier": "task",
    "task_type": "find-plant",
    "steps": [
        "Look around: `look around`",
        "Focus on a plant: `focus on {plant}`",
        "Take a container: `pick up {container}`",
    ],
    "extra": {"values": {"plant": ["adult pea plant", "adult cherry tree"], "container": ["flower pot"]}},
}
ANIMAL: dict[str, Any] = {
    "id": "animal",
    "tier": "task",
    "task_type": "find-animal",
    "steps": ["Focus on an animal: `focus on {animal}`", "Take an animal: `pick up {animal}`"],
}
POINT: dict[str, Any] = {**ANIMAL, "id": "point", "steps": ANIMAL["steps"][:1]}
TASK = "Find a plant. First, focus on the thing. Then, move it to the red box in the kitchen."
SEEN = """This room is called the greenhouse. In it, you see:
\ta bee hive
\ta flower pot 1 (containing a substance called water)
\ta flower pot 7 (containing a apple tree in the adult stage, soil)
\ta dove"""
HERE = ["focus on adult apple tree", "focus on apple pollen", "focus on dove", "go to kitchen", "look around"]
POTS = ["pick up bee hive", "pick up flower pot 1", "pick up flower pot 7", "pick up dove"]


def first(
    now: list[str], turns: Sequence[tuple[str, str | None, bool]], *skills: dict[str, Any], kind: str = "find-plant"
) -> str:
    """What a follower does first in a room of ScienceWorld."""
    read = Reader("scienceworld").read
    scene = look(
        TASK, [TriedDeed(read(action), answer, refused) for action, answer, refused in turns], list(map(read, now))
    )
    return next(preferences(scene, [read_skill(skill) for skill in skills], kind)).raw


LOOKED = ("look around", SEEN, False)
FOCUSED = ("focus on adult apple tree", "You focus on it.", False)


def test_a_skill_that_looks_before_it_acts_is_obeyed_once() -> None:
    assert first(HERE, [("go to greenhouse", "You move.", False)], FOCUS) == "look around"
    assert first(HERE, [("go to greenhouse", "You move.", False), LOOKED], FOCUS) == "focus on adult apple tree"
    assert first(["go to kitchen", "look around"], [("go to greenhouse", "", False)], FOCUS) == "go to kitchen"


def test_of_several_things_the_one_that_is_like_those_the_skill_was_learned_from() -> None:
    other = {**FOCUS, "extra": {"values": {"plant": ["pea pollen"]}}}
    assert first(HERE, [LOOKED], FOCUS) == "focus on adult apple tree"
    assert first(HERE, [LOOKED], other) == "focus on apple pollen"
    extra: Any
    for extra in (None, {"values": None}, {"values": {"plant": "pea"}}, {"values": {"plant": []}}):
        assert first(HERE, [LOOKED], {**FOCUS, "extra": extra}) in HERE


def test_what_is_seen_on_one_line_belongs_together() -> None:
    assert first([*POTS, "go to kitchen"], [LOOKED, FOCUSED], FOCUS) == "pick up flower pot 7"
    elsewhere = SEEN.replace("flower pot 7", "flower pot 9").replace("flower pot 1", "flower pot 7")
    now = [*POTS[:1], "pick up flower pot 7", "pick up flower pot 9"]
    assert first(now, [("look around", elsewhere, False), FOCUSED], FOCUS) == "pick up flower pot 9"


def test_what_the_environment_refuses_was_not_done_and_is_not_tried_again_at_once() -> None:
    now = ["focus on bee 0", "focus on dove", "go to kitchen"]
    assert first(now, [], POINT, kind="find-animal") == "focus on bee 0"
    refused = [("focus on bee 0", "No known action matches that input.", True)]
    assert first(now, refused, POINT, kind="find-animal") == "focus on dove"
    changed = [*refused, ("open bee hive", "It is open.", False)]
    assert first(now, changed, POINT, kind="find-animal") == "focus on bee 0"  # it may be in reach now
    assert first(now, [*changed, *refused, changed[-1]], POINT, kind="find-animal") == "focus on dove"
    assert first(["focus on bee 0"], refused, POINT, kind="find-animal") == "focus on bee 0"  # nothing else can be done


def test_skills_of_another_type_are_followed_only_where_the_own_type_says_nothing() -> None:
    now = ["focus on dove", "go to kitchen"]
    assert first(now, [], FOCUS, POINT) == "go to kitchen"
    assert first(now, [], POINT) == "focus on dove"
    assert first(now, [], {**FOCUS, "steps": ["Go to the hallway: `go to hallway`"]}, POINT) == "focus on dove"


def test_what_cannot_be_carried_is_not_what_a_skill_goes_on_to_carry() -> None:
    now = ["focus on bee 1", "focus on dove", "pick up dove", "go to kitchen"]
    assert first(now, [], ANIMAL, kind="find-animal") == "focus on dove"


def test_the_place_that_the_task_names_is_not_the_thing() -> None:
    now = ["focus on kitchen", "go to outside"]
    assert first(now, [], POINT, kind="find-animal") == "go to outside"


def test_it_is_what_something_was_done_with() -> None:
    focused = ("focus on dove", "You focus on the dove.", False)
    assert (
        first(["go to kitchen", "pick up bee hive", "pick up dove"], [focused], POINT, kind="find-animal")
        == "pick up dove"
    )
    taken = ("pick up dove", "", False)
    now = ["go to outside", "move bee to red box", "move dove to bee hive", "move dove to red box"]
    assert (
        first(now, [focused, taken, ("go to kitchen", "", False)], POINT, kind="find-animal") == "move dove to red box"
    )
