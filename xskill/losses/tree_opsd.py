"""The loss of TreeOPSD (arXiv 2610.23181): pull each turn's ratio to its target, and stop there."""

from __future__ import annotations

from typing import Any

import numpy as np

from xskill.losses.turns import MAX_LOG_RATIO, Ratio, TurnLoss, is_torch, log_ratios, token_gradient, turn_weights


def tree_opsd_loss(
    logp_new: Any,
    logp_old: Any,
    turn_ids: Any,
    targets: Any,
    *,
    weights: Any = None,
    ratio: Ratio = "sum",
) -> TurnLoss:
    """``mean_t KL(q_t || p_t)`` with ``p = rho / (1 + rho)`` and rho the ratio of the turn's probabilities.

    The derivative by log rho is ``p - q``: it pushes while p < q, is 0 at ``rho = q / (1 - q)`` and turns round
    beyond. |log rho| is clamped at 20, straight through: the gradient stays p - q.

    Args:
        logp_new: log-probabilities of the tokens under the current policy; any shape, numpy or torch (then the loss
            has a gradient).
        logp_old: the same under the behaviour policy.
        turn_ids: turn of each token, below N; -1 for tokens of no turn. Count turns through the whole batch.
        targets: [N] q in (0, 1); NaN leaves a turn out (a null target of ``xskill credit``).
        weights: [N] weights of the turns (``weights`` of ``xskill credit``: 1/k for each copy of a shared turn).
        ratio: ``sum`` over a turn's tokens, or ``mean`` (targets with a radius around 0.005 then).

    Raises:
        ValueError: shapes that differ, or an unknown ratio.
    """
    log_rho, tokens = log_ratios(logp_new, logp_old, turn_ids, len(targets), ratio)
    weight = turn_weights(weights, tokens, targets)
    known = targets == targets
    if is_torch(logp_new):
        import torch
        from torch.nn.functional import softplus

        q = torch.where(known, targets, torch.full_like(targets, 0.5)).to(log_rho.dtype)
        x = log_rho + (log_rho.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO) - log_rho).detach()
        entropy = q * torch.log(q) + (1 - q) * torch.log1p(-q)
        per_turn = torch.where(weight > 0, entropy + q * softplus(-x) + (1 - q) * softplus(x), torch.zeros_like(q))
        residual = torch.where(weight > 0, torch.sigmoid(x) - q, torch.zeros_like(q)).detach()
        clamped = int((log_rho.abs() > MAX_LOG_RATIO).sum())
        return TurnLoss((weight * per_turn).sum(), per_turn, log_rho.detach(), residual, clamped)
    q = np.where(known, targets, 0.5)
    x = np.clip(log_rho, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    entropy = q * np.log(q) + (1 - q) * np.log1p(-q)
    per_turn = np.where(weight > 0, entropy + q * np.logaddexp(0, -x) + (1 - q) * np.logaddexp(0, x), 0.0)
    residual = np.where(weight > 0, 1 / (1 + np.exp(-x)) - q, 0.0)
    gradient = token_gradient(turn_ids, weight, residual, tokens, ratio)
    clamped = int((np.abs(log_rho) > MAX_LOG_RATIO).sum())
    return TurnLoss(float((weight * per_turn).sum()), per_turn, log_rho, residual, clamped, gradient)
