"""Turns of equal credit that touch stay two turns: by their ids, or by advantages that carry them."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from xskill.integrations.tree_opsd_loss import Teacher, batch_loss, keep_turns_apart, turn_ids  # noqa: E402
from xskill.losses.tree_opsd import tree_opsd_loss  # noqa: E402

IDS = torch.tensor([[0, 0, 1, 1, -1, 2], [0, 1, -1, -1, -1, -1]])
MASK = (IDS >= 0).long()
CREDIT = torch.tensor([[0.5, 0.5, 0.5, 0.5, 0, 0.5], [0, 0, 0, 0, 0, 0]])
NEW = torch.tensor([[0.3, 0.3, -0.4, -0.4, 0, 0.1], [0.1, -0.1, 0, 0, 0, 0]])
NUMBERS = [[0, 0, 1, 1, -1, 2], [3, 4, -1, -1, -1, -1]]


def gradient(advantages: torch.Tensor, ids: torch.Tensor | None) -> torch.Tensor:
    new = NEW.clone().requires_grad_()
    batch_loss(Teacher(radius=0.2), new, torch.zeros_like(new), advantages, MASK, None, ids)[0].loss.backward()
    assert new.grad is not None
    return new.grad


def test_ids_and_marked_advantages_tell_the_same_turns() -> None:
    assert turn_ids(MASK, CREDIT, IDS).tolist() == NUMBERS
    marked = keep_turns_apart(CREDIT, IDS)
    assert turn_ids(MASK, marked).tolist() == NUMBERS
    assert (marked - CREDIT).abs().max() <= 1e-7
    assert turn_ids(MASK, CREDIT).tolist() != NUMBERS


def test_a_turn_with_a_gap_is_one_turn() -> None:
    ids = torch.tensor([[0, 0, 0, 1]])
    assert turn_ids(torch.tensor([[1, 0, 1, 1]]), torch.zeros(1, 4), ids).tolist() == [[0, -1, 0, 1]]


def test_the_gradient_is_that_of_each_turn_alone() -> None:
    """The first turn is past its target, the second behind it: joined, the push of one would turn round."""
    q = np.array([1.1 / 2.1] * 3 + [0.5] * 2)
    zeros = np.zeros((2, 6))
    expected = tree_opsd_loss(NEW.double().numpy(), zeros, np.array(NUMBERS), q).gradient
    assert expected[0, 0] > 0 > expected[0, 2]
    for got in (gradient(CREDIT, IDS), gradient(keep_turns_apart(CREDIT, IDS), None)):
        assert got.numpy() == pytest.approx(expected, abs=1e-6)
    assert gradient(CREDIT, None)[0, 0] < 0  # what went wrong


def test_verl_s_loss_takes_ids() -> None:
    pytest.importorskip("verl")
    from xskill.integrations.tree_opsd_loss import verl_policy_loss

    loss = verl_policy_loss(Teacher(radius=0.2))
    told, _ = loss(torch.zeros_like(NEW), NEW, CREDIT, MASK, "token-sum", turn_ids=IDS)
    carried, _ = loss(torch.zeros_like(NEW), NEW, keep_turns_apart(CREDIT, IDS), MASK, "token-sum")
    assert float(told) == pytest.approx(float(carried))


def test_only_numbers_of_32_bits_can_carry_ids() -> None:
    with pytest.raises(ValueError, match="32-bit"):
        keep_turns_apart(CREDIT.double(), IDS)
