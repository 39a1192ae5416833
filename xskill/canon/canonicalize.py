"""Raw action → typed token ``verb<role>`` and its slot values (X-Tree step 1, arXiv 2609.32993).

A :class:`Canonicalizer` applies one profile. What the profile does not know gets the rules of the
``generic`` profile and is counted. A result depends on the action only (and on the element's role and
the goal's options, where the profile asks for them), so it is kept by raw action: logs repeat themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from xskill.canon.parse_call import Call, argument_values, as_text, name_words, parse_call, split_json_call
from xskill.canon.parse_shell import read_command
from xskill.canon.parse_text import read_text
from xskill.canon.profile import Profile, load_profile
from xskill.canon.rules import Rule, bare_name, first_word

Canonical = tuple[str, tuple[str, ...], bool]
"""Token, args, and whether the profile knew the action."""

RESPOND: Canonical = ("respond<user>", (), True)

MAX_MEMO = 100_000
"""Raw actions whose result is kept; then the memory starts afresh."""
MAX_MEMO_KEY = 512
"""A longer raw action hardly repeats and is not kept."""
MAX_TEMPLATE = 8192
"""A longer text is no command that a template describes; it costs no search either."""
MAX_UNMATCHED = 10_000
"""Distinct unmatched actions that are listed; more are counted only."""

_LONG_SPACE = re.compile(r"\s{3,}")


class Unmatched:
    """Raw actions that fell to the generic rule, with their counts."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self.total = 0
        self.full = False
        """More distinct actions came than are listed: ``distinct`` is a lower bound."""

    def add(self, raw: str, count: int = 1) -> None:
        """Count one raw action."""
        self.total += count
        if raw in self._counts or len(self._counts) < MAX_UNMATCHED:
            self._counts[raw] = self._counts.get(raw, 0) + count
        else:
            self.full = True

    @property
    def distinct(self) -> int:
        return len(self._counts)

    def most_common(self) -> list[tuple[str, int]]:
        """Distinct actions with their counts, the most frequent first, equal ones in text order."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))

    def update(self, other: Unmatched) -> None:
        """Add the counts of another one (a worker process's)."""
        for raw, count in other._counts.items():
            self.add(raw, count)
        self.total += other.total - sum(other._counts.values())
        self.full = self.full or other.full

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)


