"""What a gate with these tasks can see: the smallest drop it finds, and how often it accepts an equal bank."""

from __future__ import annotations

import math
from statistics import NormalDist

from xskill.array_types import Floats


def spread(differences: Floats, reach: float) -> float:
    """Standard deviation of the differences, never below that of a single task that changed by ``reach``.

    Without the floor a sample of ties would claim to see any drop at all.
    """
    n = differences.size
    observed = float(differences.std(ddof=1)) if n > 1 else reach
    return max(observed, reach / math.sqrt(n))


def detectable(deviation: float, n: int, alpha: float, power: float = 0.8) -> float:
    """Smallest true difference that a two-sided test at ``alpha`` finds with probability ``power`` on n tasks.

    ``(z(1 - alpha/2) + z(power)) * deviation / sqrt(n)``, the normal approximation.
    """
    z = NormalDist().inv_cdf
    return (z(1 - alpha / 2) + z(power)) * deviation / math.sqrt(n)


def accepts_equal(margin: float, deviation: float, n: int, alpha: float) -> float:
    """Probability that the ``margin`` policy accepts a candidate that is exactly as good, in normal approximation.

    ``P(lower bound > -margin) = Phi(margin sqrt(n) / deviation - z(1 - alpha/2))``.
    """
    if deviation == 0:
        return 1.0
    normal = NormalDist()
    return normal.cdf(margin * math.sqrt(n) / deviation - normal.inv_cdf(1 - alpha / 2))
