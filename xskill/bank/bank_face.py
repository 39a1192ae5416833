"""``xskill.bank`` in Python: a SkillBank from a file and to one, the skills that a task needs, and edits."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import NamedTuple

from xskill.bank.ablate import kept_skills
from xskill.bank.candidate import Caps, Outcome, apply_edits, check_outcomes, edits_of
from xskill.bank.skillbank import Bank, make_bank, read_bank, write_bank
from xskill.bounds import bounded
from xskill.records import Edit, Skill
from xskill.streams.run import PythonRun

Path = str | os.PathLike[str]


def load(path: Path) -> Bank:
    """Read a SkillBank, as every ``--bank`` does.

    Example::

        skills = bank.load("bank.jsonl").skills

    Raises:
        BadRecord, BadData: it is no bank, or holds an id twice.
        NoInput: the file is missing or empty.
    """
    return read_bank(os.fspath(path), PythonRun("bank"))


def save(bank: Bank, path: Path, *, to: str | None = None) -> None:
    """Write a SkillBank, atomically; ``to`` = ``jsonl`` or ``parquet``, by default by the ending of ``path``.

    Example::

        bank.save(bank.load("bank.jsonl"), "bank.parquet")

    Raises:
        CannotWrite: the file cannot be written.
    """
    write_bank(os.fspath(path), bank, to)


def make(skills: Iterable[Skill]) -> Bank:
    """A bank of these skills; its version is the hash of what they say.

    Example::

        supported = bank.make(skill for skill in bank.load("bank.jsonl").skills if skill.status == "supported")

    Raises:
        BadData: two skills share an id.
    """
    return make_bank(skills)


class Applied(NamedTuple):
    """What :func:`apply` gives."""

    bank: Bank
    """The candidate; the same bank where nothing changed."""
    outcomes: list[Outcome]
    """What became of each edit, in their order."""


@bounded(max_new=(0, None), max_per_type=(0, None), max_total=(0, None))
def apply(
    bank: Bank,
    edits: Iterable[Edit],
    *,
    partial: bool = False,
    only: Collection[str] | Path | None = None,
    max_new: int = 3,
    max_per_type: int = 12,
    max_total: int = 60,
) -> Applied:
    """Apply append, replace and delete edits to a bank: the candidate, and what became of each edit.

    Example::

        candidate, outcomes = bank.apply(bank.load("bank.jsonl"), xskill.read("edits.jsonl"))

    Args:
        bank: the present bank, which stays as it is.
        edits: of conflicting ones that from failures wins; near-duplicates are merged.
        partial: apply the good edits when some targets are missing or ambiguous.
        only: only edits of these skills: their ids, or a file with a report of ``xskill bank ablate``.
        max_new: skills that one round may add.
        max_per_type: task skills of one type.
        max_total: skills in all.

    Raises:
        EditFailure: a target is missing or ambiguous, or an edit lacks a part (unless ``partial``).
    """
    chosen = list(edits) if only is None else edits_of(list(edits), _ids(only))
    candidate, outcomes = apply_edits(bank, chosen, Caps(max_new, max_per_type, max_total))
    if not partial:
        check_outcomes(outcomes)
    return Applied(candidate, outcomes)


def _ids(only: Collection[str] | Path) -> Collection[str]:
    return kept_skills(os.fspath(only)) if isinstance(only, (str, os.PathLike)) else set(only)
