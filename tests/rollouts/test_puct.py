"""The search against a plain reference, worked numbers, and a planted path."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rollouts.plain_puct import Plain
from tests.rollouts.worlds import Path, Table, of_kind, pump, question
from xskill.records import Trajectory
from xskill.sampling.protocol import Begun, Child, Finish, Propose, Take
from xskill.sampling.puct import Search, priors, score, search
from xskill.workers.environments.null import NullEnvironment
from xskill.workers.policies.without_model import RandomPolicy
from xskill.workers.session import Session


def test_the_worked_numbers(vectors: File) -> None:
    for case in json.loads((vectors / "puct.json").read_text()):
        found = score(case["Q"], case["P"], case["N_parent"], case["N"], case["c"])
        assert found == pytest.approx(case["puct"], abs=1e-8)


def test_priors() -> None:
    logs = [Child(action="a", logprob=-2.0, n_tokens=2), Child(action="b", logprob=[-0.5, -1.5])]
    assert priors(logs, "auto") == [0.5, 0.5]  # means -1 and -1, whatever the lengths
    told = [Child(action="a", logprob=-1.0, prior=0.6), Child(action="b", logprob=-1.0, prior=0.2)]
    assert priors(told, "auto") == pytest.approx([0.75, 0.25])
    assert priors(told, "logprob") == [0.5, 0.5]
    assert priors(told, "uniform") == [0.5, 0.5]
    half = [Child(action="a", logprob=-1.0), Child(action="b"), Child(action="c")]
    assert priors(half, "logprob") == pytest.approx([1 / 3] * 3)
    far = [Child(action="a", logprob=0.0), Child(action="b", logprob=-1e6)]
    assert priors(far, "logprob") == [1.0, 0.0]
    assert priors([], "auto") == []


def nodes(found: list[Trajectory]) -> dict[Path, tuple[int, float]]:
    """Path → (N, Q) as the steps of the output tell it."""
    told: dict[Path, tuple[int, float]] = {}
    for trajectory in found:
        path: Path = ()
        for step in trajectory.steps or []:
            path = (*path, step.action)
            if step.visits is None:
                break
            assert told.setdefault(path, (step.visits, step.q or 0.0)) == (step.visits, step.q)
    return told


def test_by_hand() -> None:
    """Two actions: x (P .5) ends with 0, y (P .5) leads on with value .8 to z, which ends with 1.

    c = 1. Walk 1: tie, equal P, lower index: x, backs up 0. Walk 2: U(x) = .5*1/2 = .25, U(y) = .5: y, backs up .8.
    Walk 3: N = 2: x = .5*sqrt(2)/2 = .354, y = .8 + .354: y, then its only child z (P 1): backs up 1.
    Walk 4: N = 3: x = .433, y = .9 + .5*sqrt(3)/3: y, z again: 1. Nothing is left to complete.
    """
    table = Table(
        proposals={(): [Child(action="x"), Child(action="y")], ("y",): [Child(action="z")]},
        ends={("x",): 0.0, ("y", "z"): 1.0},
        values={("y",): 0.8},
    )
    found = pump(search(question(), Search(iterations=4, c=1.0)), table)
    assert nodes(found) == {
        ("x",): (1, 0.0),
        ("y",): (3, pytest.approx(2.8 / 3)),
        ("y", "z"): (2, 1.0),
    }
    assert [(t.id, t.actions, t.reward, t.success) for t in found] == [
        ("q/0", ["x"], 0.0, False),
        ("q/1", ["y", "z"], 1.0, True),
    ]
    assert found[1].parent is not None
    assert (found[1].parent.id, found[1].parent.turn) == ("q/0", 0)
    assert found[0].steps is not None
    assert found[0].steps[0].prior == 0.5
    assert not of_kind(table.asked, Finish)
    assert [request.action for request in of_kind(table.asked, Take)] == ["x", "y", "z"]
    assert found[0].extra["rollout"] == {"sampler": "test", "leaves": 2}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Small random trees with equal names, equal priors, missing priors, ends without a reward, dead ends."""
    source = draw(st.sampled_from(["logprob", "prior", "none", "mixed"]))
    table = Table(proposals={})
    numbers = st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0])
    todo: deque[Path] = deque([()])
    while todo:
        path = todo.popleft()
        children = []
        for _ in range(draw(st.integers(0 if path else 1, 4))):
            has = {"logprob": "l", "prior": "p", "none": "", "mixed": draw(st.sampled_from(["l", "p", "lp", ""]))}[
                source
            ]
            children.append(
                Child(
                    action=draw(st.sampled_from("abcd")),
                    logprob=draw(st.sampled_from([-0.5, -1.0, -3.0])) if "l" in has else None,
                    n_tokens=draw(st.sampled_from([None, 1, 2])),
                    prior=draw(st.sampled_from([0.0, 0.2, 0.5])) if "p" in has else None,
                )
            )
        table.proposals[path] = children
        for name in {child.action for child in children}:
            child_path = (*path, name)
            kind = draw(st.sampled_from(["end", "on", "on"]))
            if kind == "end":
                table.ends[child_path] = draw(st.one_of(st.none(), numbers))
            elif len(child_path) < 3:
                todo.append(child_path)
            if draw(st.booleans()):
                table.values[child_path] = draw(numbers)
            table.completions[child_path] = draw(numbers)
    return table


