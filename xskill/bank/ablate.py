"""Leave one out: which skill (or edit) helps, which hurts, which does nothing."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from xskill.bank.candidate import Caps, apply_edits
from xskill.bank.changes import diff
from xskill.bank.skillbank import Bank, make_bank
from xskill.errors import BadData, NoInput
from xskill.gate.compare import Metric, by_task, compare
from xskill.gate.statistics import holm
from xskill.gate.tolerance import TOLERANCE
from xskill.records import Edit, Result, Skill

Effect = Literal["helps", "hurts", "nothing"]


@dataclass(frozen=True, slots=True)
class Variant:
    """The candidate without one skill or edit."""

    id: str
    title: str
    bank: Bank


def without_each_skill(candidate: Bank, current: Bank | None = None) -> list[Variant]:
    """One variant a skill, the biggest suspect first; with ``current`` only for skills that are new or changed."""
    skills: Sequence[Skill] = candidate.skills
    if current is not None:
        changes = diff(current, candidate)
        suspects = {skill.id for skill in changes.added} | {new.id for _, new, _ in changes.changed}
        skills = [skill for skill in skills if skill.id in suspects]
    return [
        Variant(skill.id, skill.title, make_bank(s for s in candidate.skills if s.id != skill.id))
        for skill in sorted(skills, key=suspicion)
    ]


def without_each_edit(current: Bank, edits: Sequence[Edit], caps: Caps) -> tuple[Bank, list[Variant]]:
    """The bank with all edits, and one variant an applied edit."""
    candidate, outcomes = apply_edits(current, edits, caps)
    variants = []
    for number, outcome in enumerate(outcomes):
        if outcome.status == "applied":
            rest, _ = apply_edits(current, [*edits[:number], *edits[number + 1 :]], caps)
            edit = outcome.edit
            title = edit.skill.title if edit.skill is not None else f"delete {edit.target}"
            variants.append(Variant(outcome.skill or edit.target or "", title, rest))
    return candidate, variants


def suspicion(skill: Skill) -> tuple[bool, float, float, float, str]:
    """Sort key: unproven first, then the larger q-value, the smaller lift, the fewer episodes."""
    evidence = skill.evidence
    return (
        skill.status != "unproven",
        -_number(evidence.get("q_value"), 1.0),
        _number(evidence.get("lift"), 0.0),
        _number(evidence.get("episodes"), 0.0),
        skill.id,
    )


def ablate(
    candidate: Bank,
    variants: Sequence[Variant],
    metric: Metric,
    run: Callable[[Bank], list[Result]],
    *,
    alpha: float = 0.05,
    seed: int = 0,
) -> dict[str, Any]:
    """Score the candidate and each variant on the same tasks and seeds.

    ``effect`` = metric with the skill - metric without it; the verdict is its sign (reversed for a minimised metric),
    ``p_value`` how easily chance gives as much, ``p_holm`` that corrected for the number of skills tried.
    """
    full = by_task(run(candidate), "candidate")
    rows: list[dict[str, Any]] = []
    for variant in variants:
        comparison = compare(by_task(run(variant.bank), "ablated"), full, metric, alpha=alpha, seed=seed)
        gain = comparison.gain
        verdict: Effect = "helps" if gain > TOLERANCE else "hurts" if gain < -TOLERANCE else "nothing"
        rows.append(
            {
                "id": variant.id,
                "title": variant.title,
                "verdict": verdict,
                "effect": comparison.difference,
                "low": comparison.interval.low,
                "high": comparison.interval.high,
                "p_value": comparison.test.p_value,
                "without": comparison.current,
            }
        )
    for row, adjusted in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    means = [math.fsum(float(r.metrics[metric.name]) for r in results) / len(results) for results in full.values()]
    return {
        "bank": candidate.version,
        "metric": metric.name,
        "goal": metric.goal,
        "tasks": len(full),
        "with_all": math.fsum(means) / len(means),
        "skills": rows,
    }


def as_text(report: dict[str, Any]) -> str:
    """The report for people, worst first as it was run."""
    lines = [
        f"bank {report['bank']}: {report['metric']} {report['with_all']:.4g} with all skills, {report['tasks']} tasks"
    ]
    for row in report["skills"]:
        change = f"{row['effect']:+.4g} [{row['low']:+.4g}, {row['high']:+.4g}]"
        chance = f"p {row['p_value']:.3g} (Holm {row['p_holm']:.3g})"
        lines.append(f"{row['verdict']:8} {change}  {chance}  {row['id']}  {row['title']}")
    return "\n".join(lines)


def kept_skills(text: str) -> set[str]:
    """The ids of skills to keep: those of ``id,id``, or those of a report's file that do not hurt."""
    if not os.path.exists(text):
        return {part.strip() for part in text.split(",") if part.strip()}
    try:
        data = Path(text).read_bytes()
    except OSError as error:
        raise NoInput(f"{text}: cannot read: {error.strerror}") from None
    try:
        report = msgspec.json.decode(data)
        return {row["id"] for row in report["skills"] if row["verdict"] != "hurts"}
    except (msgspec.DecodeError, TypeError, KeyError, ValueError, RecursionError):
        raise BadData(f"{text}: no report of `xskill bank ablate --json`") from None


def _number(value: Any, default: float) -> float:
    return float(value) if isinstance(value, (int, float)) else default
