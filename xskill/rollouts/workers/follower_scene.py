"""What the follower sees: actions as verb, role and values, what the goal names, and what was done so far."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from xskill.canon.canonicalize import Canonicalizer
from xskill.canon.profile import detect_profile, load_profile
from xskill.rollouts.workers.follower_wording import ALIKE, GOING, LITTLE, MEANS, SENSES, stem

_WORD = re.compile(r"[a-z]+")
_WORD_OR_STOP = re.compile(r"[a-z]+|[^a-z\s]")
_PUT = re.compile(r"\b(?:put|move|place)\b[^.]*?\b(?:to|into|in|onto|on) (?:the |an? )?(.*)", re.S)
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
    key: tuple[str, ...]
    """The same for two ways to say it."""
    place: str | None = None
    """Where it leads, of going."""

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
            role = role.rstrip(">")
            place = (args[0] if args else role) if verb in GOING else None
            deed = Deed(raw, frozenset(verbs), nouns([role, *args]), args, (token, *args), place)
            self._memo[raw] = deed
        return deed


@dataclass(frozen=True, slots=True)
class Scene:
    """An episode up to now, as :func:`look` sees it."""

    goal: str
    """Words of the task, as :func:`goal_text` gives them."""
    target: str
    """What the task says to put something in or on; empty when it says no such thing."""
    done: tuple[Deed, ...]
    now: tuple[Deed, ...]
    """What can be done, in the environment's order."""
    names: frozenset[str]
    """Every name that an action of this episode had; a word of a skill that is none of these says nothing here."""
    stale: frozenset[tuple[str, ...]]
    """Keys of what was done since something changed last: doing it again shows nothing new."""
    tried: frozenset[tuple[str, ...]]
    """Keys of all that was done."""
    last_act: tuple[str, ...] | None
    """Key of the last deed that was more than going and looking."""
    here: str | None
    """The place gone to last."""
    taken: frozenset[str]
    """Words of the things that were taken."""

    def in_goal(self, value: str) -> bool:
        """The task names this value: ``mug 1`` in ``put a mug in the cabinet``; not ``orange`` in ``an orange box``."""
        return f" {phrase(value)} ." in self.goal

    def is_target(self, value: str) -> bool:
        """The task says to put something there: ``the orange box`` of ``move it to the orange box in the kitchen``."""
        return bool(self.target) and phrase(value) == self.target

    def was_taken(self, value: str) -> bool:
        """Something that goes by one of its words was taken; simulators call one thing by several names."""
        return bool(nouns([value]) & self.taken)


def look(task: str, done: tuple[Deed, ...], now: tuple[Deed, ...]) -> Scene:
    """The scene of a task after some deeds, with what can be done next."""
    said = _PUT.search(task.lower())
    acts = [deed.key for deed in done if not deed.is_means]
    since = next((back for back, deed in enumerate(reversed(done)) if not deed.is_means), len(done))
    return Scene(
        goal=goal_text(task),
        target=goal_text(said.group(1)).split(".")[0].strip() if said else "",
        done=done,
        now=now,
        names=frozenset().union(*(deed.names for deed in (*done, *now))),
        stale=frozenset(deed.key for deed in done[len(done) - since :]),
        tried=frozenset(deed.key for deed in done),
        last_act=acts[-1] if acts else None,
        here=next((deed.place for deed in reversed(done) if deed.place is not None), None),
        taken=nouns(value for deed in done if "take" in deed.verbs for value in deed.args[:1]),
    )


def phrase(name: str) -> str:
    """The words of a name, without numbers and endings; of no name a word that is nowhere."""
    return " ".join(stem(word) for word in _WORD.findall(name.lower())) or "?"


def goal_text(task: str) -> str:
    """The words of a task; a stop wherever a name may end: at little words and punctuation."""
    words = [word if word.isalpha() else "." for word in _WORD_OR_STOP.findall(task.lower())]
    return " ".join(["", *("." if word in LITTLE else stem(word) for word in words), "."])


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
