"""The steps of a routine as commands with placeholders, from how its occurrences really read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from xskill.array_types import Ints64
from xskill.distill.experience import Experience
from xskill.distill.plain_words import phrase, sentence, split_token
from xskill.records import Node
from xskill.text.quoted import quote

SHOWN_VALUES = 5
LONGEST_VALUE = 80
SAMPLE = 200
"""Occurrences looked at, evenly over all."""


def step_texts(node: Node, starts: Ints64, experience: Experience) -> list[str]:
    """One line a step: what it does in English, and the command with its placeholders, quoted.

    ``Take an object: `take {object} from {surface}``` — a placeholder that comes twice is the same thing both times.
    """
    names = placeholders(node)
    constants = {(slot.step, slot.index): slot.constant for slot in node.slots or [] if slot.constant is not None}
    lines = []
    for step, token in enumerate(node.expansion):
        templates = Counter(
            template(experience, position + step, step, names, constants) for position in sampled(starts)
        )
        templates.pop("", None)
        best = min(templates.items(), key=lambda item: (-item[1], item[0]))[0] if templates else None
        lines.append(sentence(phrase(token)) + (f": {quote(best)}" if best is not None else ""))
    return lines


def seen_values(node: Node, starts: Ints64, experience: Experience) -> dict[str, list[str]]:
    """Placeholder (without braces) → what it stood for most often in episodes that succeeded, without numbers."""
    outcome, corpus = experience.corpus.outcome, experience.corpus
    won = [position for position in sampled(starts) if outcome[experience.episode_of[position]] == 1]
    seen: dict[str, Counter[str]] = {}
    for (step, index), name in placeholders(node).items():
        for position in won:
            values = corpus.actions[int(corpus.steps[position + step])][1:]
            value = re.sub(r"\s+\d+$", "", values[index]) if index < len(values) else ""
            if 0 < len(value) <= LONGEST_VALUE and value.isprintable():
                seen.setdefault(name.strip("{}"), Counter())[value] += 1
    return {
        name: [value for value, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_VALUES]]
        for name, counts in seen.items()
    }


def sampled(starts: Ints64) -> list[int]:
    """At most :data:`SAMPLE` positions, evenly spread."""
    if len(starts) <= SAMPLE:
        return [int(position) for position in starts]
    return [int(starts[index]) for index in np.linspace(0, len(starts) - 1, SAMPLE).astype(np.int64)]


def placeholders(node: Node) -> dict[tuple[int, int], str]:
    """(step, slot) → ``{object}``; slots that carry the same value share a name, others of its kind are numbered."""
    names: dict[str, str] = {}
    used: Counter[str] = Counter()
    name_of: dict[tuple[int, int], str] = {}
    for slot in sorted(node.slots or [], key=lambda slot: (slot.step, slot.index)):
        if slot.constant is not None:
            continue
        key = slot.variable if slot.variable is not None else f"{slot.step}.{slot.index}"
        if key not in names:
            noun = _noun(node, key, slot.step, slot.index)
            used[noun] += 1
            names[key] = f"{{{noun}}}" if used[noun] == 1 else f"{{{noun} {used[noun]}}}"
        name_of[slot.step, slot.index] = names[key]
    return name_of


def template(
    experience: Experience,
    position: int,
    step: int,
    names: dict[tuple[int, int], str],
    constants: dict[tuple[int, int], str],
) -> str:
    """The raw action at a position with its varying values replaced by placeholders; empty without raw text."""
    code = int(experience.raw[position])
    if code < 0:
        return ""
    text = experience.raw_actions[code]
    values = experience.corpus.actions[int(experience.corpus.steps[position])][1:]
    fill: list[tuple[str, str]] = []
    for index, value in enumerate(values):
        if value and (step, index) not in constants:
            fill.append((value, names.get((step, index), f"{{value {index + 1}}}")))
    return substitute(text, fill)


def substitute(text: str, fill: Sequence[tuple[str, str]]) -> str:
    """Replace the first free occurrence of each value, as whole words, the longest value first."""
    pieces: list[tuple[str, bool]] = [(text, True)]
    for value, name in sorted(fill, key=lambda item: -len(item[0])):
        pattern = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
        for number, (piece, free) in enumerate(pieces):
            match = pattern.search(piece) if free else None
            if match:
                rest = [(piece[: match.start()], True), (name, False), (piece[match.end() :], True)]
                pieces[number : number + 1] = rest
                break
    return "".join(piece for piece, _ in pieces)


ROLE_LAST = frozenset({"put", "pour", "measure", "connect", "move"})
"""Verbs whose role is their last value: ``put<surface>(mug, shelf)``; of the others it is the first."""

OTHERS = {"take": "place", "put": "object", "pour": "substance", "measure": "instrument", "connect": "part"}
"""What the other values of a verb are."""


def _noun(node: Node, key: str, step: int, index: int) -> str:
    """What a placeholder stands for: the role of a token that it is the main value of, else a word for its place."""
    for slot in node.slots or []:
        verb, role = split_token(node.expansion[slot.step])
        last = max(other.index for other in node.slots or [] if other.step == slot.step)
        main = last if verb in ROLE_LAST else 0
        same = slot.variable == key if slot.variable is not None else (slot.step, slot.index) == (step, index)
        if same and slot.index == main and re.fullmatch(r"[a-z][a-z0-9_ ]{0,20}", role):
            return role
    return OTHERS.get(split_token(node.expansion[step])[0], "thing")
