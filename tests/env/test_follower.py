"""The policy that follows skills: what it reads in them, what it does with them, and what it does without."""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.env.house import House
from tests.rollouts.commands import lines, xskill
from xskill.workers.follower import Follower
from xskill.workers.follower.instructions import read_clauses, read_skill, read_step
from xskill.workers.follower.scene import Reader, goal_text, look
from xskill.workers.session import CannotAnswer, State

HOUSE = f"{sys.executable} -m tests.env.house"

CLEAN = {
    "id": "clean",
    "tier": "task",
    "steps": [
        "Go to a surface: `go to {surface}`",
        "Take an object: `take {object} from {surface}`",
        "Go to the sinkbasin: `go to sinkbasin 2`",  # another room's number
        "Clean an object: `clean {object} with sinkbasin 2`",
        "Go to a surface: `go to {surface 2}`",
        "Put something in or on a surface: `put {object} in/on {surface 2}`",
    ],
}
COOL = {**CLEAN, "id": "cool", "steps": [
    *CLEAN["steps"][:2], "Go to the fridge: `go to {fridge}`", "Cool an object: `cool {object} with {fridge}`",
    *CLEAN["steps"][4:],
]}  # fmt: skip
TIDY = {
    "id": "tidy",
    "tier": "general",
    "steps": ["Go to the fridge: `go to {fridge}`", "Put something in the fridge: `put {object} in/on {fridge}`"],
}
PROSE = {
    "id": "prose",
    "tier": "task",
    "principle": "Always keep the order: 1) find and take the thing, 2) bring it to the nearest sink and clean it, "
    "3) walk to its destination, 4) place it there.",
}


def play(kind: str, variation: int, skills: list[dict[str, Any]], turns: int = 40) -> tuple[bool, list[str]]:
    """One episode in the toy household; a fresh policy every turn, as after a crash."""
    house = House()
    begun = house.reset({"task_type": kind, "variation": variation}, 0)
    taken: list[tuple[str, str | None]] = []
    for _ in range(turns):
        state = State({"id": "q"}, begun, taken, house, skills)
        [child] = Follower().propose(state, 1, np.random.default_rng(0))
        assert child.action in house.actions()
        assert child.logprob == 0.0
        answer = house.step(child.action)
        taken.append((child.action, answer.observation))
        if answer.done:
            return True, [action for action, _ in taken]
    return False, [action for action, _ in taken]


def wins(kind: str, skills: list[dict[str, Any]]) -> int:
    """Of eight variations."""
    return sum(play(kind, variation, skills)[0] for variation in range(8))


def test_steps_are_followed_with_their_placeholders_bound() -> None:
    won, actions = play("pick_clean_then_place_in_recep", 1, [CLEAN])
    # The surfaces in the room's order until the apple shows, the room's own sinkbasin, then where the task says.
    assert won
    acts = [action for action in actions if not action.startswith(("go to", "open", "look"))]
    assert [action.split()[0] for action in acts] == ["take", "clean", "put"]
    assert {action.split()[1] for action in acts} == {acts[0].split()[1]}
    assert "go to sinkbasin 1" in actions


def test_without_skills_it_places_what_the_task_names_and_knows_nothing_else() -> None:
    assert wins("pick_and_place_simple", []) == 8
    assert wins("pick_clean_then_place_in_recep", []) == 0


def test_good_skills_help_and_wrong_ones_do_not() -> None:
    assert wins("pick_clean_then_place_in_recep", [CLEAN]) == 8
    assert wins("pick_clean_then_place_in_recep", [COOL]) == 0
    assert wins("pick_cool_then_place_in_recep", [COOL]) == 8


def test_a_skill_learned_from_one_thing_serves_others() -> None:
    steps = [
        step.replace("`clean {object}", "`clean soapbar 1").replace("`take {object}", "`take soapbar 1")
        for step in CLEAN["steps"]
    ]
    assert "`clean soapbar 1 with sinkbasin 2`" in steps[3]
    assert wins("pick_clean_then_place_in_recep", [{**CLEAN, "steps": steps}]) == 8


