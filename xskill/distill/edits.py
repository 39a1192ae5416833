"""Skills → edits of the present bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from xskill.bank.similarity import near_duplicate
from xskill.bank.skillbank import Bank
from xskill.records import Edit, Skill


def skill_edits(skills: Iterable[Skill], bank: Bank) -> list[Edit]:
    """Appends for skills that the bank does not cover, replacements where a skill now rests on no fewer episodes."""
    present = {skill.id: skill for skill in bank.skills}
    edits = []
    for skill in skills:
        source: Literal["success", "failure"] = "failure" if skill.tier == "mistake" else "success"
        support = skill.evidence.get("episodes")
        old = present.get(skill.id)
        if old is not None and old != skill and (support or 0) >= _episodes(old):
            reason = "the same routine, counted on more or other episodes"
            edits.append(
                Edit(op="replace", target=skill.id, skill=skill, rationale=reason, support=support, source=source)
            )
        elif old is None and not covered(skill, bank):
            reason = "no skill of the bank covers it"
            edits.append(Edit(op="append", skill=skill, rationale=reason, support=support, source=source))
    return edits


def _episodes(skill: Skill) -> int:
    episodes = skill.evidence.get("episodes")
    return episodes if isinstance(episodes, int) else 0


def covered(skill: Skill, bank: Bank) -> bool:
    """Whether a skill of the same tier says the same, or holds the whole routine for the same task type or for all."""
    if near_duplicate(skill, list(bank.skills)) is not None:
        return True
    tokens = skill.extra.get("tokens")
    if not isinstance(tokens, list):
        return False
    for other in bank.skills:
        theirs = other.extra.get("tokens")
        if (other.tier == "mistake") != (skill.tier == "mistake") or other.task_type not in (skill.task_type, None):
            continue
        if isinstance(theirs, list) and any(theirs[n : n + len(tokens)] == tokens for n in range(len(theirs))):
            return True
    return False


def best_first(edits: Sequence[Edit], most: int) -> list[Edit]:
    """All other edits, then at most ``most`` appends, lessons from failures before the others, each in their order."""
    appends = sorted((edit for edit in edits if edit.op == "append"), key=lambda edit: edit.source != "failure")
    return [edit for edit in edits if edit.op != "append"] + appends[:most]
