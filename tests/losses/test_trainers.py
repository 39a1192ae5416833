"""The tree losses inside the real trainers: verl's registry and aggregation, TRL on a tiny random transformer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from xskill.integrations.tree_opsd_loss import (  # noqa: E402
    Teacher,
    register_verl,
    targets,
    turn_ids,
    verl_policy_loss,
)

MASK = torch.tensor([[1, 1, 0, 0, 1, 1], [1, 0, 1, 1, 0, 0]])
CREDIT = torch.tensor([[0.5, 0.5, 0.0, 0.0, -1.0, -1.0], [1.0, 0.0, 1.0, 0.2, 0.0, 0.0]])


def test_a_turn_is_a_run_of_sampled_tokens_with_one_credit() -> None:
    assert turn_ids(MASK, CREDIT).tolist() == [[0, 0, -1, -1, 1, 1], [2, -1, 3, 4, -1, -1]]


def test_targets_are_those_of_the_credit_command() -> None:
    from xskill.credit.targets import target

    credit = np.linspace(-2, 2, 9)
    for kind in ("odds", "probability", "logistic"):
        q = targets(torch.tensor(credit), Teacher(map=kind, radius=0.3, scale=1.5))  # type: ignore[arg-type]
        assert q.numpy() == pytest.approx(target(credit, kind, 0.3, 1.5)[0])  # type: ignore[arg-type]


def test_verl_loss_by_hand() -> None:
    """seq-mean-token-sum: the mean over rollouts of the sum of their turns' losses."""
    core = pytest.importorskip("verl.trainer.ppo.core_algos")
    old = torch.zeros(2, 6)
    new = torch.full((2, 6), 0.05, requires_grad=True)
    register_verl("tree_opsd", Teacher(radius=0.2))
    loss = core.get_policy_loss_fn("tree_opsd")
    value, watched = loss(old, new, CREDIT, MASK, "seq-mean-token-sum")

    def turn(credit: float, tokens: int) -> float:
        q = (1 + 0.2 * credit) / (2 + 0.2 * credit)
        p = 1 / (1 + np.exp(-0.05 * tokens))
        return float(q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)))

    expected = (turn(0.5, 2) + turn(-1, 2) + turn(1, 1) + turn(1, 1) + turn(0.2, 1)) / 2
    assert float(value.detach()) == pytest.approx(expected, rel=1e-5)
    assert watched["actor/turn_clamped"] == 0
    value.backward()
    assert (new.grad[MASK == 0] == 0).all()
    assert (new.grad[0, 4:] > 0).all()  # credit below 0: descent lowers the ratio


def test_verl_weights_count_a_shared_turn_once() -> None:
    pytest.importorskip("verl")
    one = torch.ones(2, 3)
    new = torch.full((2, 3), 0.1)
    credit = torch.full((2, 3), 0.7)
    half, _ = verl_policy_loss()(torch.zeros(2, 3), new, credit, one, "token-sum", None, 0.5 * one)
    single, _ = verl_policy_loss()(torch.zeros(1, 3), new[:1], credit[:1], one[:1], "token-sum")
    assert float(half) == pytest.approx(float(single))


def test_trl_twenty_steps_reach_the_targets_and_stop_there(tmp_path: Path) -> None:
    """The paper's claim: ratios go to rho* and stay, while fixed credits drive the same turns far past them."""
    pytest.importorskip("trl")
    from tests.losses.tiny import run

    path, credit = run(tmp_path, Teacher(radius=0.2), steps=20, lr=5e-4)
    goal = np.log1p(0.2 * credit)
    gap = np.abs(path - goal).mean(1) / np.abs(goal).mean()
    assert len(path) == 20
    assert gap[-5:].max() < 0.25
    assert gap[-10:].max() < 0.35

    path, _ = run(tmp_path, Teacher(kind="tree-pg"), steps=20, lr=5e-4)
    gap = np.abs(path - goal).mean(1) / np.abs(goal).mean()
    assert gap[-1] > 5
    assert (np.diff(gap)[2:] > 0).all()
