"""Routines in plain English. What was observed is quoted, so that it can never be read as an instruction."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xskill.text.quoted import named

LONGEST_TITLE = 90

VERBS = {
    "navigate": "go to",
    "observe": "look at",
    "put": "put something in or on",
    "focus": "focus on",
    "activate": "switch on",
    "deactivate": "switch off",
    "teleport": "jump to",
    "type": "type into",
    "respond": "answer",
    "connect": "connect something to",
    "pour": "pour something into",
    "move": "move something to",
}
"""Verbs of canonical tokens that need a preposition; any other verb stands as it is."""

TOKENS = {
    "observe<room>": "look around",
    "observe<inventory>": "check the inventory",
    "put<ground>": "drop something",
    "put<inventory>": "put something into the inventory",
    "wait<short>": "wait one step",
    "wait<long>": "wait",
    "respond<user>": "answer the user",
}

CLASSES = frozenset(
    {
        *("object", "surface", "container", "device", "substance", "instrument", "animal", "plant", "food", "paint"),
        *("tool", "recipe", "button", "link", "item", "option", "text_input", "door", "query", "file", "room", "page"),
    }
)
"""Roles that name a class of things: "a surface"; any other role names one thing: "the fridge"."""

_TOKEN = re.compile(r"([^<>]*)<(.*)>\Z", re.DOTALL)


def split_token(token: str) -> tuple[str, str]:
    """``take<object>`` → (``take``, ``object``); a token without a role gives an empty one."""
    match = _TOKEN.match(token)
    return (match.group(1), match.group(2)) if match else (token, "")


def phrase(token: str) -> str:
    """``take<object>`` → ``take an object``."""
    if token in TOKENS:
        return TOKENS[token]
    verb, role = split_token(token)
    words = VERBS.get(verb) or named(verb)
    if not role:
        return words
    if role in CLASSES:
        noun = named(role)
        return f"{words} {'an' if noun[0] in 'aeiou' else 'a'} {noun}"
    return f"{words} the {named(role)}"


def telling(token: str) -> bool:
    """Whether an action changes something, beyond moving, looking, opening and waiting."""
    return split_token(token)[0] not in ("navigate", "observe", "open", "close", "wait", "teleport")


def sentence(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def title(tokens: Sequence[str]) -> str:
    """A routine in one line: its phrases, repetitions counted; when it is long, the telling ones in the middle.

    >>> title(["navigate<surface>", "take<object>", "navigate<fridge>", "cool<object>"])
    'Go to a surface, take an object, go to the fridge, cool an object'
    """
    parts = _grouped([phrase(token) for token in tokens])
    text = ", ".join(parts)
    if len(text) > LONGEST_TITLE:
        parts = _grouped([phrase(token) for token in tokens if telling(token)] or parts)
        text = ", ".join(parts)
        if len(text) > LONGEST_TITLE and len(parts) > 2:
            text = f"{parts[0]}, …, {parts[-1]}"
        text += f" ({len(tokens)} steps)"
    return sentence(text)


def _grouped(parts: list[str]) -> list[str]:
    grouped: list[tuple[str, int]] = []
    for part in parts:
        if grouped and grouped[-1][0] == part:
            grouped[-1] = (part, grouped[-1][1] + 1)
        else:
            grouped.append((part, 1))
    return [part if n == 1 else f"{part} ({n} times)" for part, n in grouped]


def share(part: int, whole: int) -> str:
    """``36 of 37 (97%)``"""
    return f"{part:,} of {whole:,} ({percent(part / whole)})" if whole else "0 of 0"


def percent(value: float) -> str:
    """``97%``"""
    return f"{100 * value:.0f}%"


def listed(names: Sequence[str], most: int = 4) -> str:
    """``a, b and 3 more``"""
    shown = [named(name) for name in names[:most]]
    if len(names) > most:
        return ", ".join(shown) + f" and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
