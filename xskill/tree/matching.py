"""How many gold actions a completion names: the longest reading of its parts, from the first on, without a gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from xskill.canon.actions.canonicalizer import Canonicalizer
from xskill.canon.actions.profile import load_profile
from xskill.records import Gold, Kind
from xskill.tree.completions import Part, is_call_text, parse_actions


def matched_steps(gold: Gold, parts: Sequence[Part]) -> int:
    """Number of leading gold actions that the parts name in order, up to the first mismatch.

    A line is an action. Where the gold has a message to the user, it may be as many lines of a text as the rest leaves
    over; a command, or whatever has several lines in the gold, may be these, or for a command the whole part.
    """
    places = _Places(parts)
    reached = places.open({0})
    for matched, (action, token, kind) in enumerate(zip(gold.actions, gold.tokens, gold.kinds, strict=False)):
        ends: set[int] = set()
        read_to = 0  # a message that begins further down the same text ends nowhere else
        for at in sorted(reached):
            if kind != "respond" or at >= read_to:
                stops = _ends(places, at, gold, action, token, kind)
                ends.update(stops)
                read_to = max(read_to, *stops, at)
        reached = places.open(ends)
        if not reached:
            return matched
    return min(len(gold.actions), len(gold.tokens), len(gold.kinds))


class _Places:
    """The lines of all parts, numbered."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.lines = [line for part in parts for line in part.lines]
        self.part = [part for part in parts for _ in part.lines]
        self.stop: list[int] = []
        for part in parts:
            self.stop += [len(self.stop) + len(part.lines)] * len(part.lines)

    def open(self, reached: Iterable[int]) -> set[int]:
        """The places at which the next action may begin: text beside a call may be passed over."""
        places: set[int] = set()
        for at in reached:
            places.add(at)
            while at < len(self.lines) and self.part[at].aside and self.starts(at):
                at = self.stop[at]
                places.add(at)
        return places

    def starts(self, at: int) -> bool:
        """Whether a part begins there."""
        return at == 0 or self.stop[at - 1] == at


def _ends(places: _Places, at: int, gold: Gold, action: str, token: str, kind: Kind) -> list[int]:
    """Where the next action begins when this gold action is read from line ``at`` on; nothing when it is not there."""
    if at == len(places.lines):
        return []
    stop, ends = places.stop[at], []
    if _same(places.lines[at], action, token, kind, gold):
        ends = list(range(at + 1, stop + 1)) if kind == "respond" else [at + 1]
    if "\n" in action:
        own = parse_actions(action)
        if len(own) > 1 and list(map(_plain, places.lines[at : at + len(own)])) == list(map(_plain, own)):
            ends.append(at + len(own))
    whole = kind == "command" and stop - at > 1 and places.starts(at)
    if whole and _same(places.part[at].text, action, token, kind, gold):
        ends.append(stop)
    return ends


def _same(raw: str, action: str, token: str, kind: Kind, gold: Gold) -> bool:
    return _plain(raw) == _plain(action) or _token(raw, kind, gold) == token


def _token(raw: str, kind: Kind, gold: Gold) -> str | None:
    if gold.profile is None:
        return None
    if kind == "respond" and is_call_text(raw):
        return None  # a call is no message to the user
    return canonicalizer(gold.profile).action(raw, kind=kind, goal_options=gold.options or None)[0]


@lru_cache(maxsize=16)
def canonicalizer(profile: str) -> Canonicalizer:
    """The canonicalizer of a profile, kept for the life of the process."""
    return Canonicalizer(load_profile(profile))


def _plain(raw: str) -> str:
    return " ".join(raw.split()).lower()
