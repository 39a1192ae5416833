"""What the follower sees: actions as verb, role and values, what the goal names, and what was done so far."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xskill.canon.actions.canonicalizer import Canonicalizer
from xskill.canon.actions.profile import detect_profile, load_profile
from xskill.workers.follower.vocabulary import (
    GOING,
    HANDLING,
    LITTLE,
    MEANS,
    SENSES,
    nouns,
    phrase,
    stem,
    words,
)

_WORD_OR_STOP = re.compile(r"[a-z]+|[^a-z\s]")
T = TypeVar("T")

_PATIENCE = 2
"""Refusals after which an action is not tried again."""
_PUT = re.compile(r"\b(?:put|move|place)\b[^.]*?\b(?:to|into|in|onto|on) (?:the |an? )?(.*)", re.S)


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
            said = words(raw)
            verbs = {verb, SENSES.get(said[0], said[0])} if said else {verb}
            if verb in MEANS:
                verbs = {verb}
            role = role.rstrip(">")
            place = (args[0] if args else role) if verb in GOING else None
            deed = Deed(raw, frozenset(verbs), nouns([role, *args]), args, (token, *args), place)
            self._memo[raw] = deed
        return deed


@dataclass(frozen=True, slots=True)
class TriedDeed:
    """A deed that was tried."""

    deed: Deed
    answer: str | None = None
    refused: bool = False
    """The environment did nothing."""


@dataclass(frozen=True, slots=True)
class Scene:
    """An episode up to now, as :func:`look` sees it."""

    goal: str
    """Words of the task, as :func:`goal_text` gives them."""
    target: str
    """What the task says to put something in or on; empty when it says no such thing."""
    object: str
    """Words of the task up to there."""
    done: tuple[Deed, ...]
    """What was done; what the environment refused is not among it."""
    now: tuple[Deed, ...]
    """What can be done, in the environment's order; without what it refused since something changed last."""
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
    visited: frozenset[str]
    """All places gone to."""
    passed: frozenset[str]
    """Those gone to since something changed last: nothing new is there."""
    seen: frozenset[tuple[str, ...]]
    """Keys of what was done since the place was reached, and since something changed there."""
    taken: frozenset[str]
    """Words of the things that were taken."""
    marked: frozenset[str]
    """Things that something was done with, beyond taking and putting: what the episode is about."""
    movable: frozenset[str]
    """Things that can be taken now, or put where the task says."""
    lines: tuple[str, ...]
    """Lines of what was seen since the place was reached."""

    def in_goal(self, value: str) -> bool:
        """The task names this value: ``mug 1`` in ``put a mug in the cabinet``; not ``orange`` in ``an orange box``."""
        return f" {phrase(value)} ." in self.goal

    def is_object(self, value: str) -> bool:
        """The task names it, and not as the place to put something."""
        return f" {phrase(value)} ." in self.object

    def is_target(self, value: str) -> bool:
        """The task says to put something there: ``the orange box`` of ``move it to the orange box in the kitchen``."""
        return bool(self.target) and phrase(value) == self.target

    def was_taken(self, value: str) -> bool:
        """Something that goes by one of its words was taken; simulators call one thing by several names."""
        return bool(nouns([value]) & self.taken)

    def is_news(self, deed: Deed) -> bool:
        """Whether doing it may show something new: since the last change it was not done, nor its place gone to."""
        return deed.key not in self.stale and (deed.place is None or deed.place not in self.passed)

    def together(self, value: str, others: Collection[str]) -> bool:
        """What is seen here shows the value on one line with one of the others: ``flower pot 3`` with its tree."""
        wanted = [nouns([other]) for other in others]
        sign = f" {value.lower()} "
        return any(
            sign in f" {line} " and any(other and other <= nouns([line]) for other in wanted) for line in self.lines
        )


def look(
    task: str,
    turns: Sequence[TriedDeed],
    now: Sequence[Deed],
    *,
    first: str | None = None,
) -> Scene:
    """The scene of a task after some turns, with what can be done next; ``first`` was seen before the first turn."""
    said = _PUT.search(task.lower())
    done = tuple(turn.deed for turn in turns if not turn.refused)
    acts = [deed.key for deed in done if not deed.is_means]
    since = _back(done, lambda deed: not deed.is_means)
    arrived = _back(done, lambda deed: deed.place is not None)
    since_change = len(turns) - _back(turns, _changes)
    refusals = Counter(turn.deed.raw for turn in turns if turn.refused)
    useless = {turn.deed.raw for turn in turns[since_change:] if turn.refused}
    useless |= {raw for raw, times in refusals.items() if times >= _PATIENCE}
    reached = _back(turns, lambda turn: turn.deed.place is not None and not turn.refused)
    answers = [first, *(turn.answer for turn in turns)][-reached - 1 :]
    target = goal_text(said.group(1)).split(".")[0].strip() if said else ""
    return Scene(
        goal=goal_text(task),
        target=target,
        object=goal_text(task[: said.start(1)] if said else task),
        done=done,
        now=tuple(deed for deed in now if deed.raw not in useless) or tuple(now),
        names=frozenset().union(*(deed.names for deed in (*done, *now))),
        stale=frozenset(deed.key for deed in done[len(done) - since :]),
        tried=frozenset(deed.key for deed in done),
        last_act=acts[-1] if acts else None,
        here=next((deed.place for deed in reversed(done) if deed.place is not None), None),
        visited=frozenset(deed.place for deed in done if deed.place is not None),
        passed=frozenset(deed.place for deed in done[len(done) - since :] if deed.place is not None),
        seen=frozenset(deed.key for deed in done[len(done) - min(since, arrived) :]),
        taken=nouns(value for deed in done if "take" in deed.verbs for value in deed.args[:1]),
        marked=frozenset(d.args[0] for d in done if d.args and not d.is_means and not d.verbs & HANDLING),
        movable=frozenset(
            deed.args[0]
            for deed in now
            if deed.args and ("take" in deed.verbs or ("put" in deed.verbs and target in ("", phrase(deed.args[-1]))))
        ),
        lines=tuple(
            re.sub(r"[^a-z0-9 ]", " ", line) for answer in answers for line in (answer or "").lower().splitlines()
        ),
    )


def _changes(turn: TriedDeed) -> bool:
    return not turn.refused and (not turn.deed.is_means or "open" in turn.deed.verbs)


def _back(row: Sequence[T], wanted: Callable[[T], bool]) -> int:
    """How many of a row come after the last one that is wanted; all of them when there is none."""
    return next((back for back, one in enumerate(reversed(row)) if wanted(one)), len(row))


def goal_text(task: str) -> str:
    """The words of a task; a stop wherever a name may end: at little words and punctuation."""
    said = [word if word.isalpha() else "." for word in _WORD_OR_STOP.findall(task.lower())]
    return " ".join(["", *("." if word in LITTLE else stem(word) for word in said), "."])