def test_a_harmful_skill_is_followed_too() -> None:
    assert wins("pick_and_place_simple", [TIDY]) == 0


def test_prose_is_followed_as_far_as_it_names_actions() -> None:
    assert wins("pick_clean_then_place_in_recep", [PROSE]) == 8


def test_the_action_that_completes_a_mistake_is_taken_last() -> None:
    mistake = {"id": "m", "tier": "mistake", "steps": ["Go to the fridge: `go to {fridge}`", "Look around: `look`"]}
    shelf = {"id": "m2", "tier": "mistake", "steps": ["Go to a shelf: `go to {shelf}`"]}
    _, without = play("pick_clean_then_place_in_recep", 0, [])
    _, avoiding = play("pick_clean_then_place_in_recep", 0, [mistake, shelf])
    assert "go to shelf 1" in without[:10]
    first = next((n for n, action in enumerate(avoiding) if "shelf" in action), len(avoiding))
    others = {action for action in without if action.startswith("go to") and "shelf" not in action}
    assert others <= set(avoiding[:first])  # every other place first
    assert ("go to fridge 1", "look") not in set(pairwise(avoiding))


def test_the_worker_acts_in_anybodys_environment(tmp_path: Path) -> None:
    task = {"id": "q", "task_type": "pick_clean_then_place_in_recep", "variation": 1}
    skill = {"schema": "xskill.skill/1", "title": "Clean", "principle": "Clean it.", "task_type": task["task_type"]}
    bank = tmp_path / "bank.jsonl"
    bank.write_text(json.dumps(skill | CLEAN) + "\n")
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps(task) + "\n")
    for house in (f"worker follower --environment '{HOUSE} --telling'", None):
        worker = f"xskill {house}" if house else f"{HOUSE} --policy follower"
        done = xskill("rollout", "expand", tasks, "-N", "1", "-B", "0", "--bank", bank, "-w", worker)
        assert done.returncode == 0, done.stderr
        [row] = lines(done.stdout)
        assert row["success"] is True
        assert [step["action"] for step in row["steps"]] == play(task["task_type"], 1, [CLEAN])[1]


def test_a_silent_environment_is_a_clear_failure(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "q", "task_type": "pick_and_place_simple", "variation": 1}) + "\n")
    worker = f"xskill worker follower --environment '{HOUSE}'"
    done = xskill("rollout", "expand", tasks, "-N", "1", "-B", "0", "-w", worker)
    assert done.returncode != 0
    assert "what can be done" in done.stderr


def test_advice_without_steps_vetoes_nothing() -> None:
    advice = {"id": "m", "tier": "mistake", "principle": "Go to a shelf again and again."}
    assert play("pick_and_place_simple", 0, [advice]) == play("pick_and_place_simple", 0, [])


def test_an_environment_that_lists_nothing_is_refused() -> None:
    house = House()
    begun = house.reset({"task_type": "pick_and_place_simple", "variation": 0}, 0)
    house.actions = lambda: None  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(CannotAnswer, match="what can be done"):
        Follower().propose(State({"id": "q"}, begun, [], house), 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Open the closed drawer, then take it out.", [("open", {"closed", "drawer"}), ("take", {"out"})]),
        ("Never open the fridge; go to the heated plates", [("navigate", {"heated", "plate"})]),
        ("Avoid going anywhere.", []),
        ("Do not place it until you pick the mug", [("take", {"mug"})]),
    ],
)
def test_only_base_forms_outside_negations_tell_what_to_do(text: str, told: list[tuple[str, set[str]]]) -> None:
    steps = read_clauses(text)
    assert [(verb in step.verbs, names <= step.nouns) for step, (verb, names) in zip(steps, told, strict=True)] == [
        (True, True)
    ] * len(told)


