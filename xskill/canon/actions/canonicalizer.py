"""Raw action → typed token ``verb<role>`` and its slot values (X-Tree step 1, arXiv 2609.32993).

A :class:`Canonicalizer` applies one profile. What the profile does not know gets the rules of the
``generic`` profile and is counted. A result depends on the action only (and on the element's role and
the goal's options, where the profile asks for them), so it is kept by raw action: logs repeat themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from xskill.canon.actions.parse_call import TextCall, argument_values, as_text, split_json_call
from xskill.canon.actions.profile import Profile, load_profile
from xskill.canon.actions.rulebook import RuleBook

Canonical = tuple[str, tuple[str, ...], bool]
"""Token, args, and whether the profile knew the action."""

RESPOND: Canonical = ("respond<user>", (), True)

MAX_MEMO = 100_000
"""Raw actions whose result is kept; then the memory starts afresh."""
MAX_MEMO_KEY = 512
"""A longer raw action hardly repeats and is not kept."""
MAX_UNMATCHED = 10_000
"""Distinct unmatched actions that are listed; more are counted only."""


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
        self._rules = RuleBook(profile)
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
        by_profile = self._rules.read(raw, command, role, goal)
        if by_profile is not None:
            result = (*by_profile, True)
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
        by_name_alone = self._by_name.get(name)
        if by_name_alone is not None:
            return by_name_alone[0], values, by_name_alone[1]
        texts = {key: as_text(value) for key, value in (arguments or {}).items()}
        if role is not None:
            texts.setdefault("role", role)
        call = TextCall(name, (), texts)
        token, by_name = self._rules.read_call(call, goal, any_name=True)
        matched = token is not None
        if token is None:
            token, generic_by_name = _generic().read_call(call, None, any_name=True)
            by_name = by_name and generic_by_name
        by_name_alone = (token or "call", matched)
        if by_name and len(self._by_name) < MAX_MEMO:
            self._by_name[name] = by_name_alone
        return by_name_alone[0], values, matched


@lru_cache(maxsize=1)
def _generic() -> RuleBook:
    return RuleBook(load_profile("generic"))
