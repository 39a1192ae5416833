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

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from xskill.canon.redact_rules import FIELDS, PERSONAL, SECRETS, SecretRule
from xskill.errors import UsageError

Level = Literal["none", "secrets", "pii"]

_ESCAPED = re.compile(rb"\\(?:/|u00[2-7])")
"""A printable ASCII character that JSON could write as it is."""

_MASK = 4
"""Characters that the vectorised search looks at first."""

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
        self._anchored = [(rule, {anchors.index(anchor) for anchor in rule.anchors}) for rule in rules if rule.anchors]
        self._everywhere = [rule for rule in rules if not rule.anchors]
        self._anchors = anchors
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
        found = self._matches(s, _search_all(self._anchors, s) if seen else ())
        if not found:
            return s
        pieces: list[str] = []
        position = 0
        for start, end, kind in sorted(found):
            self.counts[kind] += 1
            pieces += (s[position:start], f"<redacted:{kind}>")
            position = end
        pieces.append(s[position:])
        return "".join(pieces)

    def value(self, value: Any) -> Any:
        """A JSON value with the secrets in all its strings replaced.

        The name of a field counts as context: of ``{"password": "two words"}`` the value is a secret.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self._field(name, item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def _field(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return self.value(value)
        cleaned = self.text(value)
        if (
            cleaned is not value
            or not value
            or not self._anchors
            or not self._any(name.encode("utf-8", "surrogatepass"))
        ):
            return cleaned
        for kind, pattern, accept in FIELDS:
            if re.search(pattern, name) and "<redacted:" not in value and accept(value):
                self.counts[kind] += 1
                return f"<redacted:{kind}>"
        return cleaned

    def suspects(self, line: bytes) -> bool:
        """May any string of this line of JSON hold a secret? If not, they need no look one by one.

        Characters that JSON can write as ``\\u0041`` or ``\\/`` hide an anchor, so these make a suspect too.
        """
        if self._everywhere:
            return True
        if not self._anchors or not self._any_in_json(line):
            return False
        return self._any(line) or _ESCAPED.search(line) is not None

    def _matches(self, s: str, hits: Hits) -> list[tuple[int, int, str]]:
        """Disjoint (start, end, kind). Overlapping matches become one: of the kind of the one that holds all, else of
        the earlier rule."""
        taken: list[tuple[int, int, str]] = []
        for rule, anchors in self._anchored:
            done = 0
            for anchor, start, _ in hits:
                if anchor not in anchors or start < done:
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


def _search_all(anchors: Sequence[str], text: str) -> Hits:
    """All places of all anchors, overlapping ones too, in text order."""
    hits: list[tuple[int, int, int]] = []
    for index, anchor in enumerate(anchors):
        start = text.find(anchor)
        while start >= 0:
            hits.append((index, start, start + len(anchor)))
            start = text.find(anchor, start + 1)
    return sorted(hits, key=lambda hit: (hit[1], hit[0]))
