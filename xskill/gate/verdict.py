"""The verdict as a record for machines and as a table for people."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from xskill.gate.compare import Comparison
from xskill.gate.policies import GateRules, Ruling, regressed_tasks
from xskill.gate.power import accepts_equal
from xskill.gate.statistics import holm
from xskill.gate.tolerance import TOLERANCE
from xskill.records import Verdict


def make_verdict(
    policy: str,
    ruling: Ruling,
    comparisons: Sequence[Comparison],
    rules: GateRules,
    *,
    alpha: float,
    tolerance: float,
    current_bank: str | None = None,
    candidate_bank: str | None = None,
    extra: dict[str, Any] | None = None,
) -> Verdict:
    """Everything the decision stood on. Infinite bounds (one task, no spread) become null in JSON.

    ``p_holm`` corrects the p-values for the number of metrics, and stands only where the metric improved: it is for
    claiming an improvement, the decision does not use it.
    """
    adjusted = holm([c.test.p_value for c in comparisons])
    metrics = []
    for comparison, p_holm in zip(comparisons, adjusted, strict=True):
        row = _metric_row(comparison)
        if comparison.gain > TOLERANCE:
            row["p_holm"] = p_holm
        if comparison.metric.name in rules.margins:
            allowed = rules.margins[comparison.metric.name]
            row["margin"] = allowed
            if comparison.n > 1:
                row["accepts_equal"] = accepts_equal(allowed, comparison.deviation, comparison.n, alpha)
        metrics.append(row)
    regressions = [
        {"task_id": r.task_id, "metric": r.metric, "current": r.current, "candidate": r.candidate}
        for c in comparisons
        for r in c.regressions
    ]
    details: dict[str, Any] = {
        "alpha": alpha,
        "regression_tolerance": tolerance,
        "tasks_regressed": len(regressed_tasks(comparisons)),
        **({} if rules.max_regressions is None else {"max_regressions": rules.max_regressions}),
    }
    return Verdict(
        decision=ruling.decision,
        policy=policy,
        metrics=metrics,
        regressions=regressions,
        current_bank=current_bank,
        candidate_bank=candidate_bank,
        reasons=list(ruling.reasons),
        extra={**details, **(extra or {})},
    )


def _metric_row(c: Comparison) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": c.metric.name,
        "goal": c.metric.goal,
        "role": c.metric.role,
        "tasks": c.n,
        "binary": c.binary,
        "current": c.current,
        "candidate": c.candidate,
        "difference": c.difference,
        "low": c.interval.low,
        "high": c.interval.high,
        "interval": c.interval.method,
    }
    if c.newcombe is not None:
        row["newcombe"] = [c.newcombe.low, c.newcombe.high]
    return row | {
        "p_value": c.test.p_value,
        "test": c.test.method,
        "wins": c.wins,
        "ties": c.ties,
        "losses": c.losses,
        "regressed": len(c.regressions),
        "expected_regressions": c.expected_regressions,
        "detectable": c.detectable,
        **({"dropped": list(c.dropped)} if c.dropped else {}),
    }


def render(verdict: Verdict, *, width: int = 120, color: bool = False, shown: int = 10) -> str:
    """The verdict as text; ``shown`` regressed tasks are listed."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=color, color_system="auto" if color else None)
    tint = {"accept": "bold green", "reject": "bold red"}.get(verdict.decision, "bold yellow")
    console.print(Text(verdict.decision.upper(), style=tint), Text(f"policy {verdict.policy}"), *_banks(verdict))
    for reason in verdict.reasons:
        console.print(Text(f"  {reason}"), soft_wrap=True)
    level = 100 * (1 - verdict.extra.get("alpha", 0.05))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("metric", "current", "candidate", "change", f"{level:g}% interval", "p", "win/tie/loss", "finding"):
        table.add_column(Text(name), justify="left" if name in ("metric", "finding") else "right", no_wrap=True)
    for row in verdict.metrics:
        cells = [
            f"{row['name']} ({row['goal']}{', guard' if row['role'] == 'guard' else ''})",
            f"{row['current']:.4g}",
            f"{row['candidate']:.4g}",
            f"{row['difference']:+.4g}",
            f"[{row['low']:+.4g}, {row['high']:+.4g}]",
            f"{row['p_value']:.3g}",
            f"{row['wins']}/{row['ties']}/{row['losses']}",
            _finding(row),
        ]
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)
    for row in verdict.metrics:
        for sentence in _sentences(row):
            console.print(Text(sentence), soft_wrap=True)
    for row in verdict.regressions[:shown]:
        console.print(
            Text(f"  worse: {row['task_id']}  {row['metric']} {row['current']:.4g} → {row['candidate']:.4g}"),
            soft_wrap=True,
        )
    if len(verdict.regressions) > shown:
        console.print(Text(f"  and {len(verdict.regressions) - shown} more (--json lists all)"))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _sentences(row: dict[str, Any]) -> list[str]:
    """What these tasks can show, and how many regressions are mere noise."""
    move = "rise" if row["goal"] == "min" else "drop"
    if row["tasks"] == 1:
        power = f"With one task this gate cannot tell which {move} in {row['name']} it would see"
    elif row["detectable"] is None:
        power = f"With {row['tasks']} tasks this gate cannot be sure to see any {move} in {row['name']} (power 0.8)"
    else:
        power = f"With {row['tasks']} tasks this gate can see a {move} of {_amount(row)} in {row['name']} (power 0.8)"
    if "accepts_equal" in row:
        share = f"{100 * row['accepts_equal']:.0f}%"
        power += f"; at margin {row['margin']:g} it accepts an equally good bank in {share} of runs"
    chance = row["expected_regressions"]
    noise = (
        "how many would by chance cannot be told from one run of a task (repeat the runs)"
        if chance is None
        else f"two runs of one and the same bank would show {chance:.1f}"
    )
    lacking = row.get("dropped", ())
    shown = ", ".join(lacking[:5]) + (", …" if len(lacking) > 5 else "")
    left_out = f"Left out of {row['name']} on both sides, because a run lacks it (--missing drop): {shown}."
    count = "1 task" if len(lacking) == 1 else f"{len(lacking):,} tasks"
    said = [f"{left_out[:-1]} ({count})."] if lacking else []
    return [*said, power + ".", f"Tasks that got worse in {row['name']}: {row['regressed']}; {noise}."]


def _banks(verdict: Verdict) -> list[str]:
    if verdict.current_bank is None and verdict.candidate_bank is None:
        return []
    return [f"· bank {verdict.current_bank or '?'} against candidate {verdict.candidate_bank or '?'}"]


def _finding(row: dict[str, Any]) -> str:
    if row["low"] <= 0 <= row["high"]:
        return "statistically tied"
    return "better" if (row["difference"] > 0) == (row["goal"] == "max") else "worse"


def _amount(row: dict[str, Any]) -> str:
    """Shares in percentage points, other numbers as they are."""
    share = all(0 <= row[side] <= 1 for side in ("current", "candidate"))
    return f"{100 * row['detectable']:.0f} points" if share else f"{row['detectable']:.3g}"
