"""Tree losses: worked numbers, gradients by finite differences, torch against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xskill.losses.tree_opsd import tree_opsd_loss
from xskill.losses.tree_pg import tree_pg_loss

OLD = np.array([-1.0, -0.5, -2.0])
NEW = np.array([-0.9, -0.6, -1.7])
ONE_TURN = np.zeros(3, np.int64)


def test_one_turn_by_hand() -> None:
    """Log ratio .3 summed, .1 in the mean; p = .57444 and .52498 (docs/methods/tree-opsd.md)."""
    for ratio, log_rho, p in (("sum", 0.3, 0.57444252), ("mean", 0.1, 0.52497919)):
        result = tree_opsd_loss(NEW, OLD, ONE_TURN, np.array([0.6]), ratio=ratio)  # type: ignore[arg-type]
        kl = 0.6 * np.log(0.6 / p) + 0.4 * np.log(0.4 / (1 - p))
        assert result.log_ratio == pytest.approx([log_rho])
        assert result.residual == pytest.approx([p - 0.6])
        assert result.loss == pytest.approx(kl)
        assert result.per_turn == pytest.approx([kl])
        assert result.gradient == pytest.approx((p - 0.6) / (3 if ratio == "mean" else 1) * np.ones(3))


@pytest.mark.parametrize(
    ("rho", "residual", "kl"),
    [
        (0.8, -0.15556, 0.048661),
        (1.0, -0.1, 0.020136),
        (1.25, -0.04444, 0.004032),
        (1.5, 0, 0),
        (1.8, 0.04286, 0.003936),
    ],
)
def test_residual_around_the_target(rho: float, residual: float, kl: float) -> None:
    result = tree_opsd_loss(np.log([rho]), np.zeros(1), np.zeros(1, np.int64), np.array([0.6]))
    assert result.residual == pytest.approx([residual], abs=5e-6)
    assert result.loss == pytest.approx(kl, abs=5e-7)


def test_fixed_credit_by_hand() -> None:
    """Credit 2 at rho = exp(.3): loss -2 rho, slope -2 rho; clipped at 1.2 the gain is 2.4 and flat."""
    free = tree_pg_loss(NEW, OLD, ONE_TURN, np.array([2.0]))
    assert (free.loss, free.residual[0]) == pytest.approx((-2 * np.exp(0.3), -2 * np.exp(0.3)))
    clipped = tree_pg_loss(NEW, OLD, ONE_TURN, np.array([2.0]), clip=0.2)
    assert (clipped.loss, clipped.residual[0]) == pytest.approx((-2.4, 0.0))
    below = tree_pg_loss(NEW, OLD, ONE_TURN, np.array([-2.0]), clip=0.2)
    assert below.residual[0] == pytest.approx(2 * np.exp(0.3))  # the pessimistic side is not clipped


def test_weights_masks_and_null_targets() -> None:
    """Turn 1 has a null target and turn 3 no token: the loss is that of turns 0 and 2 with weights 1 : 3."""
    new = np.array([[-1.0, -1.1, -0.4, -9.0], [-0.2, -0.7, -0.9, -9.0]])
    old = np.array([[-1.2, -1.0, -0.5, 9.0], [-0.3, -0.7, -0.8, 9.0]])
    ids = np.array([[0, 0, 1, -1], [1, 2, 2, -1]])
    result = tree_opsd_loss(new, old, ids, np.array([0.6, np.nan, 0.45, 0.5]), weights=np.array([0.25, 1, 0.75, 1]))
    alone = [
        tree_opsd_loss(new[ids == turn], old[ids == turn], np.zeros(2, np.int64), np.array([q])).loss
        for turn, q in ((0, 0.6), (2, 0.45))
    ]
    assert result.loss == pytest.approx(0.25 * alone[0] + 0.75 * alone[1])
    assert (result.gradient[ids == 1] == 0).all()
    assert (result.gradient[ids == -1] == 0).all()
    assert result.residual[1] == 0


def test_a_far_ratio_is_clamped_and_still_turns_back() -> None:
    result = tree_opsd_loss(np.array([50.0, -50.0]), np.zeros(2), np.array([0, 1]), np.array([0.6, 0.6]))
    assert result.clamped == 2
    assert result.residual == pytest.approx([0.4, -0.6])
    assert result.per_turn == pytest.approx([7.32698832, 11.32698834])


def test_nothing_to_learn_is_zero() -> None:
    result = tree_opsd_loss(NEW, OLD, -np.ones(3, np.int64), np.array([0.6]))
    assert result.loss == 0
    assert (result.gradient == 0).all()


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="differ in shape"):
        tree_opsd_loss(NEW, OLD[:2], ONE_TURN, np.array([0.6]))
    with pytest.raises(ValueError, match="sum or mean"):
        tree_opsd_loss(NEW, OLD, ONE_TURN, np.array([0.6]), ratio="median")  # type: ignore[arg-type]


batches = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-6, 0), min_size=n, max_size=n),
        st.lists(st.floats(-6, 0), min_size=n, max_size=n),
        st.lists(st.integers(-1, 5), min_size=n, max_size=n),
        st.lists(st.one_of(st.just(float("nan")), st.floats(0.05, 0.95)), min_size=6, max_size=6),
        st.lists(st.floats(0.1, 1), min_size=6, max_size=6),
        st.sampled_from(["sum", "mean"]),
    )
)


def losses(batch: Any) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    new, old, ids, targets, weights, ratio = batch
    arrays = (np.array(new), np.array(old), np.array(ids))
    options = {"weights": np.array(weights), "ratio": ratio}
    q = np.array(targets)
    return [
        (tree_opsd_loss, (*arrays, q), options),
        (tree_pg_loss, (*arrays, 4 * q - 2), options),
        (tree_pg_loss, (*arrays, 4 * q - 2), {**options, "clip": 0.2}),
    ]


@settings(max_examples=60, deadline=None)
@given(batches)
def test_gradient_is_the_derivative(batch: Any) -> None:
    for loss, (new, *rest), options in losses(batch):
        result = loss(new, *rest, **options)
        if options.get("clip") and np.any(np.abs(np.abs(np.exp(result.log_ratio) - 1) - 0.2) < 1e-4):
            continue  # at a corner
        if np.any(np.abs(result.log_ratio) > 8):
            continue  # the clamp is straight-through on purpose, and finite differences of exp(20) are noise
        for i in range(len(new)):
            step = np.zeros_like(new)
            step[i] = 1e-6
            numeric = (loss(new + step, *rest, **options).loss - loss(new - step, *rest, **options).loss) / 2e-6
            assert result.gradient[i] == pytest.approx(numeric, abs=1e-5, rel=1e-4)


@given(st.floats(0.01, 0.99), st.integers(1, 9))
def test_gradient_at_ratio_one_has_the_sign_of_the_credit(q: float, n: int) -> None:
    same = np.linspace(-3, -1, n)
    result = tree_opsd_loss(same, same, np.zeros(n, np.int64), np.array([q]))
    assert np.sign(result.gradient).tolist() == [np.sign(0.5 - q)] * n  # descent raises the ratio when q > 1/2


@settings(max_examples=60, deadline=None)
@given(batches)
def test_torch_equals_numpy(batch: Any) -> None:
    torch = pytest.importorskip("torch")
    for loss, (new, old, ids, per_turn), options in losses(batch):
        plain = loss(new, old, ids, per_turn, **options)
        leaf = torch.tensor(new, dtype=torch.float64, requires_grad=True)
        weights = torch.tensor(options["weights"])
        result = loss(
            leaf, torch.tensor(old), torch.tensor(ids), torch.tensor(per_turn), **{**options, "weights": weights}
        )
        result.loss.backward()
        assert float(result.loss.detach()) == pytest.approx(plain.loss, abs=1e-9, rel=1e-9)
        assert result.residual.numpy() == pytest.approx(plain.residual, abs=1e-9, rel=1e-9)
        assert result.per_turn.detach().numpy() == pytest.approx(plain.per_turn, abs=1e-9, rel=1e-9)
        assert leaf.grad.numpy() == pytest.approx(plain.gradient, abs=1e-9, rel=1e-9)
        assert result.clamped == plain.clamped


def test_torch_gradient_is_the_residual_times_the_score_function() -> None:
    """With logits z: d loss / dz = (p - q) * d log pi / dz, beyond the clamp too."""
    torch = pytest.importorskip("torch")
    for shift in (0.0, 60.0):
        logits = torch.tensor([0.3 + shift, -0.4, 0.1], requires_grad=True)
        logp = torch.log_softmax(logits, 0)[:1]
        (score,) = torch.autograd.grad(logp, logits, retain_graph=True)
        result = tree_opsd_loss(logp, torch.tensor([-30.0]), torch.tensor([0]), torch.tensor([0.55]))
        result.loss.backward()
        assert torch.allclose(logits.grad, result.residual * score, atol=1e-6)
        assert result.clamped == 1


def test_torch_half_precision_is_summed_in_single() -> None:
    torch = pytest.importorskip("torch")
    new = torch.full((1000,), -0.001, dtype=torch.bfloat16)
    result = tree_opsd_loss(new, torch.zeros_like(new), torch.zeros(1000, dtype=torch.long), torch.tensor([0.5]))
    assert float(result.log_ratio[0]) == pytest.approx(-1.0, rel=5e-3)
