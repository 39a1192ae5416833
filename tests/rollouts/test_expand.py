"""Initialize-then-expand: structure, uniform forks, seeds and the exact bill."""

from __future__ import annotations

from collections import Counter
from pathlib import Path as File

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tests.rollouts.worlds import pump, question
from xskill.errors import BadRecord
from xskill.records import Step, Trajectory
from xskill.rollouts.prefix_tree import summary
from xskill.sampling.cost import Cost
from xskill.sampling.expand import expand, expand_given
from xskill.sampling.growing_episode import Prefix
from xskill.sampling.protocol import Answer, Begun, Finish, Finished, Request
from xskill.sampling.seeds import seed_for


class Lengths:
    """Answers finish requests with episodes of the given lengths, ``per`` turns an answer; ends are rewarded."""

    def __init__(self, lengths: list[int], per: int = 100) -> None:
        self.lengths = lengths
        self.per = per
        self.asked: list[Finish] = []
        self.cost = Cost()

    def __call__(self, request: Request) -> Answer:
        assert isinstance(request, Finish)
        self.asked.append(request)
        episode = len({r.seed for r in self.asked}) - 1
        length = max(self.lengths[episode % len(self.lengths)], len(request.prefix) + 1)
        turns = range(len(request.prefix), min(length, len(request.prefix) + self.per))
        steps = [
            Step(action=f"{episode}.{turn}", observation=f"o{turn}", n_tokens=2, reward=float(turn + 1 == length))
            for turn in turns
        ]
        answer = Finished(steps=steps, done=turns.stop == length)
        self.cost.count(answer)
        return answer


def test_four_episodes_and_two_branches_of_each() -> None:
    world = Lengths([5])
    found = pump(expand(question(), 4, 2), world)
    assert [t.id for t in found] == [
        *("q/0", "q/1", "q/2", "q/3"),
        *("q/0.0", "q/0.1", "q/1.0", "q/1.1", "q/2.0", "q/2.1", "q/3.0", "q/3.1"),
    ]
    by_id = {t.id: t for t in found}
    for t in found:
        assert t.question_id == "q"
        assert t.initial_observation == "start"
        assert (t.reward, t.success) == (1.0, True)
        assert t.extra == {"rollout": {"sampler": "test", "leaves": 12}}
        if "." in t.id:
            assert t.parent is not None
            assert t.parent.id == t.id.split(".")[0]
            assert t.parent.step is None  # turns of one step each
            base = by_id[t.parent.id]
            assert t.steps is not None
            assert base.steps is not None
            assert t.steps[: t.parent.turn] == base.steps[: t.parent.turn]
            assert t.steps[t.parent.turn] != base.steps[t.parent.turn]
        else:
            assert t.parent is None
    assert len({request.seed for request in world.asked}) == 12  # every episode has its own draw


def test_the_bill_is_exact() -> None:
    world = Lengths([5])
    found = pump(expand(question(), 4, 2), world)
    cost = world.cost
    cost.finish(found)
    forks = [t.parent.turn for t in found if t.parent is not None]
    assert cost.turns == 4 * 5 + sum(5 - fork for fork in forks)
    assert cost.own_turns == cost.turns
    assert cost.tokens == 2 * cost.turns
    assert cost.full_rollouts == pytest.approx(cost.turns / 5)
    assert (cost.questions, cost.trajectories, cost.requests) == (1, 12, 12)


@pytest.mark.parametrize(("initial", "branches", "leaves", "paper"), [(4, 2, 12, 8), (2, 6, 14, 8), (8, 0, 8, 8)])
def test_expected_cost_is_the_papers(initial: int, branches: int, leaves: int, paper: int) -> None:
    """A fork keeps t of T turns, uniform over 0 … T-1: (T + 1)/2T of a rollout is new; the paper says half."""
    turns, total = 40, Cost()
    for number in range(200):
        found = pump(expand(question(name=f"q{number}"), initial, branches), Lengths([turns]))
        assert len(found) == leaves
        total.finish(found)
    exact = initial + initial * branches * (turns + 1) / (2 * turns)
    assert total.full_rollouts / total.questions == pytest.approx(exact, abs=0.15)
    assert exact == pytest.approx(paper, abs=0.31)


def test_forks_are_uniform_over_the_visited_turns() -> None:
    forks: Counter[int] = Counter()
    for number in range(400):
        for t in pump(expand(question(name=f"q{number}"), 2, 3), Lengths([6])):
            if t.parent is not None:
                forks[t.parent.turn] += 1
    assert set(forks) == set(range(6))
    assert chisquare([forks[turn] for turn in range(6)]).pvalue > 0.001


def test_chunks_of_an_episode_do_not_show() -> None:
    whole = pump(expand(question(), 2, 2), Lengths([7]))
    assert pump(expand(question(), 2, 2), Lengths([7], per=2)) == whole


def test_the_longest_episode_is_marked_and_keeps_its_reward() -> None:
    world = Lengths([9])
    found = pump(expand(question(max_turns=4), 1, 0), lambda request: _cut(world(request), request))
    assert len(found[0].actions) == 4
    assert (found[0].reward, found[0].success) == (0.0, False)
    assert found[0].extra["rollout"]["truncated"] is True


