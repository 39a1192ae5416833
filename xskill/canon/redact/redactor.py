"""Replace secrets and personal data in logs by typed placeholders such as ``<redacted:aws-access-key>``.

No pattern runs before a literal that it needs has been seen, and then only where it was seen. A vectorised
search (Aho-Corasick) for all these anchors goes over a line of JSON as a whole, at about two gigabytes a second; a
line without any of them costs nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, Literal, get_args

from ahocorasick_rs import AhoCorasick, BytesAhoCorasick, Implementation, MatchKind

from xskill.canon.redact.context import FIELDS, SECRETS
from xskill.canon.redact.keys import SecretRule, compiled
from xskill.errors import UsageError


def _luhn(value: str) -> bool:
    """Does the check digit of a card number hold?"""
    digits = [int(char) for char in reversed(value) if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


PERSONAL: list[SecretRule] = [
    SecretRule(
        "email",
        ("@",),
        r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])",
        before=64,
    ),
    SecretRule(
        "user",
        ("/home/", "/Users/", "\\Users\\"),
        r"(?:/home/|/Users/|\\{1,4}Users\\{1,4})(?!Shared\b|Public\b)(?P<secret>[^/\\\s\"'`:;,<>()|*$]{1,64})",
    ),
    SecretRule(
        "phone",
        (),
        r"(?<![\w.+/=-])(?:\+[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){1,4}"
        r"|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[-.]\d{3}[-.]\d{4})(?![\w/=-]|\.\d)",
        lambda value: 8 <= sum(char.isdigit() for char in value) <= 15,
    ),
    SecretRule("card", (), r"(?<![\w.-])[3-6]\d{3}([ -])\d{4}\1\d{4}\1\d{4}(?![\w.-])", _luhn),
]
"""Personal data: e-mail addresses, names of home folders, phone and card numbers."""


Level = Literal["none", "secrets", "pii"]

_ESCAPED = re.compile(rb"\\(?:/|u00[2-7])")
"""A printable ASCII character that JSON could write as it is."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_MASK = 4
"""Characters that the vectorised search looks at first."""

_PAIRS = tuple((name, value) for name in ("name", "key", "Name", "Key") for value in ("value", "Value"))
"""Fields of an object that name and hold one value."""

_COMMAND = 2
"""Words at the start of a list that tell which command its options are of: ``docker login``."""

_LONGEST_NAME = 200
_MOST_NAMES = 10_000

_PASSES = 8
"""Bound on how often a text with secrets is gone over; two do, but for texts made to need more."""

SHORTEST = 6
"""No secret is found in a text of fewer characters."""

Hits = Sequence[tuple[int, int, int]]
"""(index of the anchor, start, end)"""


