"""Which object flows through a routine: its slots unified over all occurrences (docs/methods/x-tree.md, patterns)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from string import ascii_lowercase

import numpy as np

from xskill.array_types import Ints32
from xskill.mine.corpus import CodedCorpus
from xskill.records import Slot

_AGREE = 95
"""Percent of the occurrences in which two slots must carry the same value, or one slot always the same."""
_PRESENT = 0.5
"""Share of the occurrences in which an argument must be there to be a slot."""
_TOP = 5
"""Most frequent values that are listed for a slot."""
_MAX_SLOTS = 8
"""Arguments of one action that are looked at."""


@dataclass(frozen=True, slots=True)
class ArgumentValues:
    """Values of the first arguments of each distinct action."""

    code: Ints32
    """Code of each argument's value, -1 where the action has none. [n_actions, n_slots]"""
    names: tuple[str, ...]
    """Distinct values, sorted."""

    @classmethod
    def of(cls, corpus: CodedCorpus) -> ArgumentValues:
        width = min(max((len(action) - 1 for action in corpus.actions), default=0), _MAX_SLOTS)
        names = tuple(sorted({value for action in corpus.actions for value in action[1 : width + 1]}))
        number = {name: code for code, name in enumerate(names)}
        code = np.full((len(corpus.actions), width), -1, np.int32)
        for row, action in enumerate(corpus.actions):
            code[row, : len(action) - 1] = [number[value] for value in action[1 : width + 1]]
        return cls(code, names)


def find_slots(steps: Ints32, expansion: Sequence[str], values: ArgumentValues) -> tuple[str, list[Slot] | None]:
    """The pattern of one node, and its slots.

    Slots that carry the same value in at least 95% of the occurrences share a variable (each slot is
    compared with the first one of the variables so far). A slot that has one value in at least 95% of
    the occurrences is written out, and needs no variable unless it shares one.

    Args:
        steps: actions of each occurrence. [n_occurrences, length]
        expansion: tokens of the node. [length]
        values: argument values of the actions.

    Returns:
        ``take<instrument>(?a=thermometer) → measure<substance>(?a, ?b)``, and the slots (None when there is none).
    """
    places: list[tuple[int, int]] = []
    tops: list[list[tuple[str, int]]] = []
    constants: list[str | None] = []
    members: list[int] = []
    firsts: list[Ints32] = []
    for step in range(len(expansion)):
        for index, code in enumerate(values.code[steps[:, step]].T):
            if (code >= 0).mean() < _PRESENT:
                break
            same = next((number for number, other in enumerate(firsts) if _agree(code, other)), len(firsts))
            if same == len(firsts):
                firsts.append(code)
            top = _most_frequent(code, values.names)
            places.append((step, index))
            tops.append(top)
            constants.append(top[0][0] if _mostly(top[0][1], code) else None)
            members.append(same)
    names = _variable_names()
    named: dict[int, str] = {}
    for member, constant in zip(members, constants, strict=True):
        if member not in named and (constant is None or members.count(member) > 1):
            named[member] = next(names)
    slots = [
        Slot(step=step, index=index, variable=named.get(member), constant=constant, values=top)
        for (step, index), member, constant, top in zip(places, members, constants, tops, strict=True)
    ]
    return pattern(expansion, slots), slots or None


def pattern(expansion: Sequence[str], slots: Iterable[Slot]) -> str:
    """The actions with their slots; a variable with one value shows it where it first stands."""
    shown: list[list[str]] = [[] for _ in expansion]
    shown_values: set[tuple[str, str]] = set()
    for slot in slots:
        text = slot.constant or ""
        if slot.variable is not None:
            text = f"?{slot.variable}"
            if slot.constant is not None and (slot.variable, slot.constant) not in shown_values:
                shown_values.add((slot.variable, slot.constant))
                text += f"={slot.constant}"
        shown[slot.step].append(text)
    return chain(f"{token}({', '.join(args)})" if args else token for token, args in zip(expansion, shown, strict=True))


def chain(actions: Iterable[str]) -> str:
    """The actions of a pattern as one text."""
    return " → ".join(actions)


def _agree(code: Ints32, other: Ints32) -> bool:
    return _mostly(int(((code == other) & (code >= 0)).sum()), code)


def _mostly(n: int, code: Ints32) -> bool:
    return 100 * n >= _AGREE * len(code)


def _most_frequent(code: Ints32, names: tuple[str, ...]) -> list[tuple[str, int]]:
    value, size = np.unique(code[code >= 0], return_counts=True)
    best = np.lexsort((value, -size))[:_TOP]
    return [(names[value[i]], int(size[i])) for i in best]


def _variable_names() -> Iterator[str]:
    """a … z, a1 … z1, a2 …"""
    for lap in count():
        for letter in ascii_lowercase:
            yield f"{letter}{lap}" if lap else letter
