"""When does a candidate replace the current bank? Each policy is a function and its row in one table.

Light, so that the command shows the policies in its help (docs/methods/gate.md says why each is as it is).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from xskill.choices import Choice, ChoiceTable
from xskill.errors import UsageError
from xskill.gate.tolerance import TOLERANCE

if TYPE_CHECKING:
    from xskill.gate.compare import Comparison

Decision = Literal["accept", "reject", "inconclusive"]


class Ruling(NamedTuple):
    """A decision and the sentences that explain it."""

    decision: Decision
    reasons: tuple[str, ...] = ()


class GateRules(NamedTuple):
    """What the caller allows."""

    margins: Mapping[str, float] = MappingProxyType({})
    """Metric → the largest loss that still counts as not worse; empty under a policy that takes no margins."""
    max_regressions: int | None = None
    """Number of tasks that may get worse; None: any."""


def nonworse(comparisons: Sequence[Comparison], rules: GateRules) -> Ruling:
    """Every metric at least as good, ties accepted: the rule of Branch2Skill."""
    return _reject_if(_worse(comparisons)) or Ruling("accept", ("no metric is worse",))


def strict(comparisons: Sequence[Comparison], rules: GateRules) -> Ruling:
    """The first metric strictly better, no guard worse: the rule of SkillOpt."""
    first, guards = comparisons[0], [c for c in comparisons if c.metric.role == "guard"]
    reasons = _worse(guards)
    if first.gain <= TOLERANCE:
        reasons.insert(0, f"{first.metric.name} is not strictly better ({_change(first)})")
    return _reject_if(reasons) or Ruling("accept", (f"{first.metric.name} is better ({_change(first)})",))


def pareto(comparisons: Sequence[Comparison], rules: GateRules) -> Ruling:
    """Not dominated: rejected only if no metric is better and one is worse. Guards must not be worse at all."""
    targets = [c for c in comparisons if c.metric.role == "metric"]
    reasons = _worse([c for c in comparisons if c.metric.role == "guard"])
    if _worse(targets) and not any(c.gain > TOLERANCE for c in targets):
        reasons = ["the current bank dominates", *_worse(targets), *reasons]
    return _reject_if(reasons) or Ruling("accept", ("the current bank does not dominate",))


def margin(comparisons: Sequence[Comparison], rules: GateRules) -> Ruling:
    """Three-way, by each metric's interval: non-inferior by less than its margin, shown worse, or neither.

    All metrics must pass, an intersection-union test: its level needs no correction for their number.
    """
    worse, open_ = [], []
    for c in comparisons:
        allowed = rules.margins[c.metric.name]
        low, high = c.gain_bounds
        shown = f"{c.metric.name}: change for the better in [{low:.4g}, {high:.4g}], margin {allowed:g}"
        if high < -allowed - TOLERANCE:
            worse.append(f"{shown}: worse by more than the margin")
        elif not low > -allowed + TOLERANCE:
            open_.append(f"{shown}: these tasks cannot tell")
    if worse:
        return Ruling("reject", tuple(worse + open_))
    return Ruling("inconclusive", tuple(open_)) if open_ else Ruling("accept", ("every metric within its margin",))


class GatePolicy(Choice):
    """A policy: ``implementation(comparisons, rules)`` gives a :class:`Ruling`.

    It gets one :class:`xskill.gate.compare.Comparison` a metric, those of ``--metric`` first, and :class:`GateRules`.
    """

    needs_margins: bool = False
    """Whether it needs a ``--margin`` for every metric; other policies refuse the option."""


POLICIES = ChoiceTable(
    "--policy",
    GatePolicy,
    [
        GatePolicy("nonworse", "every metric at least as good, ties pass", nonworse),
        GatePolicy("strict", "the first metric better, guards not worse", strict),
        GatePolicy("pareto", "not dominated", pareto),
        GatePolicy(
            "margin", "by a paired interval, may also find that these tasks cannot tell", margin, needs_margins=True
        ),
    ],
    group="xskill.gate_policies",
)


def parse_margins(texts: Sequence[str], names: Sequence[str], policy: str) -> dict[str, float]:
    """``M`` (for all metrics) and ``NAME=M`` → metric → margin. Only a policy that needs them takes them, one each."""
    if not POLICIES[policy].needs_margins:
        if texts:
            raise UsageError(f"--margin is for --policy margin, not {policy}")
        return {}
    margins: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf or (equals and name not in names):
            raise UsageError(
                f"--margin {text}: expected a finite number >= 0, or NAME=NUMBER with one of: {', '.join(names)}"
            )
        margins |= {name: value} if equals else {other: value for other in names if other not in margins}
    missing = [name for name in names if name not in margins]
    if missing:
        raise UsageError(f"--policy {policy} needs --margin M, the loss that still counts as not worse ({missing[0]})")
    return margins


def decide(policy: str, comparisons: Sequence[Comparison], rules: GateRules) -> Ruling:
    """The ruling of a policy, then of the cap on tasks that got worse, which holds under every policy."""
    ruling: Ruling = POLICIES[policy].load()(comparisons, rules)
    worse = regressed_tasks(comparisons)
    if rules.max_regressions is not None and len(worse) > rules.max_regressions:
        shown = ", ".join(worse[:5]) + (" …" if len(worse) > 5 else "")
        reason = f"{len(worse)} tasks got worse, {rules.max_regressions} allowed: {shown}"
        kept = ruling.reasons if ruling.decision != "accept" else ()
        return Ruling("reject", (*kept, reason))
    return ruling


def regressed_tasks(comparisons: Sequence[Comparison]) -> list[str]:
    """Tasks that got worse in at least one metric, sorted."""
    return sorted({r.task_id for c in comparisons for r in c.regressions})


def _worse(comparisons: Sequence[Comparison]) -> list[str]:
    return [f"{c.metric.name} is worse ({_change(c)})" for c in comparisons if c.gain < -TOLERANCE]


def _change(c: Comparison) -> str:
    return f"{c.current:.6g} to {c.candidate:.6g}"


def _reject_if(reasons: Sequence[str]) -> Ruling | None:
    return Ruling("reject", tuple(reasons)) if reasons else None
