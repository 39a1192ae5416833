"""The stage as a whole: a stream of trajectories → skills, or edits of a present bank."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from xskill.bank.candidate import Caps, apply_edits, check_outcomes
from xskill.bank.skillbank import Bank, make_bank
from xskill.bank.splits import check_allowed, check_split
from xskill.distill.edits import best_first, skill_edits
from xskill.distill.evidence import gather
from xskill.distill.evolve import Rates, evolve
from xskill.distill.experience import read_experience
from xskill.distill.lessons import compare, lesson_edits
from xskill.distill.statistical import Distilled, Limits, distill_experience, merged
from xskill.errors import UsageError
from xskill.records import Edit, Evidence, Skill, Trajectory
from xskill.streams.orphans import tell_orphans
from xskill.streams.run import Run
from xskill.tree.xtree import XTree

UNTIL_BRANCH = 2_000
"""An input without a branch among its first records holds no rollout trees: none is kept for evidence."""
MOST_ROLLOUTS = 50_000
"""Rollouts kept whole for their evidence; routines are learned from all."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What the trajectories taught, and the questions that they answer."""

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
    compared = compare([*evidence, *(gather(rollouts.kept) if rollouts.branches else [])])
    distilled = distill_experience(experience, tree, limits, lessons=compared)
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
    taken = {edit.skill.id for edit in edits if edit.skill is not None} | {skill.id for skill in bank.skills}
    edits += [edit for edit in learned.lessons if edit.skill is not None and edit.skill.id not in taken]
    return best_first(edits, max_new)


@dataclass(frozen=True, slots=True)
class Evolution:
    """What one round of evolution asks for."""

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


@dataclass(frozen=True, slots=True)
class Distillation:
    """What a run makes of its input: the edits of a bank, and what they rest on."""

    present: Bank
    """The bank that is edited: the one that was given, else the new one."""
    edits: list[Edit]
    questions: tuple[str, ...]
    """All that were looked at."""
    caps: Caps
    """Of the bank with the edits."""
    learned: Learned | None = None
    """What the trajectories taught; None where failing task types were asked about."""
    evolution: Evolution | None = None
    """What the failing task types ask for; None where there were none to ask about."""

    @property
    def findings(self) -> tuple[Skill, ...]:
        """The skills of the statistics, for a teacher."""
        return self.learned.distilled.skills if self.learned is not None else ()

    def bank(self) -> Bank:
        """The present bank with the edits; its header adds the questions that were looked at.

        Raises:
            EditFailure: a target is missing or ambiguous (a teacher may invent one).
        """
        candidate, outcomes = apply_edits(self.present, self.edits, self.caps)
        check_outcomes(outcomes)
        header = candidate.header
        seen = sorted({*header.extra.get("questions", ()), *self.questions})
        return make_bank(candidate.skills, parent=header.parent, extra={**header.extra, "questions": seen})


class SkillOptions(TypedDict, total=False):
    """The keywords of :func:`distillation` that say what is learned; the others bring what it is learned from."""

    min_rate: float
    max_new: int
    max_general: int
    max_per_type: int
    max_mistakes: int
    max_total: int
    min_support: int
    min_families: int | None
    allow_split: Collection[str] | None


class DistillOptions(SkillOptions, total=False):
    """The keywords of :func:`distillation`."""

    bank: Bank | None
    failures: Iterable[Trajectory] | None
    evidence: Sequence[Evidence]
    run: Run | None


def distillation(
    trajectories: Iterable[Trajectory],
    tree: XTree | None = None,
    *,
    bank: Bank | None = None,
    failures: Iterable[Trajectory] | None = None,
    evidence: Sequence[Evidence] = (),
    min_rate: float = 0.4,
    max_new: int = 3,
    max_general: int = 8,
    max_per_type: int = 3,
    max_mistakes: int = 10,
    max_total: int = 60,
    min_support: int = 5,
    min_families: int | None = None,
    allow_split: Collection[str] | None = None,
    run: Run | None = None,
) -> Distillation:
    """Learn skills, or edits of a present bank (docs/methods/skillrl.md, docs/methods/branch2skill.md).

    Args:
        trajectories: of any outcome; with ``failures`` there may be none.
        tree: routines to look for; None: mined from the input.
        bank: the present bank, to be edited.
        failures: episodes with the present bank: edits for the task types that fail there.
        evidence: branches compared elsewhere, to learn from too.
        min_rate and all up to allow_split: see :func:`xskill.distill.distill`.
        run: is told of branches without their parent.

    Raises:
        HeldOut: a validation or test episode that ``allow_split`` does not name.
        NoSuccess: nothing succeeded, and there is no tree.
        UsageError: ``failures`` without ``bank``, or together with ``evidence``; or ``min_rate`` is no share.
    """
    if failures is not None and bank is None:
        raise UsageError("edits need --bank FILE: the bank to be edited")
    if failures is not None and evidence:
        raise UsageError("--failures-from learns from failing task types, --evidence from branches: one of the two")
    if not 0 <= min_rate <= 1:
        raise UsageError(f"--min-rate {min_rate:g}: expected a share, 0 to 1")
    allowed = allow_split or ()
    check_allowed(allowed)
    limits = Limits(max_general, max_per_type, max_mistakes, max_total, min_support, min_families)
    caps = Caps(max_new, None, max_total)
    if run is not None:
        trajectories = tell_orphans(trajectories, run, "count nowhere")
    if failures is not None and bank is not None:
        evolution = evolved_edits(
            trajectories,
            failures,
            bank,
            tree,
            limits,
            min_rate=min_rate,
            max_new=max_new,
            allowed_splits=allowed,
        )
        return Distillation(bank, evolution.edits, evolution.questions, caps, evolution=evolution)
    learned = learn(trajectories, tree, limits, allowed_splits=allowed, evidence=evidence)
    if bank is None:
        return Distillation(learned.bank(), [], learned.questions, caps, learned)
    return Distillation(bank, learned_edits(learned, bank, max_new), learned.questions, caps, learned)


def distill(trajectories: Iterable[Trajectory], tree: XTree | None = None, **options: Unpack[DistillOptions]) -> Bank:
    """The skills of :func:`distillation`, whose keywords it takes, as a new bank, or ``bank`` with its edits."""
    return distillation(trajectories, tree, **options).bank()


def evidence_of(trajectories: Iterable[Trajectory], allow_split: Collection[str] = ()) -> list[Evidence]:
    """Branches of rollout trees compared: the elite path of each question against its siblings.

    Raises:
        HeldOut: a validation or test episode that ``allow_split`` does not name.
    """
    check_allowed(allow_split)
    return gather(_checked(trajectories, allow_split))


def _checked(records: Iterable[Trajectory], allowed_splits: Collection[str]) -> Iterator[Trajectory]:
    """The records, after a look at their split."""
    for record in records:
        check_split(record, allowed_splits)
        yield record
