"""Class tables of a profile: the value of a slot → its role.

A table lists keywords for each role. Roles are tried in the order of the file and the first hit wins.
A value that no keyword knows gets what ``otherwise`` says: ``self`` makes it its own role (so the
authors' ScienceWorld vocabulary holds ``take<blue jay>``), any other word is that constant role, and
without ``otherwise`` the rule that asked does not match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

By = Literal["substring", "word", "exact", "suffix", "pattern"]

_ID = re.compile(r"(?:\s+#?\d+)+$")
_SPACES = re.compile(r"\s+")
_UNFIT = re.compile(r"[<>\x00-\x1f\x7f-\x9f\u2028\u2029]+")

MAX_PART = 48
"""Longest verb or role, in characters; a longer one is cut, so that free text cannot become a symbol of its own."""


def token_part(text: str) -> str:
    """Text as it may stand in a token: lower case, single spaces, no ``<>`` or control characters, at most MAX_PART."""
    text = _UNFIT.sub(" ", text)
    text = _SPACES.sub(" ", text).strip().lower()
    return text if len(text) <= MAX_PART else text[:MAX_PART].rstrip()


def without_id(text: str) -> str:
    """A name without its trailing numbers: ``flower pot 3`` → ``flower pot``. A bare number stays."""
    return _ID.sub("", text) or text


@dataclass(frozen=True, slots=True)
class ClassTable:
    """One ``[classes.NAME]`` of a profile, ready for look-up."""

    name: str
    lookup: Callable[[str], str | None]
    head: tuple[re.Pattern[str], ...]
    """What is cut off a value before it is looked up (`` containing …``)."""
    otherwise: str | None
    missing: str | None
    """Role when there is no value at all (an element whose page is unknown)."""

    def role(self, value: str | None) -> str | None:
        """Role of a value; None when the table does not know it."""
        if value is None or not value.strip():
            return self.missing
        head = value.strip().lower()
        for pattern in self.head:
            head = pattern.sub("", head, count=1).strip() or head
        head = without_id(head)
        role = self.lookup(head)
        if role is not None:
            return role
        return head if self.otherwise == "self" else self.otherwise


def make_lookup(by: By, roles: Mapping[str, Sequence[str]]) -> Callable[[str], str | None]:
    """The look-up function of a table: lower-case value → role or None.

    ``substring``: the keyword occurs anywhere (the authors' rule: ``ice`` is in ``prejudice``, so their
    book is a substance) · ``word``: as a whole word · ``exact``: the value is the keyword · ``suffix``:
    the value ends with it · ``pattern``: a regular expression, searched.
    """
    pairs = [(keyword, role) for role, keywords in roles.items() for keyword in keywords]
    if by == "pattern":
        compiled = [(re.compile(keyword, re.I | re.S), role) for keyword, role in pairs]
        return lambda value: next((role for pattern, role in compiled if pattern.search(value)), None)
    pairs = [(keyword.lower(), role) for keyword, role in pairs]
    if by == "exact":
        table = dict(reversed(pairs))
        return table.get
    if by == "suffix":
        return lambda value: next((role for keyword, role in pairs if value.endswith(keyword)), None)
    if by == "word":
        return lambda value: next((role for keyword, role in pairs if f" {keyword} " in f" {value} "), None)
    return lambda value: next((role for keyword, role in pairs if keyword in value), None)
