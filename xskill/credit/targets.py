"""The bounded teacher and the student's residual (TreeOPSD, arXiv 2610.23181; docs/methods/tree-opsd.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xskill.array_types import Floats
from xskill.credit.choices import MAPS, RATIOS
from xskill.errors import UsageError

MAX_LOG_RATIO = 20.0


@dataclass(frozen=True, slots=True)
class TeacherMap:
    """How credit becomes the teacher's probability q. With radius r, c is the credit clipped to [-1, 1]."""

    bound: float
    """Every radius must be below it, or q would leave (0, 1) or a range that log ratios can reach."""
    target: Callable[[Floats, float], tuple[Floats, Floats]]
    """(c, r) → q and the ratio ``rho* = q / (1 - q)``."""
    radius_of: Callable[[float], float]
    """The radius at which the target of c = 1 has this log ratio (above 0)."""


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


def _odds(c: Floats, radius: float) -> tuple[Floats, Floats]:
    ratio = 1.0 + radius * c
    return ratio / (1.0 + ratio), ratio


def _probability(c: Floats, radius: float) -> tuple[Floats, Floats]:
    q = 0.5 + radius * c
    return q, q / (1.0 - q)


def _logistic(c: Floats, radius: float) -> tuple[Floats, Floats]:
    return 1.0 / (1.0 + np.exp(-4.0 * radius * c)), np.exp(4.0 * radius * c)


ODDS = TeacherMap(1.0, _odds, lambda log_ratio: float(np.expm1(log_ratio)))
PROBABILITY = TeacherMap(0.5, _probability, lambda log_ratio: float(np.tanh(log_ratio / 2) / 2))
LOGISTIC = TeacherMap(MAX_LOG_RATIO / 4, _logistic, lambda log_ratio: log_ratio / 4)


def teacher_map(kind: str) -> TeacherMap:
    """The map of this name, one of :data:`xskill.credit.choices.MAPS`."""
    chosen: TeacherMap = MAPS[kind].load()
    return chosen


def check_radius(kind: str, radius: float) -> None:
    """Raise :class:`UsageError` for a radius at which no ratio within :data:`MAX_LOG_RATIO` meets the target."""
    top = teacher_map(kind).bound
    if not 0 < radius < top:
        raise UsageError(f"--radius {radius:g}: the {kind} map needs a radius above 0 and below {top:g}")


def target(
    credit: Floats, kind: str = "odds", radius: float = 0.2, scale: float | Floats = 1.0
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
    return teacher_map(kind).target(c, radius)


def log_ratio(logprob_new: Floats, logprob: Floats, n_tokens: Floats, ratio: str = "sum") -> Floats:
    """log rho of each turn: the summed difference of its token log-probabilities, or their mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        difference = logprob_new - logprob
    return difference / n_tokens if RATIOS[ratio].per_token else difference


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
