"""What a log held that is in no episode, told in words: in the summary line, and where nothing came of an input at all.

Readers count it (:class:`xskill.canon.reading.episode.SourceTally`); nothing here knows a format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from xskill.canon.assemble import Counts
from xskill.canon.reading.episode import SourceTally

MOST = 3
"""Reasons that the summary line names; the others are in ``--report``."""

_JOINT = "without|of|that|beside|in|which|written|made|before|after|injected|said|logged|left|visited|shown|tried|to"
_HEAD = re.compile(rf"(?P<head>[^ ,]*(?: (?!(?:{_JOINT}) )[^ ,]+)*?)(?P<rest>$|,.*| (?:{_JOINT})\b.*)")
"""What is counted, and what is said of it."""
_VERB = re.compile(r"^ that (was|is|has)\b")
_PLURAL = {"was": "were", "is": "are", "has": "have"}


@dataclass(slots=True)
class Claim:
    """What came of one input that a format claimed."""

    name: str
    format: str
    tally: SourceTally = field(default_factory=SourceTally)
    episodes: int = 0
    steps: int = 0
    dropped: int = 0
    """Episodes that ``--drop`` left out."""

    def add(self, counts: Counts) -> None:
        """Add what was assembled of a part of the input."""
        self.episodes += counts.trajectories
        self.steps += counts.steps
        self.dropped += counts.dropped.total()

    @property
    def is_empty(self) -> bool:
        """Whether no step came, and no option of the user's is the reason."""
        return not self.steps and not self.dropped

    @property
    def lost_all(self) -> bool:
        """Whether there was content, and none of it became a step."""
        return self.is_empty and bool(self.tally.lost)

    def sentence(self) -> str:
        """Which format claimed the input, and what it left out."""
        return f"claimed by {self.format}, which left out {', '.join(largest(self.tally.skipped)) or 'nothing'}"


def largest(counts: Counter[str], most: int = MOST) -> list[str]:
    """The largest few of some counts in words, and how many kinds more there are."""
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    words = [counted(n, kind) for kind, n in rows[:most]]
    if len(rows) > most:
        more = len(rows) - most
        words.append(f"and {more} more kind{'s' if more > 1 else ''}: --report")
    return words


def counted(n: int, kind: str) -> str:
    """A number and what it counts, in the singular or the plural.

    >>> counted(12, "result without a call"), counted(1, "records of no known kind")
    ('12 results without a call', '1 record of no known kind')
    """
    match = _HEAD.match(kind)
    if match is None:
        return f"{n:,} {kind}"
    head, rest = match["head"], match["rest"]
    if n == 1 and head.endswith("s") and not head.endswith("ss"):
        head = head.removesuffix("s")
    elif n != 1 and not head.endswith("s"):
        head = f"{head[:-1]}ies" if re.search("[^aeiou]y$", head) else f"{head}{'es' if head.endswith('ch') else 's'}"
        rest = _VERB.sub(lambda verb: f" that {_PLURAL[verb[1]]}", rest)
    return f"{n:,} {head}{rest}"


def all_lost(tallies: Iterable[SourceTally]) -> Counter[str]:
    """What several formats lost, together."""
    total: Counter[str] = Counter()
    for tally in tallies:
        total.update(tally.lost)
    return total
