"""Words: which verbs mean what, which nouns mean nothing in particular, and when one name means another."""

from __future__ import annotations

import re
from collections.abc import Iterable

SENSES: dict[str, str] = {
    word: sense
    for sense, words in {
        "navigate": "go navigate walk head reach return travel visit bring carry deliver",
        "teleport": "teleport jump",
        "take": "take pick grab acquire collect fetch retrieve",
        "put": "put place drop deposit move",
        "open": "open",
        "close": "close shut",
        "use": "use toggle",
        "activate": "activate switch turn",
        "observe": "look examine inspect observe check",
        "clean": "clean wash rinse",
        "heat": "heat warm",
        "cool": "cool chill",
        "slice": "slice cut",
        "focus": "focus",
        "connect": "connect",
        "pour": "pour",
        "mix": "mix",
        "read": "read",
        "wait": "wait",
        "measure": "measure",
    }.items()
    for word in words.split()
}
"""English verb → verb of canonical actions."""

ALIKE: dict[str, frozenset[str]] = {
    "navigate": frozenset({"navigate", "teleport"}),
    "use": frozenset({"use", "activate", "measure"}),
    "activate": frozenset({"use", "activate"}),
}
"""Verbs that a sentence with this one may mean too."""

GOING = frozenset({"navigate", "teleport"})
MEANS = GOING | {"open", "close", "observe", "help"}
"""Verbs that only lead up to an act: going somewhere, opening and looking."""
HANDLING = frozenset({"take", "put"})

ANYTHING = frozenset("object thing item place location value target something".split())
"""Nouns that any thing answers to."""
KINDS = frozenset({"surface", "container"})
"""Nouns that half of all places answer to: they tell where to look, and not what is meant."""

LITTLE = frozenset(
    "a an and are be both for from has in into is it of on or some that the them then this to two under up using with "
    "which your".split()
)
"""Words that no name holds."""

_WORD = re.compile(r"[a-z]+")
_SHORTEST = 4
"""Letters from which a word inside another one counts as naming it (``lamp`` and ``desklamp``)."""


def words(text: str) -> list[str]:
    """The words of a text, in small letters and without numbers."""
    return _WORD.findall(text.lower())


def stem(word: str) -> str:
    """A noun without the ending of its plural: ``drawers`` → ``drawer``, ``glass`` stays."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def phrase(name: str) -> str:
    """The words of a name, without numbers and endings; for a name without words, one that no text holds."""
    return " ".join(map(stem, words(name))) or "?"


def nouns(texts: Iterable[str]) -> frozenset[str]:
    """Words of names, without numbers and endings."""
    return frozenset(stem(word) for text in texts for word in words(text) if word not in LITTLE)


def names_any(things: Iterable[str], names: Iterable[str]) -> bool:
    """Whether one of the ``things`` equals one of the ``names``, is a part of one, or has one as a part."""
    listed = list(names)
    return any(
        thing == name or (min(len(thing), len(name)) >= _SHORTEST and (thing in name or name in thing))
        for thing in things
        for name in listed
    )


def meaning(word: str) -> frozenset[str]:
    """Canonical verbs that an English verb may mean."""
    sense = SENSES.get(word, word)
    return ALIKE.get(sense, frozenset({sense}))


def same_verb(first: frozenset[str], second: frozenset[str]) -> bool:
    """Two sets of verbs can mean the same."""
    return bool(first & second) or any(ALIKE.get(verb, frozenset()) & second for verb in first)
