"""Mine action templates from raw text actions, Drain-style.

A fixed tree like Drain's (He et al., ICWS 2017) sends an action down by its form (``name[…]``,
``name(…)``, words), then by its leading words, and its leaf is a template: literal words with slots. Two
things differ, because names of objects have any number of words (``pick up blue light bulb``): the tree
does not branch by length, and a word is literal only if it *connects*, that is if many different words
stand on either side of it in the actions that share its prefix (``move … to …``); function words
count as connecting where the data is too thin to tell. (drain3, the known implementation, gives one
template for each length of a name, has had no release since 2022 and pins old versions of jsonpickle.)
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xskill.canon.actions.parse_call import parse_call
from xskill.canon.actions.parse_text import FUNCTION_WORDS

MAX_LENGTH = 400
"""A longer action is free text and teaches no template."""

LEADING_SHARE = 0.3
"""Leading words are literal if they stand in this share of the different actions under the same prefix …"""
LEADING_DISTINCT = 10
"""… and in this many of them."""
CONNECTING_SHARE = 0.5
"""The same for a word between two slots."""
DIVERSITY = 3
"""Different neighbours that a connecting word has on a side."""
THIN = 5
"""With fewer different actions than that, function words connect."""
MAX_SLOTS = 4

NUMBER = re.compile(r"[-+]?\d[\d.,]*")

Words = tuple[str, ...]


@dataclass(slots=True)
class ActionTemplate:
    """Literal pieces and slots (None) of one kind of action, and what filled the slots."""

    form: str
    """``words``, ``number``, ``bracket`` (``name[slot]``) or ``call`` (``name(…)``: no pieces but the name)."""
    pieces: tuple[str | None, ...]
    count: int = 0
    distinct: int = 0
    values: list[Counter[str]] = field(default_factory=list)
    """For each slot its values with their counts."""
    examples: list[str] = field(default_factory=list)

    def add(self, raw: str, values: Sequence[str], count: int) -> None:
        """One action with its slot values."""
        if not self.values:
            self.values = [Counter() for _ in values]
        for counter, value in zip(self.values, values, strict=True):
            counter[value] += count
        self.count += count
        self.distinct += 1
        if len(self.examples) < 3:
            self.examples.append(raw)


@dataclass(frozen=True, slots=True)
class _CountedAction:
    raw: str
    words: Words
    count: int


def mine_templates(counts: Mapping[str, int]) -> list[ActionTemplate]:
    """Templates of raw actions (text → count), in the order in which rules must try them.

    Every action fits at least one template, but those that are too long, hold braces or begin with no word;
    the template with the slot values filled in is the action again, up to white space and case.
    """
    groups: dict[tuple[str, str], list[_CountedAction]] = defaultdict(list)
    for raw in sorted(counts):
        if len(raw) > MAX_LENGTH or "{" in raw or "}" in raw:
            continue
        form, key, words = _shape(raw)
        if form != "words" or (words and any(char.isalnum() for char in words[0])):
            groups[form, key].append(_CountedAction(raw, words, counts[raw]))
    templates: list[ActionTemplate] = []
    for (form, key), rows in sorted(groups.items()):
        if form == "number":
            templates.append(_whole(form, (None,), rows))
        elif form == "words":
            templates += _by_prefix(rows, (rows[0].words[0].lower(),))
        else:
            templates.append(_whole(form, (key, None) if form == "bracket" else (key,), rows))
    merged: dict[tuple[str, tuple[str | None, ...]], ActionTemplate] = {}
    for template in templates:
        merged.setdefault((template.form, template.pieces), template)
    return sorted(merged.values(), key=_specificity)


def _specificity(template: ActionTemplate) -> tuple[int, int, str]:
    """Fewer slots first, then more literal text."""
    literals = [piece for piece in template.pieces if piece is not None]
    return (len(template.pieces) - len(literals), -sum(map(len, literals)), repr(template.pieces))


def _shape(raw: str) -> tuple[str, str, Words]:
    """Form, group key and what is left to look at."""
    if NUMBER.fullmatch(raw):
        return "number", "", (raw,)
    call = parse_call(raw)
    if call is None:
        words = tuple(raw.split())
        return "words", words[0].lower() if words else "", words
    single = re.fullmatch(r"([\w-]+)(\s?)\[([^\[\]]+)\]", raw)
    if single:
        return "bracket", single[1].lower() + single[2], (single[3].strip(),)
    return "call", call.name, ()


def _whole(form: str, pieces: tuple[str | None, ...], rows: Sequence[_CountedAction]) -> ActionTemplate:
    """A template of which every row is an instance as it stands."""
    template = ActionTemplate(form, pieces)
    for row in rows:
        template.add(row.raw, row.words, row.count)
    return template


def _norm(word: str) -> str:
    """A word as a neighbour: numbers are all alike."""
    return "#" if word[:1].isdigit() else word.lower()


def _is_literal(word: str) -> bool:
    return word[:1].isalpha()


def _by_prefix(rows: Sequence[_CountedAction], prefix: Words) -> list[ActionTemplate]:
    """Templates of actions that all begin with the literal words ``prefix``."""
    templates: list[ActionTemplate] = []
    length = len(prefix)
    whole = [_CountedAction(row.raw, (), row.count) for row in rows if len(row.words) == length]
    if whole:
        templates.append(_whole("words", prefix, whole))
    rest = [row for row in rows if len(row.words) > length]
    following: dict[str, list[_CountedAction]] = defaultdict(list)
    for row in rest:
        following[row.words[length].lower()].append(row)
    for word, subset in sorted(following.items()):
        phrase = _phrase(subset, length)
        after = {_norm(row.words[length + len(phrase)]) for row in subset if len(row.words) > length + len(phrase)}
        particle = length == 1 and word in FUNCTION_WORDS
        if particle or (
            phrase and len(subset) >= max(LEADING_DISTINCT, LEADING_SHARE * len(rest)) and len(after) >= DIVERSITY
        ):
            templates += _by_prefix(subset, prefix + (phrase or (word,)))
            rest = [row for row in rest if row.words[length].lower() != word]
    return templates + _by_connection(rest, prefix, length)


def _phrase(rows: Sequence[_CountedAction], start: int) -> Words:
    """The literal words that all rows share from ``start`` on."""
    shared: list[str] = []
    while True:
        position = start + len(shared)
        words = {row.words[position].lower() if len(row.words) > position else "" for row in rows}
        word = words.pop()
        if words or not _is_literal(word):
            return tuple(shared)
        shared.append(word)


def _by_connection(rows: Sequence[_CountedAction], prefix: Words, length: int) -> list[ActionTemplate]:
    """Templates ``prefix {a} word {b} …`` of actions that go on differently after ``prefix``."""
    templates: list[ActionTemplate] = []
    rest = list(rows)
    while rest:
        word = _connector([row.words[length:] for row in rest])
        if word is None:
            chosen, rest = rest, []
            connectors: Words = ()
        else:
            chosen = [row for row in rest if _place(row.words, length, word)]
            rest = [row for row in rest if not _place(row.words, length, word)]
            connectors = (word, *_further([_after(row.words, length, word) for row in chosen], 2))
        templates += _filled(chosen, prefix, length, connectors)
    return templates


def _further(tails: Sequence[Words], slots: int) -> Words:
    """Connectors within what follows the first one, only if all actions have them."""
    if slots >= MAX_SLOTS:
        return ()
    word = _connector(tails, share=1.0)
    if word is None:
        return ()
    return (word, *_further([_after(tail, 0, word) for tail in tails], slots + 1))


def _place(words: Words, start: int, word: str) -> int:
    """Index of the first inner occurrence of ``word`` after a slot that begins at ``start``; 0 for none."""
    return next((i for i in range(start + 1, len(words) - 1) if words[i].lower() == word), 0)


def _after(words: Words, start: int, word: str) -> Words:
    return words[_place(words, start, word) + 1 :]


def _connector(tails: Sequence[Words], share: float = CONNECTING_SHARE) -> str | None:
    """The word that connects two slots in most of these word sequences; None when none does."""
    holders: Counter[str] = Counter()
    places: Counter[str] = Counter()
    left: dict[str, set[str]] = defaultdict(set)
    right: dict[str, set[str]] = defaultdict(set)
    for tail in tails:
        inner = range(1, len(tail) - 1)
        for i in inner:
            word = tail[i].lower()
            if _is_literal(word):
                left[word].add(_norm(tail[i - 1]))
                right[word].add(_norm(tail[i + 1]))
                places[word] += i
        holders.update({tail[i].lower() for i in inner if _is_literal(tail[i])})
    best: tuple[int, int, str] | None = None  # most holders first, then the one further left
    for word, count in holders.items():
        diverse = min(len(left[word]), len(right[word])) >= DIVERSITY
        function = word in FUNCTION_WORDS and (len(tails) < THIN or diverse or count == len(tails))
        if count >= share * len(tails) and (diverse or function):
            rank = (-count, places[word], word)
            if best is None or rank < best:
                best = rank
    return best[2] if best else None


def _filled(rows: Iterable[_CountedAction], prefix: Words, length: int, connectors: Words) -> list[ActionTemplate]:
    pieces: list[str | None] = [*prefix, None]
    for word in connectors:
        pieces += [word, None]
    template = ActionTemplate("words", tuple(pieces))
    for row in rows:
        values: list[str] = []
        start = length
        for word in connectors:
            end = _place(row.words, start, word)
            values.append(" ".join(row.words[start:end]))
            start = end + 1
        values.append(" ".join(row.words[start:]))
        template.add(row.raw, values, row.count)
    return [template] if template.count else []
