"""What changed between two banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xskill.bank.skillbank import Bank
from xskill.records import Skill
from xskill.text.terminal import clean_line

PARTS = ("tier", "task_type", "title", "principle", "when_to_apply", "when_not", "steps", "status", "evidence", "extra")


@dataclass(frozen=True, slots=True)
class BankDifference:
    """Skills by id; ``changed`` holds (old, new, names of the parts that differ)."""

    added: tuple[Skill, ...]
    removed: tuple[Skill, ...]
    changed: tuple[tuple[Skill, Skill, tuple[str, ...]], ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def diff(old: Bank, new: Bank) -> BankDifference:
    """Compare two banks skill by skill; the order of skills is no difference."""
    before, after = ({skill.id: skill for skill in bank.skills} for bank in (old, new))
    changed = []
    for skill in new.skills:
        earlier = before.get(skill.id)
        if earlier is not None and earlier != skill:
            parts = tuple(part for part in PARTS if getattr(earlier, part) != getattr(skill, part))
            changed.append((earlier, skill, parts))
    return BankDifference(
        added=tuple(skill for skill in new.skills if skill.id not in before),
        removed=tuple(skill for skill in old.skills if skill.id not in after),
        changed=tuple(changed),
    )


def as_rows(old: Bank, new: Bank) -> dict[str, Any]:
    """The difference for machines."""
    changes = diff(old, new)
    return {
        "old": old.version,
        "new": new.version,
        "added": list(changes.added),
        "removed": list(changes.removed),
        "changed": [{"old": a, "new": b, "parts": list(parts)} for a, b, parts in changes.changed],
    }


def as_text(old: Bank, new: Bank) -> str:
    """The difference for people: ``+`` added, ``-`` removed, ``~`` changed with old and new parts."""
    changes = diff(old, new)
    lines = [
        f"{old.version} → {new.version}: {len(changes.added)} added, {len(changes.removed)} removed, "
        f"{len(changes.changed)} changed"
    ]
    lines += [f"+ {_line(skill)}" for skill in changes.added]
    lines += [f"- {_line(skill)}" for skill in changes.removed]
    for before, after, parts in changes.changed:
        lines.append(f"~ {_line(after)}")
        for part in parts:
            if part in ("evidence", "extra"):
                lines.append(f"    {part} differs")
            else:
                lines += [f"    - {part}: {getattr(before, part)}", f"    + {part}: {getattr(after, part)}"]
    return "\n".join(map(clean_line, lines))


def _line(skill: Skill) -> str:
    kind = skill.tier if skill.task_type is None else f"{skill.tier} {skill.task_type}"
    return f"{skill.id} [{kind}] {skill.title}"