class Canonicalizer:
    """Applies one profile; keeps results by raw action and counts what the profile did not know."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.unmatched = Unmatched()
        self._reader = _Reader(profile)
        self._memo: dict[Any, Canonical] = {}
        self._by_name: dict[str, tuple[str, bool]] = {}
        """Tokens of calls that depend on the name alone."""

    def action(
        self,
        raw: str,
        *,
        kind: str = "action",
        name: str | None = None,
        arguments: dict[str, Any] | None = None,
        role: str | None = None,
        goal_options: Mapping[str, str] | None = None,
    ) -> Canonical:
        """Token ``verb<role>`` (or ``verb``), args, and whether the profile knew the action.

        Args:
            raw: the raw text; of a call ``name({json})``, which is parsed when ``name`` is not given.
            kind: ``action``, ``call``, ``command`` or ``respond``.
            name: function name of a call.
            arguments: its arguments, parsed; their values in sorted-key order become the args.
            role: kind of the element that the action works on, from the page or the tool.
            goal_options: option name → value that the task asks for (WebShop).
        """
        if kind == "respond":
            return RESPOND
        if kind == "call":
            result = self._call(raw, name, arguments, role, goal_options)
        else:
            if not self.profile.uses_role:
                role = None
            if not (goal_options and self.profile.uses_goal):
                goal_options = None
            key: Any = raw if kind == "action" else (kind, raw)
            if role is not None or goal_options is not None:
                key = (key, role, tuple(goal_options.items()) if goal_options else None)
            result = self._memo.get(key) or self._text(key, raw, kind == "command", role, goal_options)
        if not result[2]:
            self.unmatched.add(raw)
        return result

    def _text(self, key: Any, raw: str, command: bool, role: str | None, goal: Mapping[str, str] | None) -> Canonical:
        result: Canonical
        found = self._reader.read(raw, command, role, goal)
        if found is not None:
            result = (*found, True)
        else:
            result = (*(_generic().read(raw, command, None, None) or ("act", (raw,))), False)
        if len(raw) <= MAX_MEMO_KEY:
            if len(self._memo) >= MAX_MEMO:
                self._memo.clear()
            self._memo[key] = result
        return result

    def _call(
        self,
        raw: str,
        name: str | None,
        arguments: dict[str, Any] | None,
        role: str | None,
        goal: Mapping[str, str] | None,
    ) -> Canonical:
        if name is None:
            name, arguments = split_json_call(raw) or (raw.partition("(")[0].strip() or "call", None)
        values = argument_values(arguments) if arguments else ()
        known = self._by_name.get(name)
        if known is not None:
            return known[0], values, known[1]
        texts = {key: as_text(value) for key, value in (arguments or {}).items()}
        if role is not None:
            texts.setdefault("role", role)
        call = Call(name, (), texts)
        found = self._reader.read_call(call, goal, any_name=True)
        matched = found is not None
        token, by_name = found or _generic().read_call(call, None, any_name=True) or ("call", False)
        if by_name and len(self._by_name) < MAX_MEMO:
            self._by_name[name] = (token, matched)
        return token, values, matched


class _Reader:
    """The rules of one profile, dispatched by kind and first word."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.templates, self.any_template = profile.by_word("text")
        self.calls, self.any_call = profile.by_word("call")
        self.commands = profile.by_word("command")[1]

    def read(
        self, raw: str, command: bool, role: str | None, goal: Mapping[str, str] | None
    ) -> tuple[str, tuple[str, ...]] | None:
        """Token and args of a text or a command line: templates, then call syntax, then the rules for anything."""
        word = first_word(raw)
        text = raw.strip()
        rules = self.templates.get(word, self.any_template)
        plain = _LONG_SPACE.sub(" ", text) if len(text) > 256 else text
        for rule in rules if len(text) <= MAX_TEMPLATE else ():
            match = rule.pattern.fullmatch(plain) if rule.pattern is not None else None
            if match is None:
                continue
            slots = {name: self._clean(value) for name, value in match.groupdict().items() if value is not None}
            if role is not None:
                slots["role"] = role
            token = self._token(rule, slots, goal)
            if token is not None:
                return token, tuple([slots[name] for name in rule.args or () if name in slots])
        if bare_name(word) in self.calls or (self.any_call and not command):
            found = self._read_call_text(text, role, goal, any_name=not command)
            if found is not None:
                return found
        if command or self.profile.text_is == "command":
            return self._read_command(text)
        if any(rule.pattern is None for rule in rules):
            action = read_text(text)
            return self._first(rules, {"verb": action.verb, "object": action.object}, action.phrases)
        return None

    def read_call(self, call: Call, goal: Mapping[str, str] | None, *, any_name: bool) -> tuple[str, bool] | None:
        """Token of a call, and whether it depends on the name alone.

        Named values are slots; positional ones get the names that a rule's ``params`` give.
        """
        rules = self.calls.get(bare_name(call.name), self.any_call if any_name else ())
        only = True
        for rule in rules:
            slots = {**dict(zip(rule.params, call.positional, strict=False)), **call.named, "name": call.name}
            slots["first"], slots["rest"] = name_words(call.name)
            only = only and rule.by_name
            if rule.name_from is None:
                token = self._token(rule, slots, goal)
            else:
                token = self._renamed(call, slots.get(rule.name_from, ""), goal)
            if token is not None:
                return token, only
        return None

    def _renamed(self, call: Call, name: str, goal: Mapping[str, str] | None) -> str | None:
        """Token of the call that an argument names; one step deep."""
        rules = self.calls.get(bare_name(name), ())
        if not rules or any(rule.name_from for rule in rules):
            return None
        found = self.read_call(Call(name, call.positional, call.named), goal, any_name=False)
        return found[0] if found else None

    def _read_call_text(
        self, text: str, role: str | None, goal: Mapping[str, str] | None, *, any_name: bool
    ) -> tuple[str, tuple[str, ...]] | None:
        call = parse_call(text)
        if call is None:
            return None
        if role is not None:
            call = Call(call.name, call.positional, {**call.named, "role": role})
        found = self.read_call(call, goal, any_name=any_name)
        if found is None:
            return None
        if role is not None:
            del call.named["role"]
        return found[0], call.values

    def _read_command(self, text: str) -> tuple[str, tuple[str, ...]] | None:
        """Token and operands of a shell line."""
        if not self.commands:
            return None
        action = read_command(text, self.profile.shell)
        slots = {"program": action.program, "subcommand": action.subcommand}
        if action.inline:
            slots["argument"] = "inline code"
        elif action.main is not None:
            slots["argument"] = action.main[-256:]
        return self._first(self.commands, slots, action.operands)

    def _first(
        self, rules: tuple[Rule, ...], slots: dict[str, str], args: tuple[str, ...]
    ) -> tuple[str, tuple[str, ...]] | None:
        for rule in rules:
            token = self._token(rule, slots, None) if rule.pattern is None else None
            if token is not None:
                return token, args
        return None

    def _token(self, rule: Rule, slots: dict[str, str], goal: Mapping[str, str] | None) -> str | None:
        if rule.where and not rule.holds(slots):
            return None
        if rule.reread is None:
            return rule.token(slots, self.profile.classes, goal)
        line = slots.get(rule.reread)
        found = self._read_command(line) if line is not None else None
        return found[0] if found else None

    def _clean(self, value: str) -> str:
        value = value.strip()
        for pattern in self.profile.clean:
            value = pattern.sub("", value).strip() or value
        return value


@lru_cache(maxsize=1)
def _generic() -> _Reader:
    return _Reader(load_profile("generic"))
