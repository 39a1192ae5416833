"""``xskill.distill`` in Python: trajectories and rollouts → skills, edits of a bank, or evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Unpack

from xskill.bank.skillbank import Bank
from xskill.bounds import bounded, spelled_out
from xskill.distill.stage import Distillation, SkillOptions, distillation, evidence_of
from xskill.records import Edit, Evidence, Trajectory
from xskill.streams.run import PythonRun
from xskill.streams.streams_face import counted
from xskill.tree.xtree import XTree

_BOUNDS = bounded(
    min_rate=(None, None),
    max_new=(0, None),
    max_general=(0, None),
    max_per_type=(0, None),
    max_mistakes=(0, None),
    max_total=(0, None),
    min_support=(1, None),
    min_families=(1, None),
)


@_BOUNDS
@spelled_out(SkillOptions, distillation)
def distill(
    trajectories: Iterable[Trajectory],
    tree: XTree | None = None,
    *,
    bank: Bank | None = None,
    evidence: Iterable[Evidence] | None = None,
    failures_from: Iterable[Trajectory] | None = None,
    **options: Unpack[SkillOptions],
) -> Bank:
    """Turn experience into a SkillBank, without a model: what ``xskill distill`` writes.

    Routines that go with success (general, or of one task type), and mistakes. Every skill names the questions it was
    made from; validation and test episodes are refused. With ``bank``, that bank with the edits of :func:`propose`.

    Example::

        skills = distill.distill(xskill.read("episodes.jsonl", xskill.Trajectory), tree.load("tree.jsonl"))
        bank.save(skills, "bank.jsonl")

    Args:
        trajectories: of any outcome; with ``failures_from`` there may be none.
        tree: its routines are looked for; default: mined from the input.
        bank: the present bank, to be edited.
        evidence: branches compared elsewhere (:func:`compare`), to learn from too.
        failures_from: episodes with the present bank: edits for the task types that fail there.
        min_rate: with ``failures_from``, a type with a lower success rate is failing.
        max_new: with ``bank``, new skills at most.
        max_general: general skills at most.
        max_per_type: skills of one task type at most.
        max_mistakes: mistakes at most.
        max_total: skills in all at most.
        min_support: episodes with an outcome that must hold a routine.
        min_families: task types that must use a general skill; default: half of them, and two.
        allow_split: held-out splits whose episodes are accepted.

    Raises:
        HeldOut: a validation or test episode that ``allow_split`` does not name.
        NoSuccess: nothing succeeded, and there is no tree.
        NoRecord: there is no trajectory.
        UsageError: a value out of range, or options that exclude one another.
    """
    return _distillation(trajectories, tree, bank, evidence, failures_from, options).bank()


@_BOUNDS
@spelled_out(SkillOptions, distillation)
def propose(
    trajectories: Iterable[Trajectory],
    bank: Bank,
    tree: XTree | None = None,
    *,
    evidence: Iterable[Evidence] | None = None,
    failures_from: Iterable[Trajectory] | None = None,
    **options: Unpack[SkillOptions],
) -> list[Edit]:
    """The edits of a present bank that experience asks for: what ``xskill distill --as edits`` writes.

    Example::

        present = bank.load("bank.jsonl")
        edits = distill.propose(xskill.read("new.jsonl", xskill.Trajectory), present)
        candidate, outcomes = bank.apply(present, edits)

    Args:
        trajectories: see :func:`distill`.
        bank: the present bank.
        tree: see :func:`distill`, like all that follows.

    Raises:
        HeldOut, NoSuccess, NoRecord, UsageError: as :func:`distill`.
    """
    return _distillation(trajectories, tree, bank, evidence, failures_from, options).edits


def compare(trajectories: Iterable[Trajectory], *, allow_split: Collection[str] | None = None) -> list[Evidence]:
    """Branches of rollout trees compared: what ``xskill distill --as evidence`` writes.

    Example::

        evidence = distill.compare(xskill.read("rollouts.jsonl", xskill.Trajectory))

    Args:
        trajectories: rollouts with a ``question_id`` and, for branches, a ``parent``.
        allow_split: held-out splits whose episodes are accepted.

    Raises:
        HeldOut: a validation or test episode that ``allow_split`` does not name.
        NoRecord: there is no trajectory.
    """
    return evidence_of(counted(trajectories, PythonRun("distill")), allow_split or ())


def _distillation(
    trajectories: Iterable[Trajectory],
    tree: XTree | None,
    present: Bank | None,
    compared: Iterable[Evidence] | None,
    failures_from: Iterable[Trajectory] | None,
    options: SkillOptions,
) -> Distillation:
    run = PythonRun("distill")
    return distillation(
        counted(trajectories, run, needed=failures_from is None),
        tree,
        bank=present,
        failures=None if failures_from is None else counted(failures_from, run, "failures_from"),
        evidence=list(compared or ()),
        run=run,
        **options,
    )
