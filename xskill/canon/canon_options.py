"""What the options of ``xskill canon`` choose, checked once; the same for every record and every worker process."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import MARKS
from xskill.errors import UsageError

if TYPE_CHECKING:
    from xskill.canon.outcome.joined import Outcomes


@dataclass(frozen=True, slots=True)
class CanonOptions:
    """How to read logs, and what to do with every record. Each field is the option of its name."""

    format: str | None = None
    """Name of the format; None = detect it."""
    map: str | None = None
    """``FIELD=PATH,…`` of a home-made format."""
    profile: str | None = None
    success_if: str | None = None
    task_type: str | None = None
    question_id: str | None = None
    env: str | None = None
    outcomes: Outcomes | None = None
    """The rows of ``--outcomes FILE``."""
    redact: str = "secrets"
    respond: bool = True
    drop: frozenset[str] = frozenset()
    report: bool = False
    """Compare every record with what came of it."""

    def chosen_format(self) -> Format | None:
        """The format that ``format`` or ``map`` names; None when it has to be detected.

        Raises:
            UsageError: no such format, or a map that does not parse.
        """
        if self.map is not None:
            from xskill.canon.mapping import mapped_format, parse_map

            return mapped_format(parse_map(self.map))
        if self.format is None:
            return None
        from xskill.canon.formats.table import FORMATS

        return FORMATS[self.format]


def check_options(
    *,
    format: str | None = None,
    map: str | None = None,
    profile: str | None = None,
    success_if: str | None = None,
    task_type: str | None = None,
    question_id: str | None = None,
    env: str | None = None,
    outcomes: str | None = None,
    outcomes_key: str | None = None,
    redact: str = "secrets",
    respond: bool = True,
    drop: Collection[str] = (),
    report: bool = False,
) -> CanonOptions:
    """Check the options, and read the file that one of them names.

    Args:
        outcomes: name of the file with success and reward by id.
        outcomes_key: its key column; ``FIELD=COLUMN`` if the trajectory's field has another name.
        drop: marks of :data:`xskill.canon.reading.episode.MARKS`, in the singular or the plural.

    Raises:
        UsageError: options that exclude one another, or a value that an option cannot take.
        BadData: the file of outcomes has none.
    """
    if format and map:
        raise UsageError("--from and --map exclude one another")
    if success_if is not None:
        from xskill.canon.outcome.expression import compile_test

        compile_test(success_if)
    rows = None
    if outcomes is not None:
        from xskill.canon.outcome.joined import read_outcomes

        rows = read_outcomes(outcomes, outcomes_key)
    marks = frozenset(_mark(word) for word in drop if word.strip())
    options = CanonOptions(
        format, map, profile, success_if, task_type, question_id, env, rows, redact, respond, marks, report
    )
    options.chosen_format()
    return options


def _mark(word: str) -> str:
    """``subagents`` and ``subagent`` are the same mark."""
    mark = word.strip().lower()
    mark = mark if mark in MARKS else mark.removesuffix("s")
    if mark not in MARKS:
        raise UsageError(f"--drop {word.strip()}: the marks are {', '.join(MARKS)}")
    return mark
