"""Skills as text for a model's context."""

from __future__ import annotations

from collections.abc import Iterable

from xskill.records import Skill
from xskill.text.quoted import NOTE

HEADINGS = {"general": "General principles", "task": "Skills for this kind of task", "mistake": "Mistakes to avoid"}

PREAMBLE = f"What earlier episodes taught. {NOTE}"


def skill_lines(skill: Skill) -> list[str]:
    """One skill as a bullet with its conditions and steps."""
    lines = [f"- **{skill.title}** ({skill.id}): {skill.principle}"]
    if skill.when_to_apply:
        lines.append(f"  When: {skill.when_to_apply}")
    if skill.when_not:
        lines.append(f"  Not when: {skill.when_not}")
    lines += [f"  {number}. {step}" for number, step in enumerate(skill.steps, 1)]
    return lines


def render_prompt(skills: Iterable[Skill]) -> str:
    """Skills grouped by tier, in the order given within each; empty without skills."""
    given = list(skills)
    lines: list[str] = [PREAMBLE] if given else []
    for tier, heading in HEADINGS.items():
        chosen = [skill for skill in given if skill.tier == tier]
        if chosen:
            lines += ["", f"## {heading}", ""]
            for skill in chosen:
                lines += skill_lines(skill)
    return "\n".join(lines)
