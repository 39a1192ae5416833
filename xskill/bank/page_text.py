"""A bank as a page of text."""

from __future__ import annotations

from typing import Any

from xskill.bank.agent_skills import evidence_lines
from xskill.bank.prompt import HEADINGS, render_prompt
from xskill.bank.skillbank import Bank
from xskill.records import Skill
from xskill.text.quoted import estimate_tokens
from xskill.text.terminal import clean_line


def as_rows(bank: Bank, only: str | None = None) -> dict[str, Any]:
    """Header, counts and skills for machines."""
    return {
        "version": bank.version,
        "parent": bank.header.parent,
        "decision": bank.header.decision,
        "tokens": estimate_tokens(render_prompt(bank.skills)),
        "skills": [skill for skill in bank.skills if only in (None, skill.id)],
    }


def as_text(bank: Bank, only: str | None = None) -> str:
    """One line of facts, then the skills by tier; of one skill (``only``) the whole record."""
    if only is not None:
        return "\n".join(clean_line(line) for skill in bank.skills if skill.id == only for line in _whole(skill))
    counts = [f"{sum(skill.tier == tier for skill in bank.skills)} {tier}" for tier in HEADINGS]
    facts = [f"bank {bank.version}", ", ".join(counts), f"about {estimate_tokens(render_prompt(bank.skills)):,} tokens"]
    if bank.header.parent:
        facts.append(f"from {bank.header.parent}")
    if bank.header.decision:
        facts.append(f"{bank.header.decision.get('decision')} by {bank.header.decision.get('policy')}")
    lines = [" · ".join(facts)]
    for tier, heading in HEADINGS.items():
        chosen = [skill for skill in bank.skills if skill.tier == tier]
        if chosen:
            lines += ["", heading.upper()]
        for task_type in dict.fromkeys(skill.task_type for skill in chosen):
            if task_type is not None:
                lines += ["", f"  {task_type}"]
            for skill in chosen:
                if skill.task_type == task_type:
                    lines += ["", *(f"  {line}" for line in _short(skill))]
    return "\n".join(map(clean_line, lines))


def _short(skill: Skill) -> list[str]:
    status = f"  [{skill.status}]" if skill.status else ""
    lines = [f"{skill.id}  {skill.title}{status}", f"    {skill.principle}"]
    if skill.when_to_apply:
        lines.append(f"    when: {skill.when_to_apply}")
    if skill.when_not:
        lines.append(f"    not:  {skill.when_not}")
    lines += [f"    {number}. {step}" for number, step in enumerate(skill.steps, 1)]
    evidence = evidence_lines(skill.evidence, None)
    return lines + ([] if evidence == ["- None recorded."] else [f"    {line}" for line in evidence])


def _whole(skill: Skill) -> list[str]:
    lines = _short(skill)
    for name, value in {**skill.evidence, **skill.extra}.items():
        lines.append(f"    {name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return lines
