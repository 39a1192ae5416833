"""Learn a profile from the raw actions of a log, and write it as TOML that a person can read and edit.

The templates come from :mod:`xskill.canon.actions.templates`. Each becomes a rule: its literal words are the verb;
the role is the slot in which a few values make up much of the use (``go to<kitchen>``), all other values
being ``other``; every slot is an arg, so that the raw action can be put together again from token and
args. Calls and shell commands have a structure that needs no learning: the profile includes ``tools``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from xskill.canon.actions.classes import MAX_PART, token_part, without_id
from xskill.canon.actions.parse_call import name_words
from xskill.canon.actions.templates import NUMBER, ActionTemplate, mine_templates

MAX_DISTINCT = 100_000
"""Different actions that are learned from; later ones are ignored."""
MAX_TEMPLATES = 300
"""Rules of a learned profile; rarer templates are left to the generic rule."""
ROLE_SHARE = 0.05
"""A value is a role of its own if it fills its slot that often …"""
ROLES_COVER = 0.3
"""… and the slot gives roles at all if such values fill it that often together."""

_SLOT_NAMES = "abcdefgh"


class Learner:
    """Collects raw actions and learns a profile from them.

    The order of the actions does not matter as long as there are at most MAX_DISTINCT different ones.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.others = 0
        """Calls, commands and answers met; they need no template."""

    def add(self, raw: str, kind: str = "action", count: int = 1) -> None:
        """Take note of one raw action (redacted, if that is wanted)."""
        if kind != "action":
            self.others += count
            return
        text = " ".join(raw.split())
        if text in self.counts or len(self.counts) < MAX_DISTINCT:
            self.counts[text] += count

    def update(self, other: Learner) -> None:
        """Take note of everything another learner has met (in a worker process)."""
        for raw, count in other.counts.items():
            self.add(raw, count=count)
        self.others += other.others

    def toml(self, name: str = "learned") -> str:
        """The learned profile; :func:`xskill.canon.actions.profile.load_profile` reads it."""
        return profile_toml(mine_templates(self.counts), self.counts, name)


def profile_toml(templates: list[ActionTemplate], counts: Mapping[str, int], name: str) -> str:
    """A profile's TOML text: one rule a template, with its frequency and examples as comments."""
    kept = {id(t) for t in sorted(templates, key=lambda t: (-t.count, repr(t.pieces)))[:MAX_TEMPLATES]}
    templates = [template for template in templates if id(template) in kept]
    lines = [
        f"# Learned from {sum(counts.values()):,} actions, {len(counts):,} different ones: {len(templates)} templates.",
        "# The first rule that matches an action gives its token. Rename verbs and roles as you like; a slot {a}",
        "# takes any text; a class table maps its values to roles, the rest is what `otherwise` says.",
        f"name = {_string(name)}",
        f"summary = {_string(f'learned from {sum(counts.values())} actions')}",
        'include = ["tools"]',
        "",
        "[slots]",
        f"number = {_string(NUMBER.pattern)}",
    ]
    verbs: Counter[str] = Counter()
    tables: Counter[str] = Counter()
    for template in templates:
        verb = _verb(template)
        verbs[verb] += 1
        if verbs[verb] > 1:
            verb = f"{verb[: MAX_PART - 4]} {verbs[verb]}"
        table = re.sub("[^a-z0-9]+", "_", verb).strip("_") or "action"
        tables[table] += 1
        lines += ["", *_rule(template, verb, table if tables[table] == 1 else f"{table}_{tables[table]}_")]
    return "\n".join(lines) + "\n"


def _verb(template: ActionTemplate) -> str:
    """The literal words; of a call the words of its name."""
    if template.form == "number":
        return "choose"
    literals = " ".join(piece for piece in template.pieces if piece is not None)
    if template.form == "words":
        return token_part(literals)
    return " ".join(word for word in name_words(literals.strip()) if word)


def _rule(template: ActionTemplate, verb: str, table: str) -> list[str]:
    names = _SLOT_NAMES[: sum(piece is None for piece in template.pieces)]
    lines = [f"# {template.count:,} times, {template.distinct:,} different: {_shown(template.examples)}"]
    for slot, values in zip(names, template.values, strict=False):
        lines.append(f"#   {{{slot}}}: {_shown([f'{value} {count}' for value, count in _ranked(values)[:8]])}")
    role = _role_slot(template)
    if role is not None:
        index, roles = role
        table = f"{table}_{names[index]}"
        lines += [
            f"[classes.{table}]",
            'by = "exact"',
            'otherwise = "other"',
            f"roles = {{ {', '.join(f'{_key(value)} = [{_string(value)}]' for value in roles)} }}",
        ]
    lines.append("[[rule]]")
    if template.form == "call":
        lines.append(f"call = {_string(template.pieces[0] or '')}")
    else:
        lines.append(f"match = {_string(_match(template, names))}")
    lines.append(f"verb = {_string(verb)}")
    if role is not None:
        lines.append(f"role = {_string(f'{{{names[role[0]]}|{table}}}')}")
    if names:
        lines.append(f"args = [{', '.join(map(_string, names))}]")
    return lines


def _match(template: ActionTemplate, names: str) -> str:
    """The template in the rule language."""
    if template.form == "number":
        return "{a:number}"
    if template.form == "bracket":
        return f"{template.pieces[0]}[{{a}}]"
    slots = iter(names)
    return " ".join(f"{{{next(slots)}}}" if piece is None else piece for piece in template.pieces)


def _role_slot(template: ActionTemplate) -> tuple[int, list[str]] | None:
    """The slot that gives roles, with the values that are roles: whose frequent values cover most of its use."""
    best: tuple[float, int, list[str]] | None = None
    if template.form == "number":
        return None
    for slot, values in enumerate(template.values):
        heads: Counter[str] = Counter()
        for value, count in values.items():
            heads[without_id(value.lower())] += count
        frequent = [
            (head, count)
            for head, count in _ranked(heads)
            if count >= max(2, ROLE_SHARE * template.count) and token_part(head) == head
        ]
        cover = sum(count for _, count in frequent) / template.count
        if cover >= ROLES_COVER and (best is None or cover >= best[0]):
            best = (cover, slot, [head for head, _ in frequent])
    return None if best is None else best[1:]


def _ranked(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))


def _shown(items: list[str]) -> str:
    """Items for a comment: one line, no control characters."""
    return " · ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", item)[:80] for item in items)


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _string(text)


def _string(text: Any) -> str:
    """A TOML basic string."""
    return orjson.dumps(str(text)).decode().replace("\x7f", "\\u007f")
