"""Sibling branches → what to avoid and what to prefer: lessons, their test, and the edits that say them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from xskill.bank.skillbank import Bank
from xskill.distill.edits import covered
from xskill.distill.plain_words import listed, phrase, sentence, telling, title
from xskill.distill.significance import short, status, upper_tail
from xskill.distill.skill_text import skill_id
from xskill.records import Edit, Evidence, Skill
from xskill.text.quoted import named, quote

FEWEST = 5
"""Questions in which an action must have been tried before it is tested, as ``Limits.min_support`` has it."""

Key = tuple[str | None, str, str]
"""Task type, the action before, the action."""
Kind = Literal["avoid", "prefer"]


@dataclass(slots=True)
class Lesson:
    """What was compared at one kind of place, seen from one action.

    The elite path was chosen for its success. So, where most rollouts fail, its siblings lose more often than not by
    chance alone. The test therefore looks at one rollout of each action that ``Evidence.extra.first``
    names, at one decision of each question: P(so many of this action's have the outcome | how many of the decision's
    have it), questions independent. Evidence without ``first`` is reported, and not tested.
    """

    kind: Kind
    key: Key
    better: dict[str, int] = field(default_factory=dict)
    """Other action → comparisons that the verdict ``avoid`` decided."""
    equal: int = 0
    questions: set[str] = field(default_factory=set)
    example: tuple[str, str] = ("", "")
    drawn: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """Question → of its first decision: rollouts, those with the outcome (failure for ``avoid``), rollouts of this
    action, those with the outcome."""
    p_value: float | None = None
    q_value: float | None = None

    @property
    def decided(self) -> int:
        return sum(self.better.values())

    @property
    def told(self) -> bool:
        """An action is to be avoided where it lost more often than it did as well; it is to be preferred where it won
        at least twice, or against two different ones, and changes something."""
        often = self.kind == "avoid" or (telling(self.key[2]) and max(self.decided, len(self.better)) >= 2)
        return self.decided > self.equal and often


def compare(evidence: Iterable[Evidence]) -> list[Lesson]:
    """All lessons, with the p-value of those that were tried in enough questions.

    Comparisons are pooled by task type, the canonical action before, and the two canonical actions. Pairs of one and
    the same canonical action teach nothing.
    """
    lessons: dict[tuple[Kind, Key], Lesson] = {}

    def lesson(kind: Kind, key: Key) -> Lesson:
        return lessons.setdefault((kind, key), Lesson(kind, key))

    decisions: dict[tuple[object, ...], dict[str, Evidence]] = {}
    for record in evidence:
        tokens = record.extra.get("tokens")
        if not isinstance(tokens, dict) or record.verdict == "revise":
            continue
        task_type, before, elite = _place_of(record)
        for sibling, candidate in zip(tokens["siblings"], record.siblings, strict=True):
            if not sibling or sibling[0] == elite:
                continue
            sides: tuple[tuple[Kind, str, str], ...] = (("prefer", elite, sibling[0]), ("avoid", sibling[0], elite))
            for kind, own, other in sides:
                one = lesson(kind, (task_type, before, own))
                one.questions.add(record.task_id)
                if record.verdict == "avoid":
                    one.better[other] = one.better.get(other, 0) + 1
                    one.example = one.example if one.example[0] else (record.elite.action, candidate.action)
                else:
                    one.equal += 1
        if _first(record) is not None:
            place = (record.task_id, record.depth, *record.prefix, record.elite.action)
            decisions.setdefault(place, {})[record.verdict] = record
    for records in sorted(decisions.values(), key=lambda records: min(r.depth for r in records.values())):
        _draw(list(records.values()), lessons)
    for one in lessons.values():
        if len(one.drawn) >= FEWEST:
            totals, positives, held, hits = np.array([one.drawn[name] for name in sorted(one.drawn)]).T
            one.p_value = upper_tail(totals, positives, held, int(hits.sum()))
    return list(lessons.values())


def _place_of(record: Evidence) -> tuple[str | None, str, str]:
    tokens = record.extra["tokens"]
    return record.extra.get("task_type"), tokens["prefix"][-1] if tokens["prefix"] else "", tokens["elite"][0]


def _first(record: Evidence) -> tuple[bool, list[bool]] | None:
    """How the named rollouts of the elite and of the siblings ended; None where the evidence does not say."""
    first = record.extra.get("first")
    elite, siblings = (first.get("elite"), first.get("siblings")) if isinstance(first, dict) else (None, None)
    if not isinstance(elite, bool) or not isinstance(siblings, list) or len(siblings) != len(record.siblings):
        return None
    return elite, [won is True for won in siblings]


def _draw(records: Sequence[Evidence], lessons: dict[tuple[Kind, Key], Lesson]) -> None:
    """One decision, given by the records of its verdicts: the outcome of one rollout of each action."""
    task_type, before, elite = _place_of(records[0])
    ended: list[tuple[str, bool]] = []
    for record in records:
        first, siblings = _first(record) or (False, [])
        ended = ended or [(elite, first)]
        tokens = record.extra["tokens"]["siblings"]
        ended += [(sibling[0], won) for sibling, won in zip(tokens, siblings, strict=True) if sibling]
    for action in dict.fromkeys(action for action, _ in ended):
        own = [won for other, won in ended if other == action]
        sides: tuple[tuple[Kind, bool], ...] = (("avoid", False), ("prefer", True))
        for kind, outcome in sides:
            concerned = lessons.get((kind, (task_type, before, action)))
            if concerned is not None:
                positives = sum(won is outcome for _, won in ended)
                row = (len(ended), positives, len(own), sum(won is outcome for won in own))
                concerned.drawn.setdefault(records[0].task_id, row)


def lesson_edits(lessons: Iterable[Lesson], bank: Bank) -> list[Edit]:
    """``avoid`` and ``prefer`` lessons, best supported first, as appends of what the bank does not cover."""
    skills = [_avoid(one) if one.kind == "avoid" else _prefer(one) for one in lessons if one.told]
    edits = [
        Edit(
            op="append",
            skill=skill,
            rationale=f"{skill.extra['kind']}: {skill.evidence['comparisons']} comparisons of sibling branches",
            support=skill.evidence["comparisons"],
            source="failure" if skill.tier == "mistake" else "success",
        )
        for skill in skills
        if not covered(skill, bank)
    ]
    return sorted(edits, key=lambda edit: (-(edit.support or 0), edit.skill.id if edit.skill else ""))


def _avoid(lesson: Lesson) -> Skill:
    task_type, before, action = lesson.key
    others = _best(lesson)
    place = _place(before)
    return Skill(
        id=skill_id("mistake", task_type, "avoid", before, action),
        tier="mistake",
        task_type=task_type,
        title=sentence(f"{place}, do not {phrase(action)}"),
        principle=(
            f"{sentence(phrase(others[0]))} instead: in {lesson.decided} of {lesson.decided + lesson.equal} "
            f"comparisons of branches from the same state it succeeded where this failed. "
            f"Seen: {quote(lesson.example[0])} against {quote(lesson.example[1])}."
        ),
        when_to_apply=_when(task_type, place),
        evidence=_evidence(lesson),
        status=status(lesson.q_value),
        extra={"kind": "avoid"},
    )


def _prefer(lesson: Lesson) -> Skill:
    task_type, before, action = lesson.key
    place = _place(before)
    return Skill(
        id=skill_id("task" if task_type else "general", task_type, "prefer", before, action),
        tier="task" if task_type else "general",
        task_type=task_type,
        title=sentence(f"{place}, {phrase(action)}"),
        principle=(
            f"In {lesson.decided} of {lesson.decided + lesson.equal} comparisons of branches from the same state this "
            f"succeeded where the other failed."
        ),
        when_to_apply=_when(task_type, place),
        when_not=f"It was compared only with: {listed([title([token]) for token in _best(lesson)])}.",
        steps=[sentence(phrase(action)) + f": {quote(lesson.example[0])}"],
        evidence=_evidence(lesson),
        status=status(lesson.q_value),
        extra={"kind": "prefer"},
    )


def _best(lesson: Lesson) -> list[str]:
    """The actions it was compared with, those first that decided most."""
    return sorted(lesson.better, key=lambda token: (-lesson.better[token], token))


def _place(before: str) -> str:
    return f"after this: {phrase(before)}" if before else "at the start"


def _when(task_type: str | None, place: str) -> str:
    where = f"Tasks of the type {named(task_type)}; " if task_type else ""
    return sentence(f"{where}{place}.")


def _evidence(lesson: Lesson) -> dict[str, object]:
    """``rollouts`` were tested, ``positives`` of them with the outcome: failure to avoid, success to prefer."""
    tested: dict[str, object] = {}
    if lesson.p_value is not None and lesson.q_value is not None:
        _, _, held, hits = (sum(column) for column in zip(*lesson.drawn.values(), strict=True))
        tested = {
            "rollouts": held,
            "positives": hits,
            "p_value": short(lesson.p_value),
            "q_value": short(lesson.q_value),
        }
    return {
        "comparisons": lesson.decided,
        "equivalent": lesson.equal,
        "against": {token: lesson.better[token] for token in sorted(lesson.better)},
        **tested,
        "sources": sorted(lesson.questions),
    }
