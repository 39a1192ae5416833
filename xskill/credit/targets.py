"""The bounded teacher and the student's residual (docs/methods/tree-opsd.md, steps 4, 5; arXiv 2610.23181)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from xskill.array_types import Floats
from xskill.errors import UsageError

Map = Literal["odds", "probability", "logistic"]
Ratio = Literal["sum", "mean"]

MAX_LOG_RATIO = 20.0
DEFAULT_RADIUS: dict[Ratio, float] = {"sum": 0.2, "mean": 0.005}


@dataclass(frozen=True, slots=True)
class Student:
    """Where the current policy stands towards its targets, turn by turn; NaN where unknown."""

    p: Floats
    residual: Floats
    """p - q: derivative of the loss by the log ratio."""
    loss: Floats
    """KL(q || p) in nats."""
    clamped: int
    """Turns whose |log ratio| was beyond :data:`MAX_LOG_RATIO`."""


def check_radius(kind: Map, radius: float) -> None:
    """Raise :class:`UsageError` for a radius at which no ratio within :data:`MAX_LOG_RATIO` meets the target."""
    top = {"odds": 1.0, "probability": 0.5, "logistic": MAX_LOG_RATIO / 4}[kind]
    if not 0 < radius < top:
        raise UsageError(f"--radius {radius:g}: the {kind} map needs a radius above 0 and below {top:g}")


def target(
    credit: Floats, kind: Map = "odds", radius: float = 0.2, scale: float | Floats = 1.0
) -> tuple[Floats, Floats]:
    """Teacher probability q and target ratio ``rho* = q / (1 - q)`` of each credit.

    With ``c = clip(credit / scale, -1, 1)``: ``odds`` rho* = 1 + r c; ``probability`` q = 1/2 + r c;
    ``logistic`` q = sigmoid(4 r c). q > 1/2 exactly where the credit is positive.

    Args:
        credit: any shape; NaN gives NaN.
        kind: the map.
        radius: r; bounds how far a target may be from indifference.
        scale: credit at which the target reaches its bound; 0 (a question without credit) gives q = 1/2.

    Raises:
        UsageError: a radius at which q would leave (0, 1).
    """
    check_radius(kind, radius)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        c = np.where(credit == 0, 0.0, np.clip(credit / scale, -1.0, 1.0))
    if kind == "odds":
        ratio = 1.0 + radius * c
        return ratio / (1.0 + ratio), ratio
    if kind == "probability":
        q = 0.5 + radius * c
        return q, q / (1.0 - q)
    ratio = np.exp(4.0 * radius * c)
    return 1.0 / (1.0 + np.exp(-4.0 * radius * c)), ratio


def radius_of_log_ratio(kind: Map, log_ratio: float) -> float:
    """The radius at which the target of credit 1 has this log ratio (above 0)."""
    if kind == "odds":
        return float(np.expm1(log_ratio))
    if kind == "probability":
        return float(np.tanh(log_ratio / 2) / 2)
    return log_ratio / 4


def log_ratio(logprob_new: Floats, logprob: Floats, n_tokens: Floats, ratio: Ratio = "sum") -> Floats:
    """log rho of each turn: the summed difference of its token log-probabilities, or their mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        difference = logprob_new - logprob
    return difference / n_tokens if ratio == "mean" else difference


def student(log_rho: Floats, q: Floats) -> Student:
    """p = sigmoid(log rho), the residual p - q and KL(q || p), in log space.

    Args:
        log_rho: log ratio of each turn; clamped to ±:data:`MAX_LOG_RATIO`. NaN gives NaN.
        q: target of each turn, in (0, 1).
    """
    x = np.clip(log_rho, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    p = 1.0 / (1.0 + np.exp(-x))
    loss = q * (np.log(q) + np.logaddexp(0.0, -x)) + (1.0 - q) * (np.log1p(-q) + np.logaddexp(0.0, x))
    return Student(p, p - q, np.maximum(loss, 0.0), int((np.abs(log_rho) > MAX_LOG_RATIO).sum()))
