"""Shaped rewards: the worked numbers, the guards, and the state that a trainer saves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.test_tree_commands import lines, within
from tests.tree.trees import grow, with_fields
from xskill.errors import BadData, UsageError
from xskill.records import Corpus, Step, Trajectory
from xskill.tree.potential import potentials, shaping_terms
from xskill.tree.replay import tiler
from xskill.tree.reward_stream import RewardRollout, outcomes_of, turn_starts, with_potential
from xskill.tree.shaping import Shaping, bonus_of, shape_group
from xskill.tree.skill_bonus import SkillBonus
from xskill.tree.tiles import tiling as tile
from xskill.tree.xtree import read_tree, write_tree

ONLY = Corpus(successful_only=True)
DEEP = grow(("S0", "a", "b"), ("S1", "S0", "c"), ("S2", "S1", "d"), ("S3", "S2", "e"), ("S4", "x", "y"), corpus=ONLY)
"""Depths 1, 2, 3, 4 and 1, mined from successes only."""


MIXED = with_fields(
    [({"id": "S0", "success": 0.5}, "a", "b"), ({"id": "S1", "success": 0.9677}, "S0", "c")],
    corpus=Corpus(successful_only=False),
)


def test_worked_numbers(vectors: Path) -> None:
    cases = json.loads((vectors / "reward.json").read_bytes())["online"]
    assert len(cases) == 6
    for case in cases:
        group = shape_group(case["outcome"], case["bonus"], Shaping())
        assert group.weight == pytest.approx(case["lam"], abs=1e-12)
        assert group.rewards == pytest.approx(case["shaped"], abs=1e-12)
        assert group.advantages == pytest.approx(case["advantages"], abs=1e-7)


def test_bonus_by_depth_when_mined_from_successes_only() -> None:
    # 1 + 4/2 for S3, 1 + 1/2 for each of S4 and S0; the second S4 does not count again
    bonus = bonus_of(DEEP)
    assert bonus.of(list("abcde")) == 3.0
    assert bonus.of(["a", "b", "c", "d", "e", "x", "y", "q", "a", "b", "x", "y"]) == 6.0
    assert bonus.of(["q"]) == 0.0
    assert bonus.of([]) == 0.0


def test_depths_six_four_one_one_give_ten() -> None:
    # 1 + 6/2 + 1 + 4/2 + 2 * (1 + 1/2) = 4 + 3 + 3
    deep = [("S0", "a", "b")] + [(f"S{i}", f"S{i - 1}", f"t{i}") for i in range(1, 6)]
    other = [("S6", "k", "l")] + [(f"S{i}", f"S{i - 1}", f"t{i}") for i in range(7, 10)]
    tree = grow(*deep, *other, ("S10", "m", "n"), ("S11", "o", "p"), corpus=ONLY)
    actions = [*tree.nodes[5].expansion, *tree.nodes[9].expansion, "m", "n", "o", "p"]
    assert [node.depth for node in tree.nodes if node.id in ("S5", "S9", "S10", "S11")] == [6, 4, 1, 1]
    assert bonus_of(tree).of(actions) == 10.0


def test_bonus_by_success_times_covered_share_in_a_mixed_tree() -> None:
    assert bonus_of(MIXED).of(["a", "b", "c", "d"]) == pytest.approx(0.9677 * 3 / 4)  # .7258, as in WebShop
    assert bonus_of(MIXED).of(["a", "b", "a", "b"]) == pytest.approx(0.5 * 2 / 4)


def test_published_bonuses(shared: Path) -> None:
    bonuses = {
        env: bonus_of(read_tree(shared / "xtree" / f"{name}.json"))
        for env, name in (("ScienceWorld", "scienceworld"), ("WebShop", "webshop"))
    }
    cases = [case for case in json.loads((shared / "xtree" / "tilings.json").read_bytes()) if "bonus" in case]
    assert len(cases) == 13
    for case in cases:
        assert bonuses[case["env"]].of(case["tokens"]) == pytest.approx(case["bonus"], abs=5e-4), case["task"]


def test_the_cap_bounds_what_is_added() -> None:
    free = shape_group([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0, 0, 0, 0, 0, 0], Shaping())
    assert free.rewards[0] == pytest.approx(0.75 * 0.75 * 2)
    assert free.rewards[0] > 1  # a failure outscores the success
    capped = shape_group([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0, 0, 0, 0, 0, 0], Shaping(cap=0.5))
    assert capped.rewards[0] == 0.5
    for bad in ({"cap": -1.0}, {"threshold": 0.0}, {"strength": -1.0}, {"scale": float("nan")}, {"scale": 1e300}):
        with pytest.raises(UsageError):
            Shaping(**bad)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.floats(0, 50)), min_size=1, max_size=8))
def test_no_bonus_from_the_threshold_on_and_equal_rewards_give_no_advantage(group: list[tuple[float, float]]) -> None:
    outcomes, bonuses = [pair[0] for pair in group], [pair[1] for pair in group]
    shaped = shape_group(outcomes, bonuses, Shaping())
    if sum(outcomes) / len(outcomes) >= 0.4:
        assert shaped.rewards == outcomes
    assert all(0 <= reward - outcome <= 1.5 + 1e-12 for reward, outcome in zip(shaped.rewards, outcomes, strict=True))
    if len(set(shaped.rewards)) == 1:
        assert shaped.advantages == [0.0] * len(outcomes)
    assert sum(shaped.advantages) == pytest.approx(0, abs=1e-6)


def test_a_tree_of_failures_is_refused() -> None:
    with pytest.raises(BadData, match="mined from failures"):
        bonus_of(grow(("S0", "a", "b"), outcome="failure"))


@given(st.lists(st.sampled_from("abcdexyq"), max_size=40), st.data())
def test_potentials_follow_the_exact_tiling_of_the_history(actions: list[str], data: st.DataObject) -> None:
    ends = sorted(data.draw(st.sets(st.integers(1, max(1, len(actions))))) | {len(actions)}) if actions else []
    bonus, fast = bonus_of(DEEP), tiler(DEEP)
    phi = potentials(bonus, actions, ends, 0.5)
    depth = {node.id: node.depth for node in DEEP.nodes}
    for end, value in zip(ends[:-1], phi, strict=False):
        nodes = {piece.node for piece in tile(fast, actions[:end]) if piece.node is not None}
        assert value == pytest.approx(0.5 * sum(1 + depth[node] / 2 for node in nodes))
    assert phi[-1:] == ([0.0] if ends else [])
    assert sum(shaping_terms(phi, 1.0)) == pytest.approx(0, abs=1e-9)
    discounted = sum(0.9**t * term for t, term in enumerate(shaping_terms(phi, 0.9)))
    assert discounted == pytest.approx(0, abs=1e-9)  # telescopes to -Phi(start) = 0


def test_potential_terms_stand_on_the_first_step_of_their_turn() -> None:
    steps = [Step(action=name, turn=turn) for name, turn in zip("abcq", [0, 1, 1, 2], strict=True)]
    record = Trajectory(id="e", actions=list("abcq"), steps=steps)
    assert turn_starts(record) == [0, 1, 3]
    done = with_potential(record, bonus_of(DEEP), 1.0, 1.0)
    # after turn 0: a, nothing; after turn 1: a b c = S1, worth 2; then the end
    assert done.shaping == [0.0, 2.0, None, -2.0]
    assert (done.shaped_reward, done.bonus) == (None, None)


def test_outcomes() -> None:
    def of(kind: str, **fields: object) -> tuple[float, float]:
        return outcomes_of(RewardRollout(id="e", actions=[], **fields), kind)  # type: ignore[arg-type]

    assert of("success", success=True, reward=0.3) == (1.0, 1.0)
    assert of("reward", success=True, reward=0.3) == (0.3, 1.0)
    assert of("success", reward=1.0) == (1.0, 1.0)
    assert of("reward", reward=0.3) == (0.3, 0.0)
    assert str(of("success", reward=0.3)) == str(of("reward", success=True)) == "(nan, nan)"


def test_command_shapes_groups_wherever_their_rollouts_stand(tmp_path: Path) -> None:
    write_tree(DEEP, tmp_path / "tree.jsonl")
    rollouts = [
        {"id": "1", "question_id": "p", "actions": list("abcde"), "success": True},
        {"id": "2", "question_id": "q", "actions": ["x", "y"], "success": False},
        {"id": "3", "question_id": "p", "actions": ["a", "b"], "success": False, "extra": {"k": [1]}},
        {"id": "4", "question_id": "p", "actions": ["q"], "success": False},
        {"id": "5", "question_id": "p", "actions": ["q", "q"], "success": False},
        {"id": "6", "question_id": "p", "actions": ["x", "y"]},
        {"id": "7", "actions": [], "success": False},
    ]
    done = within("tree", "reward", "--tree", tmp_path / "tree.jsonl", stdin=lines(*rollouts))
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == list("1234567")
    # question p: one success of 4, lambda .28125; bonuses 3, 1.5, 0, 0
    assert [row.get("bonus_weight") for row in rows] == [0.28125, 0.75, 0.28125, 0.28125, 0.28125, None, 0.75]
    assert [row.get("shaped_reward") for row in rows] == [1.5625, 1.5, 0.28125, 0.0, 0.0, None, 0.0]
    assert rows[0]["tiles"] == [{"node": "S3", "start": 0, "length": 5}]
    assert rows[1]["advantage"] == 0.0
    assert sum(rows[i]["advantage"] for i in (0, 2, 3, 4)) == pytest.approx(0)
    assert (rows[5]["skipped"], rows[5]["bonus"]) == ("no outcome", 1.5)
    assert rows[2]["extra"] == {"k": [1]}
    again = within("tree", "reward", "--tree", tmp_path / "tree.jsonl", stdin=done.stdout)
    assert again.stdout == done.stdout


def test_rollouts_without_a_question_are_said(tmp_path: Path) -> None:
    write_tree(grow(("S0", "a", "b")), tmp_path / "tree.jsonl")
    rollouts = [{"id": f"{i}", "actions": ["a", "b"], "success": i == 0} for i in range(3)]
    done = within("tree", "reward", "--tree", tmp_path / "tree.jsonl", stdin=lines(*rollouts))
    assert [json.loads(line)["advantage"] for line in done.stdout.splitlines()] == [0, 0, 0]
    assert (
        b"tree reward: 3 rollouts have no question_id: each is a group of its own, so its advantage is 0\n"
        in done.stderr
    )


def test_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    write_tree(grow(("S0", "a", "b"), outcome="failure"), tmp_path / "lessons.jsonl")
    record = lines({"id": "1", "actions": ["a"]})
    done = within("tree", "reward", "--tree", tmp_path / "lessons.jsonl", stdin=record)
    assert (done.returncode, b"would teach to fail" in done.stderr) == (65, True)
    assert within("tree", "reward", "--tree", "x", "--outcome", "score", stdin=record).returncode == 2
    assert within("tree", "reward", "--tree", "x", "--shaping", "other", stdin=record).returncode == 2


def test_skill_bonus_keeps_running_rates_and_saves_them_as_json(tmp_path: Path) -> None:
    bonus = SkillBonus(DEEP, decay=1.0)
    assert bonus.success_rate("p") is None
    assert bonus.reward("p", list("abcde"), 0.0) == 1.5  # nobody succeeded, its bonus is the largest
    assert bonus.reward("p", ["a", "b"], 0.0) == 0.75  # half the largest bonus
    assert bonus.reward("p", ["q"], 1.0) == 1.0
    assert bonus.success_rate("p") == pytest.approx(1 / 3)
    assert bonus.reward("p", list("abcde"), 0.0) == pytest.approx(2 * 0.75 * (1 - 0.25 / 0.4))
    bonus.save(tmp_path / "state.json")
    again = SkillBonus(DEEP)
    again.load(tmp_path / "state.json")
    assert again.state()["questions"] == bonus.state()["questions"] == {"p": [4.0, 1.0, 3.0]}
    assert bonus.group([list("abcde"), ["a", "b"]], [0, 0]).rewards == [1.5, 0.75]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"schema": "xskill.skill_bonus/1", "questions": {"p": [1, "x", 2]}}', b"\x80\x04cos\nsystem\n"],
)
def test_a_state_that_is_none_is_refused(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "state"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadData):
        SkillBonus(DEEP).load(path)
    with pytest.raises(UsageError):
        SkillBonus(DEEP, decay=0)
