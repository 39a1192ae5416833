"""On-policy self-distillation: values by hand, the gradient by differences, torch equal to numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskill.losses.opsd import opsd_loss

LN = math.log


def test_values_by_hand() -> None:
    # p = (1/2, 1/2), q = (3/4, 1/4)
    student, teacher = np.zeros((1, 2)), np.array([[LN(3), 0.0]])
    reverse = 0.5 * LN((1 / 2) / (3 / 4)) + 0.5 * LN((1 / 2) / (1 / 4))
    forward = 0.75 * LN((3 / 4) / (1 / 2)) + 0.25 * LN((1 / 4) / (1 / 2))
    assert opsd_loss(student, teacher).loss == pytest.approx(reverse) == pytest.approx(0.143841036)
    assert opsd_loss(student, teacher, direction="forward").loss == pytest.approx(forward) == pytest.approx(0.130812036)
    assert opsd_loss(student, teacher, direction="forward").gradient == pytest.approx(np.array([[-0.25, 0.25]]))
    assert opsd_loss(teacher, teacher).loss == 0.0


def test_the_mask_chooses_tokens() -> None:
    rng = np.random.default_rng(0)
    student, teacher = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 3, 5))
    mask = np.array([[1, 0, 1], [0, 0, 1]])
    found = opsd_loss(student, teacher, mask)
    alone = opsd_loss(student[mask == 1], teacher[mask == 1])
    assert found.loss == pytest.approx(alone.loss)
    assert (found.per_token[mask == 0] == 0).all()
    assert (found.gradient[mask == 0] == 0).all()
    assert opsd_loss(student, teacher, np.zeros((2, 3))).loss == 0.0


def test_banned_tokens_do_not_give_nan() -> None:
    student = np.array([[0.0, 1.0, -np.inf]])
    for direction in ("reverse", "forward"):
        found = opsd_loss(student, np.array([[0.5, 0.2, -np.inf]]), direction=direction)
        assert np.isfinite(found.loss)
        assert np.isfinite(found.gradient).all()


def test_bad_arguments() -> None:
    one, two = np.zeros((1, 2)), np.zeros((1, 3))
    with pytest.raises(ValueError, match="differ"):
        opsd_loss(one, two)
    with pytest.raises(ValueError, match="mask"):
        opsd_loss(one, one, np.ones(2))
    with pytest.raises(ValueError, match="direction"):
        opsd_loss(one, one, direction="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="temperature"):
        opsd_loss(one, one, temperature=0)


cases = st.tuples(
    st.integers(0, 1000), st.sampled_from(["reverse", "forward"]), st.sampled_from([0.5, 1.0, 2.0]), st.integers(2, 6)
)


@given(cases)
def test_gradient_equals_differences(case: Any) -> None:
    seed, direction, temperature, vocabulary = case
    rng = np.random.default_rng(seed)
    student, teacher = rng.normal(size=(2, vocabulary)), rng.normal(size=(2, vocabulary))
    mask = np.array([1.0, 0.5])

    def loss(logits: Any) -> float:
        return float(opsd_loss(logits, teacher, mask, direction=direction, temperature=temperature).loss)

    found = opsd_loss(student, teacher, mask, direction=direction, temperature=temperature)
    assert found.loss >= 0
    h = 1e-5
    for index in np.ndindex(student.shape):
        step = np.zeros_like(student)
        step[index] = h
        assert found.gradient[index] == pytest.approx((loss(student + step) - loss(student - step)) / (2 * h), abs=1e-7)


@given(cases)
def test_torch_equals_numpy(case: Any) -> None:
    torch = pytest.importorskip("torch")
    seed, direction, temperature, vocabulary = case
    rng = np.random.default_rng(seed)
    student, teacher = rng.normal(size=(2, 3, vocabulary)), rng.normal(size=(2, 3, vocabulary))
    student[0, 0, 0] = -np.inf
    mask = rng.integers(0, 2, size=(2, 3))
    plain = opsd_loss(student, teacher, mask, direction=direction, temperature=temperature)
    logits = torch.tensor(student, requires_grad=True)
    expert = torch.tensor(teacher, requires_grad=True)
    found = opsd_loss(logits, expert, torch.tensor(mask), direction=direction, temperature=temperature)
    found.loss.backward()
    assert float(found.loss.detach()) == pytest.approx(plain.loss, abs=1e-10)
    assert found.per_token.detach().numpy() == pytest.approx(plain.per_token, abs=1e-10)
    assert expert.grad is None
    banned = np.isinf(student)
    assert logits.grad.numpy()[~banned] == pytest.approx(plain.gradient[~banned], abs=1e-10)