@settings(max_examples=300, deadline=None)
@given(
    table=tables(),
    iterations=st.integers(0, 25),
    depth=st.integers(1, 4),
    k=st.integers(1, 4),
    c=st.sampled_from([0.0, 0.5, 1.4]),
)
def test_visits_and_values_are_those_of_the_plain_reference(
    table: Table, iterations: int, depth: int, k: int, c: float
) -> None:
    plain = Plain(table, depth, k, c)
    plain.run(iterations)
    table.asked.clear()
    found = pump(search(question(), Search(iterations=iterations, depth=depth, children=k, c=c)), table)

    expected = {path: (plain.n[path], plain.w[path] / plain.n[path]) for path in plain.taken}
    told = nodes(found)
    assert told.keys() == expected.keys()
    for path, (visits, q) in told.items():
        assert visits == expected[path][0]
        assert q == pytest.approx(expected[path][1], abs=1e-12)

    asked = table.asked
    assert {tuple(request.prefix) for request in of_kind(asked, Propose)} == plain.opened
    taken = [(*request.prefix, request.action) for request in of_kind(asked, Take)]
    assert len(taken) == len(set(taken))  # no action is ever paid for twice
    completed = [tuple(request.prefix) for request in of_kind(asked, Finish)]
    assert len(completed) == len(set(completed))
    assert set(completed) == {path for path in plain.outcome if path not in table.ends}


@settings(max_examples=200, deadline=None)
@given(table=tables(), iterations=st.integers(0, 25))
def test_the_trajectories_are_the_tree(table: Table, iterations: int) -> None:
    found = pump(search(question(), Search(iterations=iterations)), table)
    by_id = {trajectory.id: trajectory for trajectory in found}
    assert len(by_id) == len(found)
    own: list[Path] = []
    for number, trajectory in enumerate(found):
        steps = trajectory.steps or []
        fork = 0
        if trajectory.parent is not None:
            fork = trajectory.parent.turn
            assert list(by_id).index(trajectory.parent.id) < number
            assert (by_id[trajectory.parent.id].steps or [])[:fork] == steps[:fork]
        else:
            assert number == 0
        own += [tuple(trajectory.actions[: i + 1]) for i in range(fork, len(steps))]
        assert trajectory.extra["rollout"]["leaves"] == len(found)
        first = trajectory.extra["rollout"].get("completed_from", len(steps))
        assert [step.visits is None for step in steps] == [i >= first for i in range(len(steps))]
    assert len(own) == len(set(own))  # every turn of the tree is one trajectory's own


def test_a_leaf_at_the_depth_limit_is_completed_at_once_and_only_once() -> None:
    table = Table(proposals={(): [Child(action="a")]}, completions={("a",): 0.5})
    found = pump(search(question(), Search(iterations=5, depth=1)), table)
    assert [tuple(request.prefix) for request in of_kind(table.asked, Finish)] == [("a",)]
    assert nodes(found) == {("a",): (5, 0.5)}
    assert found[0].actions == ["a", "rest"]
    assert found[0].extra["rollout"]["completed_from"] == 1


