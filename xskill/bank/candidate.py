"""Edits → a candidate bank, with one outcome an edit. Nothing is skipped in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from xskill.bank.similarity import near_duplicate, title_key
from xskill.bank.skillbank import Bank, make_bank
from xskill.errors import EditFailure
from xskill.records import Edit, Skill

Status = Literal["applied", "missing target", "ambiguous target", "incomplete", "conflict", "duplicate", "over the cap"]

FAILURES: tuple[Status, ...] = ("missing target", "ambiguous target", "incomplete")
"""What can only be a mistake of the editor: the run fails and the bank stays as it is."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of a bank: precision of use falls as the pool grows."""

    new: int | None = 3
    """Skills that one round may add."""
    per_type: int | None = 12
    """Task skills of one type."""
    total: int | None = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one edit."""

    edit: Edit
    status: Status
    detail: str
    skill: str | None = None
    """Id of the skill that was written, removed, or found to say the same."""


def apply_edits(bank: Bank, edits: Sequence[Edit], caps: Caps) -> tuple[Bank, list[Outcome]]:
    """Apply ``append``, ``replace`` and ``delete`` edits (Branch2Skill).

    Targets are resolved against the bank as it came: an id, else a normalised title. Of several edits of one target
    the one from failures wins, then the larger ``support``, then the earlier. Appends enter in that order too, until a
    cap is reached; one that says what a skill already says only adds its sources to that skill.

    Returns:
        The candidate (``parent`` = the version it came from; the same bank if nothing changed) and the outcomes, in
        the order of ``edits``. With an outcome in :data:`FAILURES` the caller should not use the candidate.
    """
    outcomes: dict[int, Outcome] = {}
    claims: dict[str, list[int]] = {}
    for index, edit in enumerate(edits):
        if problem := _incomplete(edit):
            outcomes[index] = Outcome(edit, "incomplete", problem)
        elif edit.op != "append":
            targets = _find(bank, edit.target or "")
            if len(targets) == 1:
                claims.setdefault(targets[0].id, []).append(index)
            elif targets:
                shown = ", ".join(skill.id for skill in targets)
                outcomes[index] = Outcome(
                    edit, "ambiguous target", f"{edit.target!r} is the title of {shown}; use an id"
                )
            else:
                outcomes[index] = Outcome(edit, "missing target", f"no skill has the id or title {edit.target!r}")
    skills = {skill.id: skill for skill in bank.skills}
    _change(skills, edits, claims, outcomes)
    _append(skills, edits, caps, outcomes)
    changed = tuple(skills.values())
    candidate = bank if changed == bank.skills else make_bank(changed, parent=bank.version, extra=bank.header.extra)
    return candidate, [outcomes[index] for index in range(len(edits))]


def edits_of(edits: Sequence[Edit], skills: Collection[str]) -> list[Edit]:
    """The edits that write, change or delete one of these skills (ids)."""
    return [edit for edit in edits if (edit.skill.id if edit.skill else edit.target) in skills]


def check_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Raise :class:`EditFailure`, naming every edit that failed."""
    failed = [(n, o) for n, o in enumerate(outcomes, 1) if o.status in FAILURES]
    if failed:
        shown = "; ".join(f"edit {n} ({o.edit.op}): {o.status}: {o.detail}" for n, o in failed[:5])
        more = f"; and {len(failed) - 5} more" if len(failed) > 5 else ""
        raise EditFailure(f"{len(failed)} of {len(outcomes)} edits failed, the bank is unchanged: {shown}{more}")


