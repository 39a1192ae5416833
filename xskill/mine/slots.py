"""Which object flows through a routine: its slots unified over all occurrences (ALGORITHMS section 2, ``pattern``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt

from xskill.mine.corpus import Corpus
from xskill.records import Slot

Ints = npt.NDArray[np.int32]

_AGREE = 95
"""Percent of the occurrences in which two slots must carry the same value, or one slot always the same."""
_PRESENT = 0.5
"""Share of the occurrences in which an argument must be there to be a slot."""
_TOP = 5
"""Most frequent values that are listed for a slot."""
_MAX_SLOTS = 8
"""Arguments of one action that are looked at."""


@dataclass(frozen=True, slots=True)
class Values:
    """Values of the first arguments of each distinct action."""

    code: Ints
    """Code of each argument's value, -1 where the action has none. [n_actions, n_slots]"""
    names: tuple[str, ...]
    """Distinct values, sorted."""

    @classmethod
    def of(cls, corpus: Corpus) -> Values:
        width = min(max((len(action) - 1 for action in corpus.actions), default=0), _MAX_SLOTS)
        names = tuple(sorted({value for action in corpus.actions for value in action[1 : width + 1]}))
        number = {name: code for code, name in enumerate(names)}
        code = np.full((len(corpus.actions), width), -1, np.int32)
        for row, action in enumerate(corpus.actions):
            code[row, : len(action) - 1] = [number[value] for value in action[1 : width + 1]]
        return cls(code, names)


def find_slots(steps: Ints, expansion: Sequence[str], values: Values) -> tuple[str, list[Slot] | None]:
    """The pattern of one node, and its slots.

    A slot that has one value in at least 95% of the occurrences is written out; the others are
    variables, one for all slots that carry the same value in at least 95% of the occurrences (each
    is compared with the first slot of the variables so far).

    Args:
        steps: actions of each occurrence. [n_occurrences, length]
        expansion: tokens of the node. [length]
        values: argument values of the actions.

    Returns:
        ``take<instrument>(?a) → measure<substance>(?a, ?b)``, and the slots (None when there is none).
    """
    slots: list[Slot] = []
    variables: list[tuple[str, Ints]] = []
    names = _variable_names()
    for step in range(len(expansion)):
        for index, code in enumerate(values.code[steps[:, step]].T):
            if (code >= 0).mean() < _PRESENT:
                break
            top = _most_frequent(code, values.names)
            constant = top[0][0] if _mostly(top[0][1], code) else None
            variable = None
            if constant is None:
                variable = next((name for name, other in variables if _agree(code, other)), None)
                if variable is None:
                    variable = next(names)
                    variables.append((variable, code))
            slots.append(Slot(step=step, index=index, variable=variable, constant=constant, values=top))
    shown: list[list[str]] = [[] for _ in expansion]
    for slot in slots:
        shown[slot.step].append(slot.constant if slot.constant is not None else f"?{slot.variable}")
    actions = (f"{token}({', '.join(args)})" if args else token for token, args in zip(expansion, shown, strict=True))
    return chain(actions), slots or None


def chain(actions: Iterable[str]) -> str:
    """The actions of a pattern as one text."""
    return " → ".join(actions)


def _agree(code: Ints, other: Ints) -> bool:
    return _mostly(int(((code == other) & (code >= 0)).sum()), code)


def _mostly(n: int, code: Ints) -> bool:
    return 100 * n >= _AGREE * len(code)


def _most_frequent(code: Ints, names: tuple[str, ...]) -> list[tuple[str, int]]:
    value, size = np.unique(code[code >= 0], return_counts=True)
    best = np.lexsort((value, -size))[:_TOP]
    return [(names[value[i]], int(size[i])) for i in best]


def _variable_names() -> Iterator[str]:
    """a … z, a1 … z1, a2 …"""
    for lap in count():
        for letter in ascii_lowercase:
            yield f"{letter}{lap}" if lap else letter
