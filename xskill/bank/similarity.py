"""When do two skills say the same?"""

from __future__ import annotations

import re
import unicodedata

from xskill.records import Skill

NEAR = 0.8
"""Token Jaccard from which two skills of one tier and type are the same."""

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Lower-case words and numbers of a text, compatibility forms folded."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def title_key(title: str) -> str:
    """A title without case, punctuation and spacing."""
    return " ".join(words(title))


def purpose_of(skill: Skill) -> str:
    """What a skill is for: all that it says, except when not to use it."""
    parts = [skill.title, skill.principle, skill.when_to_apply, *skill.steps]
    return "\n".join(part for part in parts if part)


def text_of(skill: Skill) -> str:
    """What a skill tells its reader, without evidence."""
    return "\n".join(part for part in (purpose_of(skill), skill.when_not) if part)


def jaccard(first: set[str], second: set[str]) -> float:
    """``|A and B| / |A or B|``; 1 for two empty sets."""
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def near_duplicate(skill: Skill, others: list[Skill]) -> Skill | None:
    """The first of ``others`` with the same tier and type and the same normalised title, or with Jaccard >= 0.8."""
    key, tokens = title_key(skill.title), set(words(text_of(skill)))
    for other in others:
        if (other.tier, other.task_type) != (skill.tier, skill.task_type):
            continue
        if title_key(other.title) == key or jaccard(tokens, set(words(text_of(other)))) >= NEAR:
            return other
    return None
