"""What the follower sees: actions as verb, role and values, what the goal names, and what was done so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xskill.canon.canonicalize import Canonicalizer
from xskill.canon.profile import detect_profile, load_profile
from xskill.rollouts.workers.follower_wording import ALIKE, LITTLE, MEANS, SENSES, stem

_WORD = re.compile(r"[a-z]+")
_SHORTEST = 4
"""Letters from which a word inside another one counts as naming it (``lamp`` and ``desklamp``)."""


@dataclass(frozen=True, slots=True)
class Deed:
    """An action that can be done or was done."""

    raw: str
    verbs: frozenset[str]
    """Its canonical verb, and its first word where that means something else."""
    names: frozenset[str]
    """Words of its role and values."""
    args: tuple[str, ...]

    @property
    def is_means(self) -> bool:
        return bool(self.verbs & MEANS)


class Reader:
    """Reads raw actions with the profile of an environment; reading one again costs nothing."""

    def __init__(self, env: str | None) -> None:
        self._canonicalizer = Canonicalizer(load_profile(detect_profile(env, [])))
        self._memo: dict[str, Deed] = {}

    def read(self, raw: str) -> Deed:
        """The action behind a raw text."""
        deed = self._memo.get(raw)
        if deed is None:
            token, args, _ = self._canonicalizer.action(raw)
            verb, _, role = token.partition("<")
            words = _WORD.findall(raw.lower())
            verbs = {verb, SENSES.get(words[0], words[0])} if words else {verb}
            if verb in MEANS:
                verbs = {verb}
            deed = Deed(raw, frozenset(verbs), nouns([role, *args]), args)
            self._memo[raw] = deed
        return deed


@dataclass(frozen=True, slots=True)
class Scene:
    """An episode up to now."""

    goal: frozenset[str]
    """Words of the task."""
    done: tuple[Deed, ...]
    now: tuple[Deed, ...]
    """What can be done, in the environment's order."""
    stale: frozenset[str] = field(init=False)
    """Raw texts of what was done since something changed last: doing it again shows nothing new."""
    tried: frozenset[str] = field(init=False)
    """Raw texts of all that was done."""
    here: tuple[str, ...] = field(init=False)
    """The place gone to last."""

    def __post_init__(self) -> None:
        since: list[str] = []
        for deed in self.done:
            since = [*since, deed.raw] if deed.is_means else []
        gone = [deed.args for deed in self.done if "navigate" in deed.verbs]
        object.__setattr__(self, "stale", frozenset(since))
        object.__setattr__(self, "tried", frozenset(deed.raw for deed in self.done))
        object.__setattr__(self, "here", gone[-1] if gone else ())

    def in_goal(self, value: str) -> bool:
        """The task names this value (``mug 1`` of ``put a mug in the cabinet``)."""
        words = nouns([value])
        return bool(words) and words <= self.goal


def nouns(texts: Iterable[str]) -> frozenset[str]:
    """Words of names, without numbers and endings."""
    return frozenset(stem(word) for text in texts for word in _WORD.findall(text.lower()) if word not in LITTLE)


def names_any(things: Iterable[str], names: Iterable[str]) -> bool:
    """One of the ``things`` is one of the ``names``, or part of one, or has one as its part."""
    known = list(names)
    return any(
        thing == name or (min(len(thing), len(name)) >= _SHORTEST and (thing in name or name in thing))
        for thing in things
        for name in known
    )


def same_verb(first: frozenset[str], second: frozenset[str]) -> bool:
    """Two sets of verbs can mean the same."""
    return bool(first & second) or any(ALIKE.get(verb, frozenset()) & second for verb in first)


def history(reader: Reader, actions: Sequence[str]) -> tuple[Deed, ...]:
    """The deeds of an episode's actions."""
    return tuple(reader.read(action) for action in actions)
