"""Raw steps → canonical tokens and args, in place: the hot loop of canon.

Logs repeat themselves, so what an action comes to is kept by its raw text (of a call: by its name and the text
of its arguments) and a repeated one costs a dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from operator import attrgetter
from typing import Any

import msgspec

from xskill.canon.actions.canonicalizer import MAX_MEMO, MAX_MEMO_KEY, Canonicalizer
from xskill.canon.actions.parse_call import split_json_call
from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.dialog import call_arguments
from xskill.canon.reading.episode import RawStep
from xskill.canon.redact.redactor import Redactor

_to_json = msgspec.json.Encoder().encode

Remembered = tuple[str, str, tuple[str, ...], bool]
"""Raw text, token, args, and whether the profile knew the action."""

Token = tuple[str, tuple[str, ...]]

Sample = tuple[str, str]
"""Kind and raw text of a step, as profile detection sees it."""

_ACTION, _KIND, _ROLE = attrgetter("action"), attrgetter("kind"), attrgetter("role")
_ACTIONS = {"action"}

RESPOND: Token = ("respond<user>", ())


class Actions:
    """Completes steps under one profile."""

    def __init__(self, canonicalizer: Canonicalizer, redactor: Redactor) -> None:
        self.canonicalizer = canonicalizer
        self._redactor = redactor
        self._memo: dict[Any, Remembered] = {}
        self._plain: dict[Any, Token] = {}
        """The part of the memory that needs nothing done: plain actions that the profile knows."""

    def complete(
        self, steps: list[RawStep], goal: Mapping[str, str] | None, *, clean: bool
    ) -> tuple[list[str], list[tuple[str, ...]]]:
        """Set the raw text of each step and return the tokens and args.

        Args:
            goal: options that the task asks for (WebShop).
            clean: the steps hold nothing to redact; otherwise all their texts are redacted here.
        """
        if not clean:
            self._redact(steps)
        canonical = self._all_plain(steps) if goal is None else []
        if not canonical:
            canonical = [self._one(step, goal) for step in steps]
        tokens, args = zip(*canonical, strict=True)
        return list(tokens), list(args)

    def _all_plain(self, steps: list[RawStep]) -> list[Token]:
        """Tokens and args of steps that are all known and plain, else none; no line of Python for each step."""
        if set(map(_KIND, steps)) != _ACTIONS or any(map(_ROLE, steps)):
            return []
        try:
            return list(map(self._plain.__getitem__, map(_ACTION, steps)))
        except KeyError:
            return []

    def _one(self, step: RawStep, goal: Mapping[str, str] | None) -> Token:
        """Token and args of one step; sets its raw text and clears what only a call has."""
        kind = step.kind
        if kind == "respond":
            return RESPOND
        key: Any
        if kind == "call":
            arguments = step.arguments
            key = (step.name, arguments) if type(arguments) is str and step.role is None else None
            if step.name is None:
                key = ("", step.action)
        elif goal is None and step.role is None:
            key = step.action if kind == "action" else (kind, step.action)
        else:
            key = (kind, step.action, step.role, tuple(goal.items()) if goal else None)
        remembered = self._memo.get(key) if key is not None else None
        if remembered is None:
            remembered = self._call(step) if kind == "call" else self._text(step, goal)
            if key is not None and len(remembered[0]) <= MAX_MEMO_KEY:
                self._keep(key, remembered)
        elif not remembered[3]:
            self.canonicalizer.unmatched.add(remembered[0])
        step.action = remembered[0]
        step.name = step.arguments = step.role = None
        return remembered[1], remembered[2]

    def _keep(self, key: Any, remembered: Remembered) -> None:
        if len(self._memo) >= MAX_MEMO:
            self._memo.clear()
            self._plain.clear()
        self._memo[key] = remembered
        if type(key) is str and key and remembered[3]:
            self._plain[key] = remembered[1], remembered[2]

    def _text(self, step: RawStep, goal: Mapping[str, str] | None) -> Remembered:
        raw = step.action or ""
        token, args, matched = self.canonicalizer.action(raw, kind=step.kind, role=step.role, goal_options=goal)
        return raw, token, args, matched

    def _call(self, step: RawStep) -> Remembered:
        if step.name is None and step.action:  # a call that the log gives as text
            token, args, matched = self.canonicalizer.action(step.action, kind="call", role=step.role)
            return step.action, token, args, matched
        name = step.name or "unknown"
        arguments = call_arguments(step.arguments)
        if isinstance(arguments, dict):
            raw = f"{name}({sorted_dumps(arguments) if arguments else '{}'})"
        else:
            text = arguments if isinstance(arguments, str) else sorted_dumps(arguments)
            raw, arguments = f"{name}({text})", {"": text}
        token, args, matched = self.canonicalizer.action(
            raw, kind="call", name=name, arguments=arguments, role=step.role
        )
        return raw, token, args, matched

    def _redact(self, steps: list[RawStep]) -> None:
        text: Callable[[str], str] = self._redactor.text
        suspects = self._redactor.suspects
        for step in steps:
            if not suspects(_to_json(step)):
                continue
            if step.kind == "call" and step.name is None and step.action:
                step.action = redacted_call(step.action, self._redactor)
            elif step.kind == "call":
                step.name = text(step.name) if step.name else step.name
                arguments = call_arguments(step.arguments)
                step.arguments = self._redactor.value(arguments) if arguments else arguments
            elif step.action:
                step.action = text(step.action)
            if step.observation:
                step.observation = text(step.observation)
            if step.thought:
                step.thought = text(step.thought)
            if step.extra:
                step.extra = self._redactor.value(step.extra)


def redacted_call(action: str, redactor: Redactor) -> str:
    """A call as text, redacted: ``name({json})`` by its arguments, any other as the text that it is."""
    parts = split_json_call(action)
    if parts is None:
        return redactor.text(action)
    name, arguments = parts
    cleaned = redactor.value(arguments)
    return action if cleaned == arguments else f"{redactor.text(name)}({sorted_dumps(cleaned)})"


def set_dense_turns(steps: list[RawStep]) -> None:
    """Number the turns from 0 without gaps; null when every step is a turn of its own."""
    turns = [step.turn for step in steps]
    if turns.count(None) == len(turns):
        return
    shared = any(turn is not None and turn == before for before, turn in pairwise(turns))
    if not shared:
        for step in steps:
            step.turn = None
        return
    dense = -1
    previous: int | None = None
    for step, turn in zip(steps, turns, strict=True):
        if turn is None or turn != previous:
            dense += 1
        previous = turn
        step.turn = dense


def samples(steps: list[RawStep]) -> list[Sample]:
    """Kinds and raw texts as profile detection sees them."""
    taken: list[Sample] = []
    for step in steps:
        if step.kind == "call" and step.name is not None:
            taken.append((step.kind, f"{step.name}({sorted_dumps(call_arguments(step.arguments))})"))
        elif step.kind != "respond":
            taken.append((step.kind, step.action or ""))
    return taken
