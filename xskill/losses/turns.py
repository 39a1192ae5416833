"""Token log-probabilities → log ratios of turns, in numpy and in torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Ratio = Literal["sum", "mean"]

MAX_LOG_RATIO = 20.0
"""A log ratio beyond this is clamped: exp(20) is 5e8."""


@dataclass(frozen=True, slots=True)
class TurnLoss:
    """Loss over N turns. Arrays are of the backend that the log-probabilities came in, detached."""

    loss: Any
    """Scalar: weighted mean over turns."""
    per_turn: Any
    """[N] loss of each turn, unweighted; 0 for a turn that does not count. Has a gradient in torch."""
    log_ratio: Any
    """[N] before the clamp; 0 for a turn without a token."""
    residual: Any
    """[N] derivative of a turn's loss by its log ratio; 0 for a turn that does not count."""
    clamped: int
    """Turns whose |log ratio| was beyond :data:`MAX_LOG_RATIO`."""
    gradient: Any = None
    """Derivative of ``loss`` by ``logp_new``, in its shape (numpy only; torch has autograd)."""


def is_torch(x: Any) -> bool:
    """Whether ``x`` is a torch tensor, without importing torch."""
    return type(x).__module__.split(".", 1)[0] == "torch"


def log_ratios(logp_new: Any, logp_old: Any, turn_ids: Any, n_turns: int, ratio: Ratio) -> tuple[Any, Any]:
    """Sum (or mean) over each turn's tokens of ``logp_new - logp_old``, and the number of its tokens.

    Args:
        logp_new: any shape; numpy or torch.
        logp_old: the same shape.
        turn_ids: the same shape, integers; a token with -1 belongs to no turn (prompt, observation, padding).
        n_turns: N; ids are below it.
        ratio: ``sum`` or ``mean``.

    Returns:
        [N] log ratios and [N] token counts, differentiable in torch.
    """
    if ratio not in ("sum", "mean"):
        raise ValueError(f"ratio: expected sum or mean, got {ratio!r}")
    if not logp_new.shape == logp_old.shape == turn_ids.shape:
        shapes = f"{tuple(logp_new.shape)}, {tuple(logp_old.shape)}, {tuple(turn_ids.shape)}"
        raise ValueError(f"logp_new, logp_old and turn_ids differ in shape: {shapes}")
    counts = turn_ids >= 0
    ids = turn_ids[counts]
    difference = logp_new[counts] - logp_old[counts]
    if is_torch(logp_new):
        import torch

        difference = difference.float() if difference.dtype in (torch.float16, torch.bfloat16) else difference
        total = torch.zeros(n_turns, dtype=difference.dtype, device=difference.device)
        tokens = total.index_add(0, ids, torch.ones_like(difference))
        total = total.index_add(0, ids, difference)
        return (total / tokens.clamp(min=1) if ratio == "mean" else total), tokens
    tokens = np.bincount(ids, minlength=n_turns).astype(np.float64)
    total = np.bincount(ids, difference, n_turns)
    return (total / np.maximum(tokens, 1) if ratio == "mean" else total), tokens


def turn_weights(weights: Any, tokens: Any, per_turn: Any) -> Any:
    """[N] weights that sum to 1: 0 for turns without a token and where ``per_turn`` is NaN."""
    known = (tokens > 0) & (per_turn == per_turn)
    chosen = known * 1.0 if weights is None else (known * 1.0) * weights
    total = chosen.sum()
    return chosen / (total if float(total) > 0 else 1.0)


def token_gradient(turn_ids: Any, weight: Any, slope: Any, tokens: Any, ratio: Ratio) -> Any:
    """Derivative by the token log-probabilities of a numpy loss with these slopes by the turn log ratios."""
    per_token = weight * slope / (np.maximum(tokens, 1) if ratio == "mean" else 1.0)
    gradient: Any = np.where(turn_ids >= 0, per_token[np.maximum(turn_ids, 0)], 0.0)
    return gradient
