"""The stage as a whole: a stream of trajectories → skills, or edits of a present bank."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from xskill.bank.candidate import Caps, apply_edits, check_outcomes
from xskill.bank.skillbank import Bank, make_bank
from xskill.bank.splits import check_split
from xskill.distill.edits import best_first, skill_edits
from xskill.distill.evidence import gather
from xskill.distill.evolve import Rates, evolve
from xskill.distill.experience import read_experience
from xskill.distill.lessons import compare, lesson_edits
from xskill.distill.statistical import Distilled, Limits, distill, merged
from xskill.records import Edit, Evidence, Trajectory
from xskill.tree.xtree import XTree

UNTIL_BRANCH = 2_000
"""An input without a branch among its first records holds no rollout trees: none is kept for evidence."""
MOST_ROLLOUTS = 50_000
"""Rollouts kept whole for their evidence; routines are learned from all."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a run found, and the questions that it saw."""

    distilled: Distilled
    lessons: tuple[Edit, ...]
    """Edits from sibling branches, best first."""
    questions: tuple[str, ...]
    skipped_rollouts: int
    """Rollouts beyond :data:`MOST_ROLLOUTS`, that gave no evidence."""

    def bank(self) -> Bank:
        """A new bank; the header names every question that was looked at, for the gate."""
        return make_bank(self.distilled.skills, extra={"questions": list(self.questions)})


class _Rollouts:
    """Keeps the trajectories that may have siblings while all of them pass."""

    def __init__(self) -> None:
        self.kept: list[Trajectory] = []
        self.branches = False
        self.skipped = 0

    def watch(self, records: Iterable[Trajectory]) -> Iterator[Trajectory]:
        for record in records:
            self.branches = self.branches or record.parent is not None
            if record.question_id is not None and record.steps:
                if len(self.kept) < (MOST_ROLLOUTS if self.branches else UNTIL_BRANCH):
                    self.kept.append(record)
                else:
                    self.skipped += 1
            yield record


def learn(
    records: Iterable[Trajectory],
    tree: XTree | None,
    limits: Limits,
    *,
    allowed_splits: Collection[str] = (),
    evidence: Sequence[Evidence] = (),
) -> Learned:
    """Skills from routines and failures, and lessons from branches that lost where the input holds rollout trees.

    Raises:
        HeldOut: a validation or test episode.
        NoSuccess: nothing succeeded, and there is no tree.
    """
    rollouts = _Rollouts()
    experience = read_experience(rollouts.watch(records), allowed_splits)
    found = [*evidence, *(gather(rollouts.kept) if rollouts.branches else [])]
    compared = compare(found)
    distilled = distill(experience, tree, limits, lessons=compared)
    lessons = lesson_edits(compared, make_bank(distilled.skills))
    room = max(0, min(limits.mistakes - sum(s.tier == "mistake" for s in distilled.skills), len(lessons)))
    extra = [edit.skill for edit in lessons if edit.skill is not None and edit.skill.tier == "mistake"][:room]
    skills = tuple(merged([*distilled.skills, *extra]))[: limits.total]
    return Learned(
        distilled=replace(distilled, skills=skills),
        lessons=tuple(lessons),
        questions=tuple(sorted({*experience.questions, *(record.task_id for record in evidence)})),
        skipped_rollouts=rollouts.skipped if rollouts.branches else 0,
    )


def learned_edits(learned: Learned, bank: Bank, max_new: int) -> list[Edit]:
    """What the run teaches a present bank; lessons from failures and branches go first."""
    edits = skill_edits(learned.distilled.skills, bank)
    known = {edit.skill.id for edit in edits if edit.skill is not None} | {skill.id for skill in bank.skills}
    edits += [edit for edit in learned.lessons if edit.skill is not None and edit.skill.id not in known]
    return best_first(edits, max_new)


@dataclass(frozen=True, slots=True)
class Evolution:
    """What one round of evolution found."""

    edits: list[Edit]
    counts: dict[str, list[int]]
    """Task type → [successes, episodes with an outcome] of the episodes with the present bank."""
    weak: list[str]
    """Types below the rate, the worst first."""
    questions: tuple[str, ...]


def evolved_edits(
    records: Iterable[Trajectory],
    failures: Iterable[Trajectory],
    bank: Bank,
    tree: XTree | None,
    limits: Limits,
    *,
    min_rate: float,
    max_new: int,
    allowed_splits: Collection[str] = (),
) -> Evolution:
    """Edits for the task types that ``failures`` (episodes with the present bank) show to be weak.

    Args:
        records: training episodes that may show how it is done; may be empty.
    """
    rates = Rates()

    def both() -> Iterator[Trajectory]:
        yield from rates.watch(failures)
        yield from records

    experience = read_experience(both(), allowed_splits)
    weak = rates.below(min_rate, limits.min_support)
    edits = evolve(bank, experience, tree, weak, limits, max_new) if weak else []
    return Evolution(edits, rates.counts, weak, experience.questions)


def applied(bank: Bank, edits: Sequence[Edit], questions: Iterable[str], max_new: int, max_total: int) -> Bank:
    """The bank with the edits; its header adds the questions that were looked at.

    Raises:
        EditFailure: a target is missing or ambiguous (a teacher may invent one).
    """
    candidate, outcomes = apply_edits(bank, edits, Caps(max_new, None, max_total))
    check_outcomes(outcomes)
    seen = sorted({*candidate.header.extra.get("questions", ()), *questions})
    header = candidate.header
    return make_bank(candidate.skills, parent=header.parent, extra={**header.extra, "questions": seen})


def checked(records: Iterable[Trajectory], allowed_splits: Collection[str]) -> Iterator[Trajectory]:
    """The records, after a look at their split."""
    for record in records:
        check_split(record, allowed_splits)
        yield record
