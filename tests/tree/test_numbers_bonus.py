"""``SkillBonus`` and ``tree reward`` shape graded rewards alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tree.test_tree_commands import lines, within
from tests.tree.trees import grow
from xskill.tree.shaping import Shaping, shape_group
from xskill.tree.skill_bonus import SkillBonus
from xskill.tree.xtree import write_tree

TREE = grow(("S0", "a", "b"))
ROLLOUTS = [["a", "b"], ["a"], ["c"], ["c", "c"]]


def test_when_nobody_solved_it_the_bonus_is_whole() -> None:
    group = shape_group([0.5, 0.5, 0.6, 0.7], [1, 0, 0, 0], Shaping())
    assert (group.weight, group.rewards) == (0.75, [2.0, 0.5, 0.6, 0.7])


@pytest.mark.parametrize("rewards", [[0.5, 0.5, 0.6, 0.7], [1.0, 0.9, 0.3, 0.0], [0, 1, 0, 0], [2.5, -1, 0.2, 0.2]])
@pytest.mark.parametrize("successes", [None, [False, True, False, False]])
def test_the_trainer_and_the_command_agree(tmp_path: Path, rewards: list[float], successes: list[bool] | None) -> None:
    write_tree(TREE, tmp_path / "tree.jsonl")
    rollouts = [
        {"id": str(i), "question_id": "q", "actions": actions, "reward": rewards[i]}
        | ({} if successes is None else {"success": successes[i]})
        for i, actions in enumerate(ROLLOUTS)
    ]
    done = within("tree", "reward", "--outcome", "reward", "--tree", tmp_path / "tree.jsonl", stdin=lines(*rollouts))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    group = SkillBonus(TREE).group(ROLLOUTS, rewards, successes)
    assert [row["shaped_reward"] for row in rows] == group.rewards
    assert [row["advantage"] for row in rows] == group.advantages
    assert {row["bonus_weight"] for row in rows} == {group.weight}


def test_single_rollouts_count_the_same_successes() -> None:
    bonus = SkillBonus(TREE, decay=1.0)
    for i, (actions, reward) in enumerate(zip(ROLLOUTS, [0.5, 0.9, 1.0, 0.7], strict=True), 1):
        bonus.reward("q", actions, reward)
        assert bonus.success_rate("q") == pytest.approx((i >= 3) / i)
    bonus.reward("q", ["c"], 0.2, success=True)
    assert bonus.success_rate("q") == 0.4