def test_unfinished_leaves_are_completed_after_the_last_walk_and_backed_up() -> None:
    table = Table(
        proposals={(): [Child(action="a"), Child(action="b"), Child(action="never")]},
        values={("a",): 0.1},
        completions={("a",): 1.0, ("b",): 0.0},
    )
    found = pump(search(question(), Search(iterations=2)), table)
    assert nodes(found) == {("a",): (2, pytest.approx(0.55)), ("b",): (2, 0.0)}
    assert [t.actions for t in found] == [["a", "rest"], ["b", "rest"]]


def test_values_can_be_left_aside() -> None:
    table = Table(proposals={(): [Child(action="a")]}, values={("a",): 0.9})
    found = pump(search(question(), Search(iterations=1, value="zero")), table)
    assert nodes(found) == {("a",): (2, 0.0)}


def test_a_question_that_is_over_at_once() -> None:
    found = pump(search(question(Begun(done=True, reward=1.0)), Search()), Table(proposals={}))
    assert [(t.actions, t.reward, t.success) for t in found] == [([], 1.0, True)]


def test_no_iterations_is_one_straight_episode() -> None:
    found = pump(search(question(), Search(iterations=0)), Table(proposals={}))
    assert [t.actions for t in found] == [["rest"]]


def test_the_longest_episode_bounds_the_depth() -> None:
    chain = {("a",) * i: [Child(action="a")] for i in range(10)}
    found = pump(search(question(max_turns=3), Search(iterations=20)), Table(proposals=chain))
    assert [t.actions for t in found] == [["a", "a", "a"]]
    assert found[0].extra["rollout"]["truncated"] is True


class Planted:
    """A full tree of 4 actions and 5 turns; a worker's value tells how far the path was right."""

    def __init__(self, seed: int) -> None:
        self.environment = NullEnvironment(4, 5, value=True)
        self.session = Session(self.environment, RandomPolicy())
        from xskill.sampling.protocol import Reset

        self.session.answer(Reset(id="q", task={}, seed=seed))
        self.expanded = 0
        self.expanded_at_success: int | None = None

    def __call__(self, request: Any) -> Any:
        answer = self.session.answer(request)
        if isinstance(request, Propose):
            self.expanded += 1
        if isinstance(request, Take) and answer.reward == 1.0 and self.expanded_at_success is None:
            self.expanded_at_success = self.expanded
        return answer


def breadth_first(world: Planted) -> int:
    todo: deque[Path] = deque([()])
    while todo:
        path = todo.popleft()
        for child in world(Propose(id="q", prefix=list(path), k=4, skills=[], seed=1)).children:
            taken = world(Take(id="q", prefix=list(path), action=child.action))
            if world.expanded_at_success is not None:
                return world.expanded_at_success
            if not taken.done:
                todo.append((*path, child.action))
    raise AssertionError("the path is in the tree")


def at_random(world: Planted, seed: int) -> int:
    """Random walks over nodes, each expanded once, until the path is found."""
    rng = np.random.default_rng(seed)
    children: dict[Path, list[str]] = {}
    while world.expanded_at_success is None:
        path: Path = ()
        while len(path) < 5:
            if path not in children:
                proposed = world(Propose(id="q", prefix=list(path), k=4, skills=[], seed=1)).children
                children[path] = [child.action for child in proposed]
            action = children[path][int(rng.integers(4))]
            world(Take(id="q", prefix=list(path), action=action))
            path = (*path, action)
    return world.expanded_at_success


def test_finds_a_planted_path_with_fewer_expansions_than_breadth_first_and_random() -> None:
    expanded: dict[str, list[int]] = {"puct": [], "breadth first": [], "random": []}
    for seed in range(8):
        world = Planted(seed)
        pump(search(question(seed=seed), Search(iterations=1000, depth=5, children=4)), world)
        assert world.expanded_at_success is not None
        expanded["puct"].append(world.expanded_at_success)
        expanded["breadth first"].append(breadth_first(Planted(seed)))
        expanded["random"].append(at_random(Planted(seed), seed))
    medians = {name: float(np.median(counts)) for name, counts in expanded.items()}
    assert medians["puct"] * 4 < medians["breadth first"], medians  # 47, 226 and 256.5 when written
    assert medians["puct"] * 4 < medians["random"], medians
