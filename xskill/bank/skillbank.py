"""The SkillBank as a value: a header and its skills, named by the hash of what they say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xskill.errors import BadData, NoInput
from xskill.records import BankHeader, Record, Skill, encode
from xskill.streams.read import read_records
from xskill.streams.run import Run
from xskill.streams.write import open_output


@dataclass(frozen=True, slots=True)
class Bank:
    """A SkillBank. Skill ids are unique; the order is the order of presentation."""

    header: BankHeader
    skills: tuple[Skill, ...]

    @property
    def version(self) -> str:
        return self.header.version


def version_of(skills: Iterable[Skill]) -> str:
    """Content hash of a bank: the first 16 hex digits of SHA-256 over its skills as lines of JSON.

    The header stays out, so the same skills have the same version whatever was decided about them.
    """
    digest = hashlib.sha256()
    for skill in skills:
        digest.update(encode(skill) + b"\n")
    return digest.hexdigest()[:16]


def make_bank(
    skills: Iterable[Skill],
    *,
    parent: str | None = None,
    decision: dict[str, Any] | None = None,
    extra: dict[str, Any] | None = None,
) -> Bank:
    """A bank of these skills.

    Raises:
        BadData: two skills share an id.
    """
    kept = tuple(skills)
    check_ids(kept)
    header = BankHeader(version=version_of(kept), parent=parent, decision=decision, extra=extra or {})
    return Bank(header, kept)


def check_ids(skills: Iterable[Skill]) -> None:
    """Raise :class:`BadData` when two skills share an id."""
    seen: set[str] = set()
    for skill in skills:
        if skill.id in seen:
            raise BadData(f"the bank holds two skills with the id {skill.id!r}; ids must be unique")
        seen.add(skill.id)


def read_bank(path: str, run: Run | None = None) -> Bank:
    """Read a bank from a file (stdin: ``-``).

    A stream of skills without a header is a bank too, and an empty bank is a header alone. When the skills were
    changed by hand, so that the header's version is no longer their hash, the bank gets its true version and the
    header's becomes its parent; ``run`` says so.

    Raises:
        BadData: an id is there twice, or the input holds two banks.
        BadRecord, NoInput: as :func:`xskill.streams.read.read_records`.
    """
    headers: list[Record] = []
    skills: list[Skill] = []
    own = Run("bank", quiet=True)
    try:
        skills.extend(read_records([path], Skill, own, headers=headers))
    except NoInput:
        if not headers:
            raise
    bank_headers = [header for header in headers if isinstance(header, BankHeader)]
    if len(bank_headers) > 1:
        raise BadData(f"{path}: more than one bank in the input; give one file")
    if not bank_headers:
        return make_bank(skills)
    header = bank_headers[0]
    bank = make_bank(skills, parent=header.parent, decision=header.decision, extra=header.extra)
    if header.version == bank.version:
        return bank
    if run is not None:
        run.note(f"{path}: changed by hand since version {header.version}; it is now version {bank.version}")
    return make_bank(skills, parent=header.version, extra=header.extra)


def write_bank(path: str | None, bank: Bank, to: str | None = None) -> None:
    """Write a bank to stdout or, atomically, to a file."""
    with open_output(path, to=to, kind=Skill) as out:
        out.header(bank.header)
        for skill in bank.skills:
            out.write(skill)
