"""``xskill.gate`` in Python: two sides of results → a verdict; the command ``xskill gate`` calls the same function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, get_args

from xskill.bounds import bounded
from xskill.errors import NoRecord, UsageError
from xskill.gate.compare import Missing, by_task, check_same_tasks, choose_metrics, compare
from xskill.gate.leak import check_leak
from xskill.gate.policies import POLICIES, GateRules, parse_margins
from xskill.gate.policies import decide as rule
from xskill.gate.sides import as_results
from xskill.gate.verdict import make_verdict
from xskill.records import BankHeader, Result, Skill, Trajectory, Verdict

Side = Mapping[str, list[Result]]


class JudgedBank(Protocol):
    """What the gate looks at in a bank; a :class:`xskill.bank.Bank` is one."""

    @property
    def header(self) -> BankHeader:
        """Its header."""

    @property
    def skills(self) -> Sequence[Skill]:
        """Its skills."""


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What the caller chose; see :func:`decide`.

    Raises:
        UsageError: a policy that is not there, or a number that no gate can work with.
    """

    policy: str
    metric: Sequence[str]
    guard: Sequence[str]
    max_regressions: int | None
    regression_tolerance: float
    alpha: float
    margin: Sequence[str]
    seed: int
    missing: Missing = "fail"

    def __post_init__(self) -> None:
        _ = POLICIES[self.policy]  # one that is not there is refused
        if self.missing not in get_args(Missing):
            raise UsageError(f"--missing {self.missing}: expected one of {', '.join(get_args(Missing))}")
        if not 0 < self.alpha < 1:
            raise UsageError(f"--alpha {self.alpha:g}: expected a number between 0 and 1")
        if not 0 <= self.regression_tolerance < float("inf"):  # NaN too: no task would ever count as worse
            raise UsageError(f"--regression-tolerance {self.regression_tolerance:g}: expected a finite number >= 0")


@bounded(max_regressions=(0, None), regression_tolerance=(0, None), seed=(0, None))
def decide(
    current: Iterable[Result | Trajectory],
    candidate: Iterable[Result | Trajectory],
    *,
    policy: str = "nonworse",
    metric: Sequence[str] | None = None,
    guard: Sequence[str] | None = None,
    max_regressions: int | None = None,
    regression_tolerance: float = 0.0,
    alpha: float = 0.05,
    margin: Sequence[str] | None = None,
    missing: Missing = "fail",
    current_bank: JudgedBank | None = None,
    candidate_bank: JudgedBank | None = None,
    seed: int = 0,
) -> Verdict:
    """Compare two streams of results over the same tasks and decide, as ``xskill gate`` does.

    Example::

        verdict = gate.decide(xskill.read("current.jsonl"), xskill.read("candidate.jsonl"), metric=["success:max"])
        if verdict.decision == "accept":
            bank.save(candidate, "bank.jsonl")

    Args:
        current: results of the current bank, or the trajectories of its evaluation (see
            :func:`xskill.gate.sides.as_results`).
        candidate: results of the candidate bank, on the same tasks.
        policy: a name of :data:`xskill.gate.policies.POLICIES`.
        metric: ``NAME:max`` or ``NAME:min``, what to decide on; a name alone is to be maximised, but for names such as
            ``tokens``, ``cost`` or ``error_rate``. Default: the one that the results hold; of trajectories ``success``,
            else ``reward``.
        guard: the same, for what must not get worse.
        max_regressions: reject when more tasks got worse.
        regression_tolerance: a task counts as worse when it lost more than this.
        alpha: 1 - level of the intervals.
        margin: ``M`` or ``NAME=M``: the loss that still counts as not worse, for the policy ``margin``.
        missing: a run without one of the metrics, or with NaN, is an error (``fail``), or its task is left out on both
            sides for that metric, which the verdict says (``drop``).
        current_bank: the bank behind ``current``, named in the verdict.
        candidate_bank: the bank behind ``candidate``; it must not be made from these tasks.
        seed: of bootstrap and permutations.

    Raises:
        UsageError: an unknown policy or metric, or a value out of range.
        TaskMismatch: the two sides have different tasks.
        MissingMetric: a result without one of the metrics.
        SplitLeak: the candidate bank was made from some of these tasks.
        NoRecord: a side without results.
    """
    options = GateOptions(
        policy, metric or (), guard or (), max_regressions, regression_tolerance, alpha, margin or (), seed, missing
    )
    now, then, unasked = as_results(current, candidate)
    old, new = by_task(now, "current"), by_task(then, "candidate")
    for side, results in (("current", old), ("candidate", new)):
        if not results:
            raise NoRecord(f"{side}: no record in the input")
    return judge(old, new, options, current_bank, candidate_bank, unasked=unasked)[0]


def judge(
    old: Side,
    new: Side,
    options: GateOptions,
    current_bank: JudgedBank | None,
    candidate_bank: JudgedBank | None,
    *,
    unasked: Sequence[str] = (),
    names: tuple[str, str] = ("current results", "candidate results"),
) -> tuple[Verdict, list[str]]:
    """The verdict on results that are grouped by task.

    Args:
        old, new: the two sides.
        options: what the caller chose.
        current_bank, candidate_bank: see :func:`decide`.
        unasked: what to decide on where the caller chose no metric; nothing: the one that the results hold.
        names: how errors call the sides.

    Returns:
        The verdict, and the ids of the candidate's skills that name no source, so that no leak could be seen.
    """
    check_same_tasks(old, new)
    metrics = choose_metrics(old, options.metric or unasked, options.guard)
    unchecked: list[str] = []
    if candidate_bank is not None:
        unchecked = check_leak(candidate_bank.skills, old, candidate_bank.header.extra.get("questions", ()))
    rules = GateRules(parse_margins(options.margin, [m.name for m in metrics], options.policy), options.max_regressions)
    alpha, tolerance = options.alpha, options.regression_tolerance
    comparisons = [
        compare(
            old,
            new,
            metric,
            alpha=alpha,
            tolerance=tolerance,
            seed=options.seed,
            missing=options.missing,
            names=names,
        )
        for metric in metrics
    ]
    verdict = make_verdict(
        options.policy,
        rule(options.policy, comparisons, rules),
        comparisons,
        rules,
        alpha=alpha,
        tolerance=tolerance,
        current_bank=current_bank.header.version if current_bank is not None else None,
        candidate_bank=candidate_bank.header.version if candidate_bank is not None else None,
        extra={"skills_without_sources": len(unchecked)} if unchecked else None,
    )
    return verdict, unchecked
