"""What a format reader yields: one episode as the log tells it, before canonicalization.

Readers build these two structs and nothing else; :mod:`xskill.canon.assemble` makes trajectories of them.
Both are built once and completed in place: a 200 MB log has up to a million steps, and a second object for
each would cost as much as reading the log.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from xskill.errors import BadRecord
from xskill.records import Kind, Parent, Source

MARKS = ("subagent", "headless", "demo", "forked", "abandoned", "pruned")
"""What kind of session it is, where it is not a plain one."""

_MAX_KINDS = 500
_LONGEST_KIND = 100


class RawStep(msgspec.Struct, omit_defaults=True, gc=False):
    """One action as the log tells it; assembling turns it into the step that is written.

    The fields up to ``extra`` are those of :class:`xskill.records.Step`, in the same order: what is left of
    this object after assembling (the last three are cleared) encodes as such a step.
    """

    action: str | None = None
    """Raw text; of a call it is made from ``name`` and ``arguments``."""
    observation: str | None = None
    thought: str | None = None
    kind: Kind = "action"
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
    name: str | None = None
    """Of a call: the function's name."""
    arguments: Any = None
    """Of a call: an object, or the text that stands for one."""
    role: str | None = None
    """Kind of the element acted on, where the log tells it (a web page's node)."""


class RawEpisode(
    msgspec.Struct, kw_only=True, omit_defaults=True, gc=False, tag_field="schema", tag="xskill.trajectory/1"
):
    """One episode as the log tells it; assembling completes it in place.

    The fields up to ``extra`` are those of :class:`xskill.records.Trajectory`, in the same order; the rest is
    cleared by assembling, so that what is left encodes as a trajectory.
    """

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
    actions: list[str] | None = None
    """Canonical tokens; made by assembling, as are ``args`` and ``source``."""
    args: list[tuple[str, ...]] | None = None
    steps: list[RawStep]
    parent: Parent | None = None
    source: Source | None = None
    extra: dict[str, Any] = {}
    claim: Any = None
    """What the agent, or the harness without having checked, says of the outcome."""
    options: dict[str, str] | None = None
    """Option name → value that the goal names (WebShop); they decide the role of an option."""
    marks: tuple[str, ...] = ()
    """Of :data:`MARKS`, for ``--drop``."""
    record: int | None = None
    """Line or index in the file, where it differs from the one that the reader was called for."""
    suffix: str | None = None
    """Tells several episodes of one record apart in a generated id."""


@dataclass(slots=True)
class SourceTally:
    """What a conversion met and did not carry over, by name."""

    skipped: Counter[str] = field(default_factory=Counter)
    """Kind of record or event → how many were left out, for whatever reason."""
    lost: Counter[str] = field(default_factory=Counter)
    """Those of them that are content of the log: they are told in the summary line."""
    numbers: int = 0
    """NaN and infinities read as null."""

    def skip(self, kind: str, n: int = 1) -> None:
        """Count ``n`` records that are set aside by design: system messages, telemetry, drafts, what came twice."""
        if kind not in self.skipped and (len(kind) > _LONGEST_KIND or len(self.skipped) >= _MAX_KINDS):
            kind = "of other kinds"  # names come out of the input
        self.skipped[kind] += n

    def lose(self, kind: str, n: int = 1) -> None:
        """Count ``n`` pieces of the log's content that are in no episode: ``result without a call``."""
        if n < 1:
            return
        if kind not in self.skipped and (len(kind) > _LONGEST_KIND or len(self.skipped) >= _MAX_KINDS):
            kind = "of other kinds"
        self.skipped[kind] += n
        self.lost[kind] += n

    def add(self, other: SourceTally) -> None:
        """Add the counts of another tally (of a worker)."""
        self.skipped.update(other.skipped)
        self.lost.update(other.lost)
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
    tally: SourceTally = field(default_factory=SourceTally)
    number: int = 1
    bad: list[BadRecord] = field(default_factory=list)