def test_a_quoted_command_is_a_pattern_with_any_number() -> None:
    step = read_step("Heat an object: `heat {object} with microwave 1`")
    assert step is not None
    assert step.template is not None
    match = step.template.fullmatch("heat mug 2 with microwave 7")
    assert match is not None
    assert dict(zip(step.placeholders, match.groups(), strict=True)) == {"object": "mug 2"}
    twice = read_step("Move: `move {a} to {a}`")
    assert twice is not None
    assert twice.template is not None
    assert twice.template.fullmatch("move cup to cup")
    assert not twice.template.fullmatch("move cup to pan")


def test_acts_have_their_lead_in() -> None:
    routine = read_skill(CLEAN)
    assert [sorted(act.step.verbs) for act in routine.acts] == [["take"], ["clean"], ["put"]]
    assert [len(act.lead_in) for act in routine.acts] == [1, 1, 1]


def test_hostile_templates_cost_no_time() -> None:
    text = "`" + " ".join(f"{{{n}}}" for n in range(30)) + "`"
    glued = "`" + "".join(f"{{{n}}}" for n in range(4)) + "x`"
    skills = [{"id": "h", "tier": "task", "steps": [f"Put it: {text}", f"Take it: {glued}", "(((", "`", "`{}`", ""]}]
    start = time.perf_counter()
    play("pick_and_place_simple", 0, skills, turns=5)
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("task", "named", "not_named", "targets"),
    [
        ("put a clean mug in cabinet.", ["mug 1", "cabinet 3"], ["cup 1", "in", ""], ["cabinet 3"]),
        ("find two soapbar and put them in garbagecan.", ["soapbar 2", "garbagecan 1"], ["soap 1"], ["garbagecan 1"]),
        ("examine the book with the desklamp.", ["book 1", "desklamp 1"], ["desk 1"], []),
        (
            "First, focus on the thing. Then, move it to the orange box in the living room.",
            ["orange box", "living room"],
            ["orange", "living"],
            ["orange box"],
        ),
    ],
)
def test_what_a_task_names(task: str, named: list[str], not_named: list[str], targets: list[str]) -> None:
    scene = look(task, [], [])
    assert [value for value in [*named, *not_named] if scene.in_goal(value)] == named
    assert [value for value in [*named, *not_named] if scene.is_target(value)] == targets


def test_goal_text_stops_where_names_may_end() -> None:
    assert goal_text("Put two mugs in the cabinet.") == " put . mug . . cabinet . ."


def test_another_wording_of_the_same_action_is_the_same() -> None:
    read = Reader("scienceworld").read
    assert read("go to door to kitchen").key == read("go to kitchen").key
    assert read("go to kitchen").place == "kitchen"
    assert read("pick up thermometer").verbs == {"take"}


words = st.sampled_from(
    "go to take put clean heat the a mug shelf sinkbasin {object} {surface} `go to {surface}` not open 1".split(" ")
)
texts = st.lists(words, max_size=12).map(" ".join)
skills = st.lists(
    st.fixed_dictionaries(
        {"id": st.just("s"), "tier": st.sampled_from(["general", "task", "mistake"])},
        optional={"steps": st.lists(texts, max_size=5), "principle": texts},
    ),
    max_size=4,
)


@given(skills, st.integers(0, 9), st.lists(st.integers(0, 20), max_size=12), st.integers(1, 6))
def test_whatever_the_skills_say_it_proposes_what_can_be_done(
    told: list[dict[str, Any]], variation: int, walk: list[int], k: int
) -> None:
    house = House()
    begun = house.reset({"task_type": "pick_heat_then_place_in_recep", "variation": variation}, 0)
    taken: list[tuple[str, str | None]] = []
    for number in walk:
        can = house.actions()
        taken.append((can[number % len(can)], house.step(can[number % len(can)]).observation))
    state = State({"id": "q"}, begun, taken, house, told)
    children = Follower().propose(state, k, np.random.default_rng(0))
    actions = [child.action for child in children]
    assert len(set(actions)) == len(actions) == min(k, len(house.actions()))
    assert set(actions) <= set(house.actions())
    assert actions[:1] == [child.action for child in Follower().propose(state, 1, np.random.default_rng(1))]