class Redactor:
    """Replaces secrets (and with ``pii`` personal data) in text.

    ``counts`` maps a kind, ``aws-access-key``, to the number of replacements so far.

    Raises:
        UsageError: an unknown level.
    """

    def __init__(self, level: Level | str = "secrets") -> None:
        if level not in get_args(Level):
            raise UsageError(f"--redact {level}: it is one of {', '.join(get_args(Level))}")
        self.level = level
        self.counts: Counter[str] = Counter()
        rules: list[SecretRule] = [] if level == "none" else SECRETS + (PERSONAL if level == "pii" else [])
        anchors = sorted({anchor for rule in rules for anchor in rule.anchors})
        self._rules = rules
        self._at = [[number for number, rule in enumerate(rules) if anchor in rule.anchors] for anchor in anchors]
        self._everywhere = [rule for rule in rules if not rule.anchors]
        self._anchors = anchors
        self._names: dict[str, bool] = {}
        self._all = AhoCorasick(anchors, implementation=Implementation.DFA)
        self._any = _search_any(anchors)
        self._any_in_json = _search_any({spelled for anchor in anchors for spelled in _in_json(anchor)} | {"\\u00"})

    def text(self, s: str) -> str:
        """The text with its secrets replaced; the same object when it holds none.

        A secret that could not be told from the end of the one before it shows once that one is replaced.
        """
        for _ in range(_PASSES):
            cleaned = self._replaced(s)
            if cleaned is s:
                break
            s = cleaned
        return s

    def _replaced(self, s: str) -> str:
        if len(s) < SHORTEST:
            return s
        seen = self._any(s.encode("utf-8", "surrogatepass"))
        if not (seen and self._anchors) and not self._everywhere:
            return s
        matches = self._matches(s, self._search_all(s) if seen else ())
        if not matches:
            return s
        pieces: list[str] = []
        position = 0
        for start, end, kind in sorted(matches):
            self.counts[kind] += 1
            pieces += (s[position:start], f"<redacted:{kind}>")
            position = end
        pieces.append(s[position:])
        return "".join(pieces)

    def value(self, value: Any) -> Any:
        """A JSON value with the secrets in all its strings replaced.

        What stands before a value counts as context: the name of its field (of ``{"password": "two words"}`` the value
        is a secret), the name beside it (``{"name": "API_KEY", "value": ...}``), the option before it
        (``["--token", ...]``).
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return self._list(value)
        return value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        cleaned: dict[str, Any] = {}
        for name, item in value.items():
            if not self._tells(name):
                cleaned[name] = self.value(item)
                continue
            shown = self.text(name)
            if shown in cleaned:
                shown = f"{shown} {len(cleaned)}"
            cleaned[shown] = self._claimed(name, self.value(item))
        for name, item in _PAIRS if "value" in cleaned or "Value" in cleaned else ():
            if item in cleaned and isinstance(claim := cleaned.get(name), str) and self._tells(claim):
                cleaned[item] = self._claimed(claim, cleaned[item])
        return cleaned

    def _list(self, value: list[Any]) -> list[Any]:
        cleaned = [self.value(item) for item in value]
        words = [item for item in cleaned[:_COMMAND] if isinstance(item, str)]
        is_command = bool(words) and self._tells(" ".join(words) + " ")
        for index in range(1, len(cleaned)):
            before, item = cleaned[index - 1 : index + 1]
            if not (isinstance(before, str) and isinstance(item, str)):
                continue
            if before.startswith("-") and self._tells(before):
                item = self._claimed(before.lstrip("-"), item)
            elif len(cleaned) == 2 and self._tells(before):
                item = self._behind(f'"{before}", "', item)  # a header and its value
            if is_command:
                item = self._behind(" ".join([*words[: index - 1], before, ""]), item)
            cleaned[index] = item
        return cleaned

    def _claimed(self, name: str, value: Any) -> Any:
        """The value of a field, which its name may claim."""
        if isinstance(value, list):
            return [self._claimed_text(name, item) if isinstance(item, str) else item for item in value]
        if not isinstance(value, str):
            return value
        if value and "<redacted:" not in value:
            for kind, pattern, accept in FIELDS:
                if compiled(pattern).search(name) and accept(value):
                    self.counts[kind] += 1
                    return f"<redacted:{kind}>"
        return self._claimed_text(name, value)

    def _claimed_text(self, name: str, value: str) -> str:
        return self._behind(f'"{name}": ', value)

    def _behind(self, before: str, value: str) -> str:
        """The value with the secrets replaced that it holds behind these words."""
        cleaned = self.text(before + value)
        return cleaned.removeprefix(before) if cleaned.startswith(before) else value

    def _tells(self, name: str) -> bool:
        """Does the name of a field (or a word) hold an anchor? Logs have few names, so the answers are kept."""
        if not self._anchors:
            return False
        if len(name) > _LONGEST_NAME:
            return self._any(f'"{name}": '.encode("utf-8", "surrogatepass"))
        answer = self._names.get(name)
        if answer is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            answer = self._names[name] = self._any(f'"{name}": '.encode("utf-8", "surrogatepass"))
        return answer

    def suspects(self, line: bytes) -> bool:
        """May any string of this line of JSON hold a secret? If not, they need no look one by one.

        Characters that JSON can write as ``\\u0041`` or ``\\/`` hide an anchor, so these make a suspect too.
        """
        if self._everywhere:
            return True
        if not self._anchors or not self._any_in_json(line):
            return False
        return self._any(line) or _ESCAPED.search(line) is not None

    def _search_all(self, text: str) -> Hits:
        """All places of all anchors, overlapping ones too, in text order."""
        try:
            hits = self._all.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # a lone surrogate
            hits = self._all.find_matches_as_indexes(_SURROGATE.sub("?", text), overlapping=True)
        return sorted(hits, key=lambda hit: (hit[1], hit[0]))

    def _matches(self, s: str, hits: Hits) -> list[tuple[int, int, str]]:
        """Disjoint (start, end, kind). Overlapping matches become one: of the kind of the one that holds all, else of
        the earlier rule."""
        taken: list[tuple[int, int, str]] = []
        places: dict[int, list[int]] = {}
        for anchor, start, _ in hits:
            for number in self._at[anchor]:
                places.setdefault(number, []).append(start)
        for number in sorted(places):
            rule, done = self._rules[number], 0
            for start in places[number]:
                if start < done:
                    continue
                if rule.goes_on and compiled(rule.goes_on).match(s, start) is None:
                    continue
                match = _match_at(rule, s, done, start)
                if match is not None:
                    done = match.end()
                    _take(taken, rule, match)
        for rule in self._everywhere:
            for match in rule.pattern.finditer(s):
                _take(taken, rule, match)
        return taken


def _match_at(rule: SecretRule, s: str, done: int, anchor: int) -> re.Match[str] | None:
    """The rule's match over an anchor, behind ``done`` (the end of its last one)."""
    for start in range(max(done, anchor - rule.before), anchor + 1):
        match = rule.pattern.match(s, start)
        if match is not None and match.end() > anchor:
            return match
    return None


def _take(taken: list[tuple[int, int, str]], rule: SecretRule, match: re.Match[str]) -> None:
    group = "secret" if "secret" in rule.pattern.groupindex else 0
    start, end = match.span(group)
    value = match.group(group)
    if "<redacted:" in value or not rule.accept(value):
        return
    overlapping = [span for span in taken if start < span[1] and span[0] < end]
    if not overlapping:
        taken.append((start, end, rule.kind))
        return
    whole = (min(start, *(span[0] for span in overlapping)), max(end, *(span[1] for span in overlapping)))
    if (start, end) == whole and all(span[:2] != whole for span in overlapping):
        kind = rule.kind  # it holds the others
    else:
        kind = overlapping[0][2]
    taken[:] = [span for span in taken if span not in overlapping] + [(*whole, kind)]


def _search_any(anchors: Iterable[str]) -> Callable[[bytes], bool]:
    """Is any anchor in these bytes?

    Only LeftmostFirst uses the vectorised search (six times as fast), and only with at most 64 anchors. Together
    with shorter ones, longer anchors would be searched at a third of the speed.
    """
    encoded = sorted(anchor.encode() for anchor in anchors)
    long, short = (
        BytesAhoCorasick(part, matchkind=MatchKind.LeftmostFirst).find_matches_as_indexes
        for part in ([a for a in encoded if len(a) >= _MASK], [a for a in encoded if len(a) < _MASK])
    )
    return lambda data: bool(long(data) or short(data))


def _in_json(anchor: str) -> Iterator[str]:
    """How JSON can write an anchor without ``\\u``: any slash with a backslash before it."""
    return map("".join, product(*(("/", "\\/") if char == "/" else (char,) for char in anchor)))
