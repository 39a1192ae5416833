"""The choices that X-Tree mining leaves open, as one value, and the authors' released settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from xskill.errors import UsageError

Outcome = Literal["success", "failure"]
SelfPairs = Literal["overlapping", "disjoint"]


@dataclass(frozen=True, slots=True)
class Gate:
    """How often a pair must occur to merge, by its length."""

    eta: float
    min_frequency: int

    def needed(self, length: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Least frequency f with f >= min_frequency and f - 1 > eta * length."""
        return np.maximum(self.min_frequency, np.floor(self.eta * length).astype(np.int64) + 2)


@dataclass(frozen=True, slots=True)
class MineRules:
    """When a pair may merge and how it is scored (arXiv 2609.32993, steps 2 and 3).

    X-Score(u, v) = f * (l_u + l_v)**p_length * (succ + epsilon)**p_success.
    """

    p_length: float = 1.0
    """Exponent of the merged length, in primitives."""
    p_success: float = 1.0
    """Exponent of the success share."""
    epsilon: float = 0.0
    """Added to the success share before the power."""
    eta: float = 0.5
    """A merge must save more than ``eta`` positions for each primitive it holds: f - 1 > eta * (l_u + l_v)."""
    min_frequency: int = 5
    max_length: int = 8
    """Longest node, in primitives."""
    max_skills: int = 256
    """Most nodes of the tree."""
    min_success_rate: float = 0.0
    min_families: int = 1
    """Least number of distinct task types that hold the pair; a null task type is none."""
    self_pairs: SelfPairs = "overlapping"
    """How often ``a a a`` holds (a, a): 2 overlapping, 1 disjoint (greedy from the left)."""
    successes_only: bool = False
    """Count and merge by successful episodes alone; the others are still tiled and tested: ``episodes``, ``lift`` and
    p-values of a node count all episodes that hold it; ``count``, ``task_types``, ``min_families`` successes only."""
    outcome: Outcome = "success"
    """Which outcome the score rewards; ``failure`` mines lessons."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("p_length", 0.0, 16.0),
            ("p_success", 0.0, 16.0),
            ("epsilon", 0.0, 1.0),
            ("eta", 0.0, 1e9),
            ("min_success_rate", 0.0, 1.0),
            ("min_frequency", 1, 2**30),
            ("max_length", 2, 2**30),
            ("max_skills", 0, 10**6),
            ("min_families", 1, math.inf),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                bound = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
                raise UsageError(f"--{name.replace('_', '-')} {value}: must be {bound}")
        for name, choices in (("self_pairs", get_args(SelfPairs)), ("outcome", get_args(Outcome))):
            if getattr(self, name) not in choices:
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: choose {' or '.join(choices)}")
        if self.successes_only and self.outcome == "failure":
            raise UsageError("--successes-only contradicts --outcome failure: a failure tree needs the failures")

    @property
    def gate(self) -> Gate:
        """The part of the rules that only shuts pairs out."""
        return Gate(self.eta, self.min_frequency)

    def score(self, frequency: int, length: int, rate: float) -> float:
        """X-Score of one pair, rounded to the 12 significant digits at which scores are compared."""
        exact: float = frequency * float(length) ** self.p_length * (rate + self.epsilon) ** self.p_success
        return float(f"{exact:.11e}")

    def as_config(self) -> dict[str, Any]:
        """The rules as they stand in a tree's header."""
        return asdict(self)


class RuleOptions(TypedDict, total=False):
    """The fields of :class:`MineRules` as keywords; None is the same as leaving one out."""

    p_length: float | None
    p_success: float | None
    epsilon: float | None
    eta: float | None
    min_frequency: int | None
    max_length: int | None
    max_skills: int | None
    min_success_rate: float | None
    min_families: int | None
    self_pairs: Literal["overlapping", "disjoint"] | None
    successes_only: bool | None
    outcome: Literal["success", "failure"] | None


PRESETS: dict[str, MineRules] = {
    "webarena": MineRules(
        max_skills=256, min_frequency=4, eta=0.3, max_length=12, successes_only=True, self_pairs="disjoint"
    ),
    "scienceworld": MineRules(
        max_skills=80,
        min_frequency=5,
        eta=0.5,
        max_length=8,
        successes_only=True,
        min_success_rate=0.9,
        min_families=2,
    ),
    "webshop": MineRules(max_skills=60, min_frequency=5, eta=0.5, max_length=8),
    "miniwob": MineRules(max_skills=200, min_frequency=4, eta=0.3, max_length=10, p_success=1.5, self_pairs="disjoint"),
}
"""Settings of the four released trees; exponents recovered from their merge order."""


def choose(preset: str | None, changes: Mapping[str, Any]) -> MineRules:
    """The preset (or the defaults) with the options that were given (those not None) on top.

    Raises:
        UsageError: no such preset, or a value out of range.
    """
    if preset is not None and preset not in PRESETS:
        raise UsageError(f"--preset {preset}: unknown; choose one of {', '.join(PRESETS)}")
    base = PRESETS[preset] if preset is not None else MineRules()
    return replace(base, **{name: value for name, value in changes.items() if value is not None})
