"""What a skill tells to do: its text read as steps that can be held against actions.

A step is read from two things. A quoted command with placeholders (``Take an object: `take {object} from
{surface}```, as ``xskill distill`` writes it) must fit an action word by word; numbers in it stand for any
number, because instance numbers belong to one room. Without one, the verb and the nouns of the sentence have
to be the action's. A skill without steps is read sentence by sentence from its principle, which follows the
wording of hand-written banks as far as it names actions at all; a mistake without steps says nothing to avoid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from xskill.workers.follower.vocabulary import ANYTHING, KINDS, LITTLE, MEANS, SENSES, meaning, nouns, stem

NEGATION = frozenset("not never no avoid without don't instead unless".split())

MOST_PLACEHOLDERS = 4
"""A quoted command with more, or with two side by side, is read by its sentence alone."""

_WORD = re.compile(r"[a-z][a-z']*")
_CLAUSE = re.compile(r"[.;:,()\u2013\u2014]|\buntil\b|\bbut\b")
_ENUMERATED = re.compile(r"(?:^|\s)\(?\d+[.)]\s+")
_QUOTED = re.compile(r"`([^`]+)`")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a skill tells to do."""

    verbs: frozenset[str]
    """Canonical verbs that it may mean."""
    nouns: frozenset[str]
    template: re.Pattern[str] | None = None
    """The quoted command, its placeholders as groups."""
    placeholders: tuple[str, ...] = ()
    """Name of each group."""

    @property
    def is_means(self) -> bool:
        return bool(self.verbs & MEANS)

    @property
    def things(self) -> frozenset[str]:
        """Nouns that name something in particular."""
        return self.nouns - KINDS


@dataclass(frozen=True, slots=True)
class Act:
    """Something to achieve, and the going, opening and looking that the skill tells to do before it."""

    step: Step
    lead_in: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Routine:
    """A skill as the follower works with it."""

    id: str
    tier: str
    task_type: str | None
    steps: tuple[Step, ...]
    acts: tuple[Act, ...]
    """Empty when it only tells where to go and look."""
    values: Mapping[str, tuple[frozenset[str], ...]] = field(default_factory=dict)
    """Placeholder → words of the things that it stood for where the skill was learned."""

    def likeness(self, bound: Mapping[str, str]) -> float:
        """How like those things some values are: the largest share of common words, 0 to 1, the mean over them."""
        shares = [
            max(len(said & other) / len(said | other) for other in self.values[name])
            for name, value in bound.items()
            if name in self.values and (said := nouns([value]))
        ]
        return sum(shares) / len(shares) if shares else 0.0


def read_skill(skill: Mapping[str, Any]) -> Routine:
    """The routine of a skill record; one that names no action at all has no steps."""
    tier = str(skill.get("tier", "task"))
    steps = tuple(step for text in _texts(skill) for step in text)
    acts: list[Act] = []
    lead_in: list[Step] = []
    for step in steps:
        if step.is_means:
            lead_in.append(step)
        else:
            acts.append(Act(step, tuple(lead_in)))
            lead_in = []
    return Routine(str(skill.get("id", "")), tier, skill.get("task_type"), steps, tuple(acts), _values(skill))


def _values(skill: Mapping[str, Any]) -> dict[str, tuple[frozenset[str], ...]]:
    extra = skill.get("extra")
    values = extra.get("values") if isinstance(extra, Mapping) else None
    if not isinstance(values, Mapping):
        return {}
    read = {
        str(name): tuple(nouns([str(value)]) for value in texts)
        for name, texts in values.items()
        if isinstance(texts, list)
    }
    return {name: words for name, words in read.items() if any(words)}


def _texts(skill: Mapping[str, Any]) -> Iterator[list[Step]]:
    steps = [str(text) for text in skill.get("steps") or []]
    if steps or skill.get("tier") == "mistake":
        for text in steps:
            step = read_step(text)
            yield [step] if step is not None else []
        return
    principle = str(skill.get("principle") or "")
    items = _ENUMERATED.split(principle)
    yield from (read_clauses(item) for item in (items[1:] if len(items) > 2 else [principle]))


def read_step(text: str) -> Step | None:
    """One line of a skill's steps; None when it names no action."""
    quoted = _QUOTED.search(text)
    sentence = _QUOTED.sub(" ", text).lower()
    clauses = read_clauses(sentence)
    if quoted is None:
        return clauses[0] if clauses else None
    command = quoted.group(1)
    first = clauses[0] if clauses else Step(meaning(command.lower().split(" ")[0]), frozenset())
    compiled = _compile(command)
    return first if compiled is None else Step(first.verbs, first.nouns, *compiled)


def read_clauses(text: str) -> list[Step]:
    """Verbs in the order of a sentence, each with the nouns up to the next.

    Only base forms tell what to do (``close it``, but not ``closed containers``), and negated clauses don't.
    """
    steps: list[Step] = []
    for clause in _CLAUSE.split(text.lower()):
        verb: str | None = None
        nouns: list[str] = []
        for word in _WORD.findall(clause):
            if word in NEGATION:
                break
            if word in SENSES:
                if verb is not None:
                    steps.append(Step(meaning(verb), frozenset(nouns)))
                verb, nouns = word, []
            elif (noun := stem(word)) not in ANYTHING and noun not in LITTLE:
                nouns.append(noun)
        if verb is not None:
            steps.append(Step(meaning(verb), frozenset(nouns)))
    return steps


def _compile(command: str) -> tuple[re.Pattern[str], tuple[str, ...]] | None:
    """The command as a pattern, and its placeholders; None for one that could not be matched in reasonable time."""
    pieces = _PLACEHOLDER.split(command)
    if len(pieces) > 2 * MOST_PLACEHOLDERS + 1 or not all(piece.strip() for piece in pieces[2:-1:2]):
        return None
    names: list[str] = []
    parts: list[str] = []
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            parts.append(re.sub(r"\d+", r"\\d+", re.escape(piece)))
        elif piece in names:
            parts.append(f"(?P=g{names.index(piece)})")
        else:
            parts.append(f"(?P<g{len(names)}>.+)")
            names.append(piece)
    return re.compile("".join(parts), re.I), tuple(names)
