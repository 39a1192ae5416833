"""Two result streams → one comparison a metric, over exactly the same tasks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xskill.array_types import Floats
from xskill.errors import BadData, MissingMetric, TaskMismatch, UsageError
from xskill.gate.intervals import Interval, cluster_bootstrap, newcombe, paired_t, tango, wider
from xskill.gate.power import detectable, spread
from xskill.gate.statistics import Test, mcnemar_exact, paired_permutation, regression_chance
from xskill.gate.tolerance import TOLERANCE
from xskill.records import Result

Goal = Literal["max", "min"]
Role = Literal["metric", "guard"]
Side = Mapping[str, Sequence[Result]]
Missing = Literal["fail", "drop"]

LOWER_IS_BETTER = frozenset(
    "cost costs cer duration error errors failure failures latency length loss losses mae mse perplexity ppl price "
    "regret retries rmse seconds steps time timeouts tokens turns violations wer".split()
)
"""Words in the name of a metric of which less is better, where the caller gives no direction."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a result, the direction in which it is better, and what it is for."""

    name: str
    goal: Goal = "max"
    role: Role = "metric"


@dataclass(frozen=True, slots=True)
class Regression:
    """One task on which the candidate is worse by more than the tolerance."""

    task_id: str
    metric: str
    current: float
    candidate: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric over all tasks. Differences are candidate minus current, whatever the direction."""

    metric: Metric
    n: int
    binary: bool
    current: float
    candidate: float
    interval: Interval
    newcombe: Interval | None
    test: Test
    wins: int
    ties: int
    losses: int
    regressions: tuple[Regression, ...]
    expected_regressions: float | None
    """Number of regressions that two runs of one and the same bank would show on average; None when a task ran once on
    a side, which tells nothing of its noise."""
    deviation: float
    detectable: float | None
    """None when no drop that is possible would be found, or none can be told from one task."""
    dropped: tuple[str, ...] = ()
    """Tasks left out, because a run on one side lacks the metric."""

    @property
    def difference(self) -> float:
        return self.candidate - self.current

    @property
    def gain(self) -> float:
        """The difference, signed so that positive is better."""
        return self.difference if self.metric.goal == "max" else -self.difference

    @property
    def gain_bounds(self) -> tuple[float, float]:
        """The interval, signed so that positive is better."""
        low, high = self.interval.low, self.interval.high
        return (low, high) if self.metric.goal == "max" else (-high, -low)


def parse_metric(text: str, role: Role = "metric") -> Metric:
    """``NAME``, ``NAME:max`` or ``NAME:min`` → a :class:`Metric`.

    A name alone is to be maximised, unless one of its words is in :data:`LOWER_IS_BETTER`.
    """
    name, colon, goal = text.rpartition(":")
    if not colon:
        words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower())
        return Metric(text, "max" if LOWER_IS_BETTER.isdisjoint(words) else "min", role)
    if goal not in ("max", "min") or not name:
        raise UsageError(f"--{role} {text}: expected NAME:max or NAME:min")
    return Metric(name, "max" if goal == "max" else "min", role)


def by_task(results: Iterable[Result], side: str) -> dict[str, list[Result]]:
    """Results grouped by task, in task order; a task and repeat that comes twice is an error."""
    seen: dict[str, dict[int | None, Result]] = {}
    for result in results:
        repeats = seen.setdefault(result.task_id, {})
        if result.repeat in repeats:
            which = "without a repeat number" if result.repeat is None else f"repeat {result.repeat}"
            raise BadData(
                f"{side} results: task {result.task_id!r} {which} is there twice; number repeated runs with `repeat`"
            )
        repeats[result.repeat] = result
    return {task: list(seen[task].values()) for task in sorted(seen)}


def check_same_tasks(current: Side, candidate: Side) -> None:
    """Raise :class:`TaskMismatch`, listing the difference, unless both sides hold the same tasks."""
    parts = []
    for what, missing in (
        ("only in the current results", sorted(set(current) - set(candidate))),
        ("only in the candidate results", sorted(set(candidate) - set(current))),
    ):
        if missing:
            shown = ", ".join(missing[:10]) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
            parts.append(f"{len(missing)} {what}: {shown}")
    if parts:
        raise TaskMismatch("the two sides were not run on the same tasks: " + "; ".join(parts))


def choose_metrics(side: Side, metrics: Sequence[str], guards: Sequence[str]) -> list[Metric]:
    """The metrics asked for; without any, the one that the results hold."""
    chosen = [parse_metric(text) for text in metrics]
    if not chosen:
        names = sorted({name for results in side.values() for result in results for name in result.metrics})
        names = [name for name in names if name not in {parse_metric(text, "guard").name for text in guards}]
        if len(names) != 1:
            shown = ", ".join(names) if names else "none"
            raise UsageError(f"the results hold {len(names)} metrics ({shown}); name one: --metric NAME:max|min")
        chosen = [parse_metric(names[0])]
    chosen += [parse_metric(text, "guard") for text in guards]
    double = {metric.name for metric in chosen if sum(other.name == metric.name for other in chosen) > 1}
    if double:
        raise UsageError(f"the metric {sorted(double)[0]!r} was named twice")
    return chosen


def compare(
    current: Side,
    candidate: Side,
    metric: Metric,
    *,
    alpha: float,
    tolerance: float = 0.0,
    seed: int = 0,
    missing: Missing = "fail",
    names: tuple[str, str] = ("current results", "candidate results"),
) -> Comparison:
    """Everything the gate knows about one metric (docs/methods/gate.md).

    Args:
        current, candidate: results by task, the same tasks on both sides (:func:`check_same_tasks`).
        alpha: 1 - level of the interval.
        tolerance: a task counts as a regression when it is worse by more than this.
        missing: a run without the metric, or with a NaN, is an error, or its task is left out on both sides.
        names: how errors call the sides.

    Raises:
        MissingMetric: a run without the metric; with ``drop`` no task whose runs all have it.
    """
    sides = (current, candidate)
    lacking = {
        task
        for task in current
        for side in sides
        if missing == "drop" and any(_lacks(r, metric.name) for r in side[task])
    }
    tasks = [task for task in sorted(current) if task not in lacking]
    if not tasks:
        raise MissingMetric(f"no task has the metric {metric.name!r} in all its runs on both sides")
    values = [
        (_values(current, task, metric.name, names[0]), _values(candidate, task, metric.name, names[1]))
        for task in tasks
    ]
    old = np.asarray([_mean(a) for a, _ in values])
    new = np.asarray([_mean(b) for _, b in values])
    sign = 1.0 if metric.goal == "max" else -1.0
    gains = sign * (new - old)
    wins, losses = int((gains > TOLERANCE).sum()), int((gains < -TOLERANCE).sum())
    both_sides = np.concatenate([old, new])
    binary = bool(np.isin(both_sides, (0.0, 1.0)).all())
    reach = _reach(both_sides)
    deviation = spread(gains, reach)
    if binary:
        up, down = int((new > old).sum()), int((new < old).sum())
        interval = tango(up, down, old.size, alpha)
        both = int((new * old).sum())
        other = newcombe(both, up, down, old.size - both - up - down, alpha)
        test = Test(mcnemar_exact(wins, losses), "exact McNemar")
    else:
        wide = paired_t(new - old, alpha, reach=reach)
        interval = wider(wide, cluster_bootstrap(new - old, alpha, seed=seed))
        other = None
        test = paired_permutation(gains, seed=seed)
    return Comparison(
        metric=metric,
        n=old.size,
        binary=binary,
        current=float(old.mean()),
        candidate=float(new.mean()),
        interval=interval,
        newcombe=other,
        test=test,
        wins=wins,
        ties=old.size - wins - losses,
        losses=losses,
        regressions=tuple(
            Regression(task, metric.name, float(a), float(b))
            for task, a, b, gain in zip(tasks, old, new, gains, strict=True)
            if gain < -tolerance - TOLERANCE
        ),
        expected_regressions=math.fsum(
            regression_chance([sign * v for v in a], [sign * v for v in b], tolerance, seed=seed) for a, b in values
        )
        if all(len(a) > 1 and len(b) > 1 for a, b in values)
        else None,
        deviation=deviation,
        detectable=_detectable(deviation, old.size, alpha, both_sides),
        dropped=tuple(sorted(lacking)),
    )


def _lacks(result: Result, name: str) -> bool:
    value = result.metrics.get(name)
    return value is None or not math.isfinite(value)


def _detectable(deviation: float, n: int, alpha: float, values: Floats) -> float | None:
    """:func:`detectable`, but of one task nothing is known, and a share changes by 1 at most."""
    if n < 2:
        return None
    least = detectable(deviation, n, alpha)
    shares = values.min() >= 0 and values.max() <= 1
    return None if shares and least > 1 else least


_WAY_OUT = "; run it again, or leave such tasks out on both sides: --missing drop"


def _values(side: Side, task: str, name: str, of: str) -> list[float]:
    values = []
    for result in side[task]:
        value = result.metrics.get(name)
        if value is None:
            there = ", ".join(sorted(result.metrics)) or "none"
            raise MissingMetric(f"{of}: task {task!r} has no metric {name!r} (it has: {there}){_WAY_OUT}")
        if not math.isfinite(value):
            raise MissingMetric(f"{of}: task {task!r}: metric {name!r} is {value}, not a finite number{_WAY_OUT}")
        values.append(float(value))
    return values


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _reach(values: Floats) -> float:
    """Largest change that one task could show: 1 for shares, else the range seen, else the size of the numbers."""
    if values.min() >= 0 and values.max() <= 1:
        return 1.0
    return float(np.ptp(values)) or float(np.abs(values).max())
