"""Apply the rules of one profile: which rule takes an action, and the token and args that it gives."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xskill.canon.actions.parse_call import TextCall, name_words, parse_call
from xskill.canon.actions.parse_shell import read_command
from xskill.canon.actions.parse_text import read_text
from xskill.canon.actions.profile import Profile
from xskill.canon.actions.rule_language import Rule, bare_name, first_word

MAX_TEMPLATE = 8192
"""A longer text is no command that a template describes; it costs no search either."""
_LONG_SPACE = re.compile(r"\s{3,}")


class RuleBook:
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
        canonical = self._read_templates(text, word, role, goal)
        if canonical is not None:
            return canonical
        if bare_name(word) in self.calls or (self.any_call and not command):
            canonical = self._read_call_text(text, role, goal, any_name=not command)
            if canonical is not None:
                return canonical
        if command or self.profile.text_is == "command":
            return self._read_command(text)
        rules = self.templates.get(word, self.any_template)
        if any(rule.pattern is None for rule in rules):
            action = read_text(text)
            return self._first(rules, {"verb": action.verb, "object": action.object}, action.phrases)
        return None

    def _read_templates(
        self, text: str, word: str, role: str | None, goal: Mapping[str, str] | None
    ) -> tuple[str, tuple[str, ...]] | None:
        plain = _LONG_SPACE.sub(" ", text) if len(text) > 256 else text
        for rule in self.templates.get(word, self.any_template) if len(text) <= MAX_TEMPLATE else ():
            match = rule.pattern.fullmatch(plain) if rule.pattern is not None else None
            if match is None:
                continue
            slots = {name: self._clean(value) for name, value in match.groupdict().items() if value is not None}
            if role is not None:
                slots["role"] = role
            token = self._token(rule, slots, goal)
            if token is not None:
                return token, tuple([slots[name] for name in rule.args or () if name in slots])
        return None

    def read_call(self, call: TextCall, goal: Mapping[str, str] | None, *, any_name: bool) -> tuple[str | None, bool]:
        """Token of a call (None when no rule takes it), and whether that depends on the name alone.

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
        return None, only

    def _renamed(self, call: TextCall, name: str, goal: Mapping[str, str] | None) -> str | None:
        """Token of the call that an argument names; one step deep."""
        rules = self.calls.get(bare_name(name), ())
        if not rules or any(rule.name_from for rule in rules):
            return None
        return self.read_call(TextCall(name, call.positional, call.named), goal, any_name=False)[0]

    def _read_call_text(
        self, text: str, role: str | None, goal: Mapping[str, str] | None, *, any_name: bool
    ) -> tuple[str, tuple[str, ...]] | None:
        call = parse_call(text)
        if call is None:
            return None
        slots = call if role is None else TextCall(call.name, call.positional, {**call.named, "role": role})
        token, _ = self.read_call(slots, goal, any_name=any_name)
        return None if token is None else (token, call.values)

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
        canonical: tuple[str, tuple[str, ...]] | None = None
        if rule.command_in is not None:
            line = slots.get(rule.command_in)
            canonical = None if line is None else self._read_command(line)
        elif rule.action_in is not None:
            text = slots.get(rule.action_in, "").strip()
            canonical = self._read_templates(text, first_word(text), slots.get("role"), goal)
        else:
            return rule.token(slots, self.profile.classes, goal)
        return canonical[0] if canonical else None

    def _clean(self, value: str) -> str:
        value = value.strip()
        for pattern in self.profile.clean:
            value = pattern.sub("", value).strip() or value
        return value
