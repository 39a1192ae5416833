"""The ablation of TreeOPSD: the same credits as constant advantages, without a target that moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from xskill.losses.turns import MAX_LOG_RATIO, Ratio, TurnLoss, is_torch, log_ratios, token_gradient, turn_weights


def tree_pg_loss(
    logp_new: Any,
    logp_old: Any,
    turn_ids: Any,
    credits: Any,
    *,
    weights: Any = None,
    ratio: Ratio = "sum",
    clip: float | None = None,
) -> TurnLoss:
    """``mean_t -c_t rho_t``, with ``clip`` the pessimistic ``-min(c rho, c clip(rho, 1 - clip, 1 + clip))`` of PPO.

    The derivative by log rho is ``-c rho`` (0 where clipped): nothing in the objective stops a ratio.

    Args:
        logp_new: log-probabilities of the tokens under the current policy; any shape, numpy or torch.
        logp_old: the same under the behaviour policy.
        turn_ids: turn of each token, below N; -1 for tokens of no turn.
        credits: [N] credit of each turn; NaN leaves a turn out.
        weights: [N] weights of the turns.
        ratio: ``sum`` over a turn's tokens, or ``mean``.
        clip: half width of PPO's interval; None does not clip.

    Raises:
        ValueError: shapes that differ, or an unknown ratio.
    """
    log_rho, tokens = log_ratios(logp_new, logp_old, turn_ids, len(credits), ratio)
    weight = turn_weights(weights, tokens, credits)
    known = credits == credits
    if is_torch(logp_new):
        import torch

        c = torch.where(known, credits, torch.zeros_like(credits)).to(log_rho.dtype)
        rho = torch.exp(log_rho + (log_rho.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO) - log_rho).detach())
        gain = c * rho
        flat = torch.zeros_like(known)
        if clip is not None:
            bounded = c * rho.clamp(1 - clip, 1 + clip)
            flat = bounded < gain
            gain = torch.minimum(gain, bounded)
        residual = torch.where(flat, torch.zeros_like(rho), -c * rho).detach()
        clamped = int((log_rho.abs() > MAX_LOG_RATIO).sum())
        return TurnLoss(-(weight * gain).sum(), -gain, log_rho.detach(), residual, clamped)
    c = np.where(known, credits, 0.0)
    rho = np.exp(np.clip(log_rho, -MAX_LOG_RATIO, MAX_LOG_RATIO))
    gain = c * rho
    residual = -gain
    if clip is not None:
        bounded = c * np.clip(rho, 1 - clip, 1 + clip)
        residual = np.where(bounded < gain, 0.0, residual)
        gain = np.minimum(gain, bounded)
    gradient = token_gradient(turn_ids, weight, residual, tokens, ratio)
    clamped = int((np.abs(log_rho) > MAX_LOG_RATIO).sum())
    return TurnLoss(float(-(weight * gain).sum()), -gain, log_rho, residual, clamped, gradient)