def _cut(answer: Answer, request: Request) -> Answer:
    assert isinstance(answer, Finished)
    assert isinstance(request, Finish)
    return msgspec.structs.replace(answer, steps=answer.steps[: request.max_turns], done=False)


def test_rewards_in_parts_add_up() -> None:
    """A score of hundredths that is taken back is exactly 0, and one that is full exactly 1."""
    parts = [0.08, 0.17, 0.25, 0.33, 0.17]
    steps = [Step(action="a", reward=part) for part in parts]
    start = question().start()
    assert start.then(steps, done=True).reward == 1.0
    lost = start.then([*steps[:3], Step(action="a", reward=-0.5)], done=True)
    assert str(lost.reward) == "0.0"
    assert start.reward is None
    assert start.then([Step(action="a")], done=True).reward is None
    assert start.then(steps, done=True, outcome=0.3).reward == 0.3


def test_what_answers_hold_beside_the_contract_is_kept() -> None:
    begun = Begun(observation="start", extra={"variation": 3})
    steps = [Step(action="a", extra={"cut": True})]
    answer = Finished(steps=steps, done=True, reward=0.25, extra={"usage": 7})
    (found,) = pump(expand(question(begun), 1, 0), lambda request: answer)
    assert found.steps == steps
    assert (found.reward, found.success) == (0.25, None)
    assert found.extra == {"variation": 3, "usage": 7, "rollout": {"sampler": "test", "leaves": 1}}


def test_an_episode_without_a_turn_has_no_branches() -> None:
    found = pump(expand(question(Begun(observation="over", done=True, reward=0.5)), 2, 2), Lengths([1]))
    assert [(t.id, t.actions, t.reward, t.success) for t in found] == [("q/0", [], 0.5, None), ("q/1", [], 0.5, None)]


def test_seeds_depend_on_what_they_are_for() -> None:
    assert seed_for(0, "q", "finish", 1) == seed_for(0, "q", "finish", 1)
    different = {seed_for(0, "q", "finish", 1), seed_for(1, "q", "finish", 1), seed_for(0, "q", "finish", "1")}
    different |= {seed_for(0, "q", "finish", 11), seed_for(0, "qf", "inish", 1)}
    assert len(different) == 5
    assert all(seed < 2**53 for seed in different)


def given_episode(name: str, turns_of: list[int]) -> Trajectory:
    """An episode whose steps belong to these turns."""
    steps = [Step(action=f"{name}{i}", observation="o", turn=turn) for i, turn in enumerate(turns_of)]
    return Trajectory(id=name, question_id="q", actions=[f"canonical {i}" for i in range(len(steps))], steps=steps)


def test_given_episodes_pass_unchanged_and_branch_at_turns() -> None:
    base = given_episode("g", [0, 0, 0, 1, 2, 2])
    assert Prefix(steps=(), starts=()).then(base.steps or [], done=True).starts == (0, 3, 4)
    found = pump(expand_given(question(), [base], 12), Lengths([9]))
    assert found[0] is base
    assert [t.id for t in found[1:]] == [f"g.{i}" for i in range(12)]
    for t in found[1:]:
        assert t.parent is not None
        turn = t.parent.turn
        start = (0, 3, 4)[turn]
        assert t.parent.step == (None if start == turn else start)
        assert t.steps is not None
        assert [s.action for s in t.steps[:start]] == [f"g{i}" for i in range(start)]
        expected = list(range(turn, turn + len(t.steps) - start))
        assert [s.turn for s in t.steps[start:]] == (expected if start != turn else [None] * len(expected))
        assert t.extra["rollout"]["leaves"] == 13
    assert {t.parent.turn for t in found[1:] if t.parent} == {0, 1, 2}


def test_names_of_given_branches_are_left_alone() -> None:
    found = pump(expand_given(question(), [given_episode("g", [0, 1]), given_episode("g.0", [0, 1])], 2), Lengths([3]))
    assert [t.id for t in found] == ["g", "g.0", "g.1", "g.2", "g.0.0", "g.0.1"]


def test_given_episodes_need_their_steps() -> None:
    bare = Trajectory(id="g", question_id="q", actions=["a"])
    with pytest.raises(BadRecord, match="with its steps"):
        pump(expand_given(question(), [bare], 1), Lengths([3]))


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    initial=st.integers(1, 4),
    branches=st.integers(0, 3),
    seed=st.integers(0, 99),
    per=st.integers(1, 9),
)
def test_the_output_is_a_tree_of_true_branches(
    lengths: list[int], initial: int, branches: int, seed: int, per: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What the reader of rollouts checks: links, prefixes; and its cost is ours."""
    from xskill.records import encode
    from xskill.rollouts.load import read_rollouts
    from xskill.streams.run import Run

    world = Lengths(lengths, per)
    found = pump(expand(question(seed=seed), initial, branches), world)
    assert len(found) == initial * (1 + branches)
    world.cost.finish(found)
    file: File = tmp_path_factory.mktemp("rollouts") / "r.jsonl"
    file.write_bytes(b"".join(encode(t) + b"\n" for t in found))
    rollouts, trie, _ = read_rollouts([str(file)], Run("test", quiet=True))
    told = summary(rollouts, trie)
    assert told["trajectories"] == len(found)
    assert told["orphans"] == 0
    assert told["cost"] == pytest.approx(world.cost.full_rollouts, abs=1e-4)