def report_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The edit report: one row an edit, the whole edit kept with what became of it."""
    return [
        {"edit": n, "status": o.status, "detail": o.detail, "skill": o.skill, "record": o.edit}
        for n, o in enumerate(outcomes, 1)
    ]


def _incomplete(edit: Edit) -> str | None:
    if edit.op in ("append", "replace") and edit.skill is None:
        return f"{edit.op} needs a skill"
    if edit.op in ("replace", "delete") and not edit.target:
        return f"{edit.op} needs a target"
    return None


def _find(bank: Bank, target: str) -> list[Skill]:
    by_id = [skill for skill in bank.skills if skill.id == target]
    key = title_key(target)
    return by_id or [skill for skill in bank.skills if key and title_key(skill.title) == key]


def _rank(edits: Sequence[Edit], index: int) -> tuple[bool, int, int]:
    edit = edits[index]
    return edit.source != "failure", -(edit.support or 0), index


def _change(
    skills: dict[str, Skill], edits: Sequence[Edit], claims: dict[str, list[int]], outcomes: dict[int, Outcome]
) -> None:
    """Replace and delete in place; a replacement keeps its position and takes over the old sources."""
    taken = set(skills)
    for target, indices in claims.items():
        winner, *losers = sorted(indices, key=lambda index: _rank(edits, index))
        edit = edits[winner]
        for index in losers:
            same = (edits[index].op, edits[index].skill) == (edit.op, edit.skill)
            detail = f"edit {winner + 1} changes {target!r} too" + ("" if same else " and goes first")
            outcomes[index] = Outcome(edits[index], "duplicate" if same else "conflict", detail, target)
        new = edit.skill
        if new is not None and edit.op == "replace":
            if new.id != target and new.id in taken:
                outcomes[winner] = Outcome(edit, "conflict", f"the id {new.id!r} belongs to another skill", new.id)
                continue
            taken.add(new.id)
            kept = _with_sources(new, skills[target])
            items = [(kept.id, kept) if key == target else (key, skill) for key, skill in skills.items()]
            outcomes[winner] = Outcome(edit, "applied", f"{target!r} replaced", new.id)
        else:
            items = [(key, skill) for key, skill in skills.items() if key != target]
            outcomes[winner] = Outcome(edit, "applied", f"{target!r} deleted", target)
        skills.clear()
        skills.update(items)


def _append(skills: dict[str, Skill], edits: Sequence[Edit], caps: Caps, outcomes: dict[int, Outcome]) -> None:
    added: list[tuple[int, Skill]] = []
    waiting = [index for index, edit in enumerate(edits) if edit.op == "append" and index not in outcomes]
    per_type = Counter(skill.task_type for skill in skills.values() if skill.tier == "task")
    for index in sorted(waiting, key=lambda index: _rank(edits, index)):
        edit = edits[index]
        new = edit.skill
        if new is None:
            continue
        now = [*skills.values(), *(skill for _, skill in added)]
        same = near_duplicate(new, now)
        if same is not None:
            if same.id in skills:
                skills[same.id] = _with_sources(same, new)
            else:
                added = [(n, _with_sources(skill, new) if skill.id == same.id else skill) for n, skill in added]
            outcomes[index] = Outcome(edit, "duplicate", f"{same.id!r} says the same; its sources were merged", same.id)
        elif any(skill.id == new.id for skill in now):
            outcomes[index] = Outcome(edit, "conflict", f"the id {new.id!r} belongs to another skill", new.id)
        elif caps.new is not None and len(added) >= caps.new:
            outcomes[index] = Outcome(edit, "over the cap", f"{caps.new} new skills a round (--max-new)")
        elif caps.total is not None and len(now) >= caps.total:
            outcomes[index] = Outcome(edit, "over the cap", f"{caps.total} skills in all (--max-total)")
        elif caps.per_type is not None and new.tier == "task" and per_type[new.task_type] >= caps.per_type:
            outcomes[index] = Outcome(edit, "over the cap", f"{caps.per_type} skills of one task type (--max-per-type)")
        else:
            added.append((index, new))
            per_type.update([new.task_type] if new.tier == "task" else [])
            outcomes[index] = Outcome(edit, "applied", "appended", new.id)
    skills.update((skill.id, skill) for _, skill in sorted(added, key=lambda pair: pair[0]))


def _with_sources(skill: Skill, other: Skill) -> Skill:
    """``skill``, made from the sources of both: a gate must know all questions that shaped it."""
    sources = {str(source) for one in (skill, other) for source in one.evidence.get("sources") or []}
    if not sources or sources == set(skill.evidence.get("sources") or []):
        return skill
    return msgspec.structs.replace(skill, evidence={**skill.evidence, "sources": sorted(sources)})
