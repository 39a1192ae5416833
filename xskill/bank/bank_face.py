"""``xskill.bank`` in Python: a SkillBank from a file and to one, the skills that a task needs, and edits."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import NamedTuple

from xskill.bank.ablate import kept_skills
from xskill.bank.candidate import Caps, Outcome, apply_edits, check_outcomes, edits_of
from xskill.bank.embed import encoder
from xskill.bank.retrieval import Hit, Index, build_index
from xskill.bank.retrieval import retrieve as look_up
from xskill.bank.skillbank import Bank, make_bank, read_bank, write_bank
from xskill.bounds import bounded
from xskill.errors import UsageError
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


def index(bank: Bank, *, embed: str | None = None, base_url: str | None = None) -> Index:
    """A bank made ready for many calls of :func:`retrieve`.

    Example::

        ready = bank.index(bank.load("bank.jsonl"))
        prompts = [bank.retrieve(ready, task) for task in ("heat an egg", "clean a plate")]

    Args:
        bank: its task skills are indexed.
        embed: ``openai:MODEL`` or ``local:MODEL``: similarity of embeddings instead of words.
        base_url: endpoint for ``openai:MODEL``.

    Raises:
        UsageError: an unknown kind of model, or its client is not installed.
    """
    if base_url is not None and not (embed or "").startswith("openai:"):
        raise UsageError("--base-url is the endpoint of --embed openai:MODEL")
    return build_index(bank, encoder(embed, base_url) if embed is not None else None)


@bounded(top=(0, None), threshold=(-1, 1), budget=(0, None))
def retrieve(
    bank: Bank | Index,
    task: str,
    task_type: str | None = None,
    *,
    top: int = 6,
    threshold: float = 0.4,
    budget: int | None = None,
    embed: str | None = None,
    base_url: str | None = None,
) -> list[Hit]:
    """The skills that a task needs: all general ones, the best task skills, the mistakes of the type.

    Example::

        hits = bank.retrieve(bank.load("bank.jsonl"), "put a clean apple in the fridge", top=3)
        titles = [hit.skill.title for hit in hits]

    Args:
        bank: a bank, or what :func:`index` made of it (then ``embed`` and ``base_url`` were chosen there).
        task: text of the task.
        task_type: its type, if known.
        top: task skills at most.
        threshold: similarity from which a skill of another or unknown type is taken.
        budget: leave out what does not fit into so many tokens (4 characters a token).
        embed: see :func:`index`.
        base_url: see :func:`index`.

    Raises:
        UsageError: a value out of range, or an embedding that cannot be had.
    """
    if isinstance(bank, Index) and (embed, base_url) != (None, None):
        raise UsageError("--embed: the index of a bank was made with its own; choose it there")
    ready = bank if isinstance(bank, Index) else index(bank, embed=embed, base_url=base_url)
    return look_up(ready, task, task_type, top=top, threshold=threshold, budget=budget)


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
