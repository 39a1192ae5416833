"""What a format reader yields: one episode as the log tells it, before canonicalization.

Readers build these two structs and nothing else; :mod:`xskill.canon.assemble` turns them into
:class:`xskill.records.Trajectory`. They are plain structs so that building one costs a fraction of a
microsecond: a 200 MB log has some hundred thousand steps.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from xskill.errors import BadRecord
from xskill.records import Kind, Parent


class RawStep(msgspec.Struct):
    """One action as the log tells it. Of a call ``name`` and ``arguments`` are given and ``action`` is not."""

    action: str | None = None
    kind: Kind = "action"
    name: str | None = None
    arguments: Any = None
    """Parsed arguments; the raw string when they are no JSON object."""
    role: str | None = None
    """Kind of the element acted on, where the log tells it (a web page's node)."""
    observation: str | None = None
    thought: str | None = None
    turn: int | None = None
    """Any number that equal turns share; null = a turn of its own."""
    error: bool = False
    reward: float | None = None
    logprob: Any = None
    logprob_new: Any = None
    n_tokens: int | None = None
    q: float | None = None
    visits: int | None = None
    prior: float | None = None
    extra: dict[str, Any] | None = None


class RawEpisode(msgspec.Struct, kw_only=True):
    """One episode as the log tells it."""

    steps: list[RawStep]
    id: str | None = None
    """null = the file's stem and the record's number."""
    question_id: str | None = None
    task: str | None = None
    task_type: str | None = None
    env: str | None = None
    split: str | None = None
    initial_observation: str | None = None
    success: bool | None = None
    """A verifier's word; never what the agent says of itself."""
    reward: float | None = None
    claim: Any = None
    """What the agent, or the harness without having checked, says of the outcome."""
    parent: Parent | None = None
    options: dict[str, str] | None = None
    """Option name → value that the goal names (WebShop); they decide the role of an option."""
    marks: tuple[str, ...] = ()
    """What kind of session it is (``subagent``, ``headless``, ``demo`` …), for ``--drop``."""
    extra: dict[str, Any] = {}
    record: int | None = None
    """Line or index in the file, where it differs from the one that the reader was called for."""
    suffix: str | None = None
    """Tells several episodes of one record apart in a generated id."""


@dataclass(slots=True)
class Tally:
    """What a conversion met and did not carry over, by name."""

    skipped: Counter[str] = field(default_factory=Counter)
    """Kind of record or event → how many were left out."""
    numbers: int = 0
    """NaN and infinities read as null."""

    def skip(self, kind: str, n: int = 1) -> None:
        """Count ``n`` records of a kind that does not become part of an episode."""
        self.skipped[kind] += n

    def add(self, other: Tally) -> None:
        """Add the counts of another tally (of a worker)."""
        self.skipped.update(other.skipped)
        self.numbers += other.numbers


@dataclass(slots=True)
class Place:
    """Where a reader reads.

    Attributes:
        file: base name, as it goes to ``source.file``; null for stdin.
        stem: start of generated ids.
        path: on disk, for formats that need what lies beside it; null for a pipe.
        tally: gets what is not carried over.
        number: index of the record that is being read: its line, its place in the list (from 1).
        bad: gets the records that a reader of many has to leave out, with their line; it then goes on.
    """

    stem: str
    file: str | None = None
    path: Path | None = None
    tally: Tally = field(default_factory=Tally)
    number: int = 1
    bad: list[BadRecord] = field(default_factory=list)
