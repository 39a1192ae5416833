"""On-policy self-distillation: the student follows a teacher that has read the context card (arXiv 2609.32993).

Student and teacher are the same model on the same sampled tokens; the teacher's prompt holds a card of
``xskill tree context``, the student's does not. No gradient reaches the teacher.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from xskill.losses.turns import is_torch

Direction = Literal["reverse", "forward"]

MIN_LOGIT = -1e4
"""A lower logit (-inf of a banned token) counts as this, so that 0 * inf does not arise."""


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """Loss over tokens. Arrays are of the backend that the logits came in."""

    loss: Any
    """Scalar: mean over the tokens that count; 0 when none does."""
    per_token: Any
    """Divergence at each token; 0 where the mask is 0. [...]"""
    gradient: Any = None
    """d loss / d student logits (numpy only; torch has its own). [..., V]"""


def opsd_loss(
    student_logits: Any,
    teacher_logits: Any,
    mask: Any = None,
    *,
    direction: Direction = "reverse",
    temperature: float = 1.0,
) -> TokenLoss:
    """Mean over tokens of ``T^2 KL(p || q)`` (reverse) or ``T^2 KL(q || p)`` (forward).

    p = softmax(student / T), q = softmax(teacher / T). ``T^2`` keeps the size of the gradient, which by the student's
    logits is ``T p (log p - log q - KL)`` (reverse) or ``T (p - q)`` (forward) at each token.

    Args:
        student_logits: numpy or torch; in torch the loss has a gradient. [..., V]
        teacher_logits: of the same positions. [..., V]
        mask: weight of each token: 1 for sampled tokens, 0 for the prompt and padding; None counts all. [...]
        direction: ``reverse`` seeks the teacher's mode, ``forward`` covers all that it does.
        temperature: T > 0.

    Raises:
        ValueError: shapes that differ, an unknown direction, or a temperature that is not positive.
    """
    if student_logits.shape != teacher_logits.shape:
        raise ValueError(f"student {tuple(student_logits.shape)} and teacher {tuple(teacher_logits.shape)} differ")
    if mask is not None and mask.shape != student_logits.shape[:-1]:
        raise ValueError(f"mask {tuple(mask.shape)} does not fit logits {tuple(student_logits.shape)}")
    if direction not in get_args(Direction):
        raise ValueError(f"direction {direction!r}: expected one of {', '.join(get_args(Direction))}")
    if not temperature > 0:
        raise ValueError(f"temperature {temperature}: must be positive")
    if is_torch(student_logits):
        return _torch_loss(student_logits, teacher_logits, mask, direction, temperature)
    log_p, log_q = (_log_softmax(logits, temperature) for logits in (student_logits, teacher_logits))
    p, q = np.exp(log_p), np.exp(log_q)
    above, difference = (p, log_p - log_q) if direction == "reverse" else (q, log_q - log_p)
    divergence = (above * difference).sum(-1)
    weight = np.ones(divergence.shape) if mask is None else np.asarray(mask, dtype=np.float64)
    total = max(float(weight.sum()), np.finfo(np.float64).tiny)
    by_logit = p * (difference - divergence[..., None]) if direction == "reverse" else p - q
    scale = temperature * temperature
    per_token = scale * np.where(weight > 0, divergence, 0.0)
    gradient = temperature * by_logit * (weight / total)[..., None]
    return TokenLoss(float((weight * per_token).sum() / total), per_token, gradient)


def _log_softmax(logits: Any, temperature: float) -> Any:
    scaled = np.maximum(np.asarray(logits, dtype=np.float64), MIN_LOGIT) / temperature
    shifted = scaled - scaled.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _torch_loss(student: Any, teacher: Any, mask: Any, direction: Direction, temperature: float) -> TokenLoss:
    import torch

    def log_softmax(logits: Any) -> Any:
        floor = logits.new_full((), MIN_LOGIT)
        return torch.log_softmax(
            torch.maximum(logits, floor) / temperature, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32)
        )

    log_p, log_q = log_softmax(student), log_softmax(teacher.detach())
    if direction == "reverse":
        divergence = (log_p.exp() * (log_p - log_q)).sum(-1)
    else:
        divergence = (log_q.exp() * (log_q - log_p)).sum(-1)
    weight = torch.ones_like(divergence) if mask is None else mask.to(divergence.dtype)
    per_token = temperature**2 * torch.where(weight > 0, divergence, torch.zeros_like(divergence))
    total = weight.sum().clamp_min(torch.finfo(divergence.dtype).tiny)
    return TokenLoss((weight * per_token).sum() / total, per_token)
