"""Skills and evidence → edits of the present bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xskill.bank.model import Bank
from xskill.bank.similarity import near_duplicate
from xskill.distill.skills import skill_id
from xskill.distill.wording import listed, named, phrase, quote, sentence, telling, title
from xskill.records import Edit, Evidence, Skill

CONVINCING = 5
"""Comparisons from which a preference is called supported."""


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
    found = skill.evidence.get("episodes")
    return found if isinstance(found, int) else 0


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


@dataclass(slots=True)
class _Choice:
    """What was compared at one kind of place: (task type, the action before, an action)."""

    better: dict[str, int] = field(default_factory=dict)
    """Other action → comparisons that the verdict ``avoid`` decided."""
    equal: int = 0
    questions: set[str] = field(default_factory=set)
    example: tuple[str, str] = ("", "")


def evidence_edits(evidence: Iterable[Evidence], bank: Bank, *, min_support: int = 1) -> list[Edit]:
    """``avoid`` and ``prefer`` lessons, best supported first, as appends of what the bank does not cover.

    Comparisons are pooled by task type, the canonical action before, and the two canonical actions. An action is to be
    avoided where it lost more often than it did as well; it is to be preferred where it won at least twice, or against
    two different ones, and changes something. Pairs of one and the same canonical action teach nothing.
    """
    prefer: dict[tuple[str | None, str, str], _Choice] = {}
    avoid: dict[tuple[str | None, str, str], _Choice] = {}
    for record in evidence:
        tokens = record.extra.get("tokens")
        if not isinstance(tokens, dict) or record.verdict == "revise":
            continue
        before = tokens["prefix"][-1] if tokens["prefix"] else ""
        elite = tokens["elite"][0]
        kind = record.extra.get("task_type")
        for sibling, candidate in zip(tokens["siblings"], record.siblings, strict=True):
            if not sibling or sibling[0] == elite:
                continue
            for table, own, other in ((prefer, elite, sibling[0]), (avoid, sibling[0], elite)):
                choice = table.setdefault((kind, before, own), _Choice())
                choice.questions.add(record.task_id)
                if record.verdict == "avoid":
                    choice.better[other] = choice.better.get(other, 0) + 1
                    choice.example = choice.example if choice.example[0] else (record.elite.action, candidate.action)
                else:
                    choice.equal += 1
    skills = [_avoid(key, choice) for key, choice in avoid.items() if _total(choice) > choice.equal]
    skills += [
        _prefer(key, choice)
        for key, choice in prefer.items()
        if telling(key[2]) and _total(choice) > choice.equal and max(_total(choice), len(choice.better)) >= 2
    ]
    edits = [
        Edit(
            op="append",
            skill=skill,
            rationale=f"{skill.extra['kind']}: {skill.evidence['comparisons']} comparisons of sibling branches",
            support=skill.evidence["comparisons"],
            source="failure" if skill.tier == "mistake" else "success",
        )
        for skill in skills
        if skill.evidence["comparisons"] >= min_support and not covered(skill, bank)
    ]
    return sorted(edits, key=lambda edit: (-(edit.support or 0), edit.skill.id if edit.skill else ""))


def _total(choice: _Choice) -> int:
    return sum(choice.better.values())


def _avoid(key: tuple[str | None, str, str], choice: _Choice) -> Skill:
    task_type, before, action = key
    others = sorted(choice.better, key=lambda token: (-choice.better[token], token))
    place = _place(before)
    return Skill(
        id=skill_id("mistake", task_type, "avoid", before, action),
        tier="mistake",
        task_type=task_type,
        title=sentence(f"{place}, do not {phrase(action)}"),
        principle=(
            f"{sentence(phrase(others[0]))} instead: in {_total(choice)} of {_total(choice) + choice.equal} "
            f"comparisons of branches from the same state it succeeded where this failed. "
            f"Seen: {quote(choice.example[0])} against {quote(choice.example[1])}."
        ),
        when_to_apply=_when(task_type, place),
        evidence=_evidence(choice),
        status=_status(choice),
        extra={"kind": "avoid"},
    )


def _prefer(key: tuple[str | None, str, str], choice: _Choice) -> Skill:
    task_type, before, action = key
    losers = sorted(choice.better, key=lambda token: (-choice.better[token], token))
    place = _place(before)
    return Skill(
        id=skill_id("task" if task_type else "general", task_type, "prefer", before, action),
        tier="task" if task_type else "general",
        task_type=task_type,
        title=sentence(f"{place}, {phrase(action)}"),
        principle=(
            f"In {_total(choice)} of {_total(choice) + choice.equal} comparisons of branches from the same state this "
            f"succeeded where the other failed."
        ),
        when_to_apply=_when(task_type, place),
        when_not=f"It was compared only with: {listed([title([token]) for token in losers])}.",
        steps=[sentence(phrase(action)) + f": {quote(choice.example[0])}"],
        evidence=_evidence(choice),
        status=_status(choice),
        extra={"kind": "prefer"},
    )


def _place(before: str) -> str:
    return f"after this: {phrase(before)}" if before else "at the start"


def _when(task_type: str | None, place: str) -> str:
    where = f"Tasks of the type {named(task_type)}; " if task_type else ""
    return sentence(f"{where}{place}.")


def _evidence(choice: _Choice) -> dict[str, object]:
    return {
        "comparisons": _total(choice),
        "equivalent": choice.equal,
        "against": {token: choice.better[token] for token in sorted(choice.better)},
        "sources": sorted(choice.questions),
    }


def _status(choice: _Choice) -> str:
    return "supported" if _total(choice) >= CONVINCING else "unproven"


def best_first(edits: Sequence[Edit], most: int) -> list[Edit]:
    """All other edits, then at most ``most`` appends, lessons from failures before the others, each in their order."""
    appends = sorted((edit for edit in edits if edit.op == "append"), key=lambda edit: edit.source != "failure")
    return [edit for edit in edits if edit.op != "append"] + appends[:most]
