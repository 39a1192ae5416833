"""The rule language of profiles: templates that read an action, and outputs that write its token.

A template is literal text with slots: ``move {object} to {target}``. A slot takes any text, the shortest
that lets the rest match; ``{object:thing}`` takes what the profile's ``[slots]`` pattern ``thing`` says.
An output is text with slot values, each passed through filters: ``{target|object}`` is the role that
the class table ``object`` gives to the value of the slot ``target``. A filter that does not know its
value makes the rule fail, and the next one is tried.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from xskill.canon.actions.classes import ClassTable, token_part

On = Literal["text", "call", "command"]
Slots = Mapping[str, str]

_SLOT = re.compile(r"\{([A-Za-z_]\w*)(?::([A-Za-z_]\w*))?\}")
_VALUE = re.compile(r"\{([A-Za-z_]\w*)((?:\|[A-Za-z_]\w*)*)\}")
_FIRST_WORD = re.compile(r"\s*([^\s(\[{]+)")

BUILT_IN_FILTERS = ("goal", "dash")
"""``goal``: the name of the goal's option that has this value · ``dash``: spaces become ``-``."""


def first_word(text: str) -> str:
    """The word by which rules are dispatched, in lower case: up to a space or an opening bracket."""
    match = _FIRST_WORD.match(text)
    return match.group(1).lower() if match else ""


def bare_name(name: str) -> str:
    """A call's name as rules know it: lower case, without ``module.`` and ``mcp__server__``."""
    return name.lower().rsplit(".", 1)[-1].rsplit("__", 1)[-1]


def compile_template(template: str, patterns: Mapping[str, str]) -> re.Pattern[str]:
    """Compile ``go to {place}`` to a case-blind pattern with the named group ``place``.

    Raises:
        ValueError: an unknown slot pattern, a slot that occurs twice, or a broken pattern.
    """
    parts: list[str] = []
    position = 0
    for match in _SLOT.finditer(template):
        parts.append(_literal(template[position : match.start()]))
        name, kind = match.groups()
        if kind and kind not in patterns:
            raise ValueError(f"slot pattern {kind!r} is not among [slots]: {', '.join(patterns) or 'none'}")
        parts.append(f"(?P<{name}>{patterns[kind] if kind else '.+?'})")
        position = match.end()
    parts.append(_literal(template[position:]))
    try:
        return re.compile("".join(parts), re.I | re.S)
    except re.error as error:
        raise ValueError(str(error)) from None


def _literal(text: str) -> str:
    return r"\s+".join(re.escape(piece) for piece in re.split(r"\s+", text))


@dataclass(frozen=True, slots=True)
class Output:
    """A verb or a role: constant pieces and slot values with their filters."""

    text: str
    parts: tuple[str | tuple[str, tuple[str, ...]], ...]

    @property
    def slots(self) -> set[str]:
        return {part[0] for part in self.parts if isinstance(part, tuple)}

    @property
    def filters(self) -> set[str]:
        return {name for part in self.parts if isinstance(part, tuple) for name in part[1]}

    @property
    def plain(self) -> set[str]:
        """Slots whose value stands in the output as it is."""
        return {part[0] for part in self.parts if isinstance(part, tuple) and not part[1]}

    def fill(self, slots: Slots, classes: Mapping[str, ClassTable], goal: Slots | None) -> str | None:
        """The output for these slot values; None when a filter does not know its value."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return self.parts[0]
        pieces: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            value: str | None = slots.get(part[0])
            for name in part[1]:
                if name == "dash":
                    value = None if value is None else value.strip().replace(" ", "-")
                elif name == "goal":
                    value = _goal_option(value, goal)
                else:
                    value = classes[name].role(value)
            if value is None:
                if part[1]:
                    return None
                value = ""
            pieces.append(value)
        return token_part("".join(pieces))


def compile_output(text: str, known_filters: Sequence[str]) -> Output:
    """Compile ``option-{option|goal|dash}``.

    Raises:
        ValueError: a filter that is neither built in nor a class table.
    """
    parts: list[str | tuple[str, tuple[str, ...]]] = []
    position = 0
    for match in _VALUE.finditer(text):
        if match.start() > position:
            parts.append(text[position : match.start()])
        filters = tuple(name for name in match.group(2).split("|") if name)
        for name in filters:
            if name not in known_filters:
                raise ValueError(f"{name!r} in {text!r} is no class table and no filter ({', '.join(known_filters)})")
        parts.append((match.group(1), filters))
        position = match.end()
    if position < len(text):
        parts.append(text[position:])
    return Output(text, tuple(parts))


def _goal_option(value: str | None, goal: Slots | None) -> str | None:
    if value is None or not goal:
        return None
    wanted = value.strip().lower()
    return next((name for name, option in goal.items() if str(option).strip().lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Rule:
    """One ``[[rule]]``. ``where`` (slot → pattern) must hold besides the match."""

    on: On
    verb: Output
    role: Output | None
    pattern: re.Pattern[str] | None = None
    """Of a text rule."""
    words: frozenset[str] = frozenset()
    """First words (text) or names (call) that it can match; empty = any."""
    params: tuple[str, ...] = ()
    """Names of a call's positional values."""
    args: tuple[str, ...] | None = None
    """Slots that become the step's args; None = all of them that the role does not already hold."""
    where: tuple[tuple[str, re.Pattern[str]], ...] = ()
    command_in: str | None = None
    """Slot that holds a shell line, which gives the token."""
    action_in: str | None = None
    """Slot that holds an action in words, which the text rules of the profile read."""
    name_from: str | None = None
    """Slot of a call that names what is called: ``computer({"action":"click"})`` is read as ``click``."""
    by_name: bool = False
    """The token of a call depends on its name only."""

    def holds(self, slots: Slots) -> bool:
        """Do the ``where`` conditions hold? A missing slot is an empty text."""
        return all(pattern.search(slots.get(name, "")) for name, pattern in self.where)

    def token(self, slots: Slots, classes: Mapping[str, ClassTable], goal: Slots | None) -> str | None:
        """``verb<role>``, or ``verb`` when there is no role; None when a filter gives up."""
        verb = self.verb.fill(slots, classes, goal)
        if not verb:
            return None
        if self.role is None:
            return verb
        role = self.role.fill(slots, classes, goal)
        if role is None:
            return None
        return f"{verb}<{role}>" if role else verb
