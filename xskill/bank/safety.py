"""What leaves the machine is redacted once more, whatever was done when the logs came in."""

from __future__ import annotations

from collections import Counter

import msgspec

from xskill.bank.skillbank import Bank
from xskill.canon.redact.redactor import Redactor
from xskill.errors import BadData
from xskill.records import Skill


def redacted(bank: Bank) -> tuple[Bank, Counter[str]]:
    """The bank without secrets, under its own header; and how many of each kind were replaced.

    The version stays that of the bank it was made from, so that a shipped skill can be traced back.

    Raises:
        BadData: a skill whose fields are nested too deeply to be looked through.
    """
    redactor = Redactor("secrets")
    try:
        skills = tuple(msgspec.convert(redactor.value(msgspec.to_builtins(skill)), Skill) for skill in bank.skills)
    except RecursionError:
        raise BadData(f"bank {bank.version}: a skill is nested too deeply to be looked through for secrets") from None
    return Bank(bank.header, skills), redactor.counts
