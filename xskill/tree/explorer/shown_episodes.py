"""Which episodes, and how much of each, the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xskill.records import Trajectory
from xskill.tree.tiles import own_start


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of an episode that the page shows: of a branch, what it generated itself."""

    id: str
    task: str | None
    task_type: str | None
    success: bool | None
    actions: list[str]
    """Canonical tokens. [n]"""
    raw: list[str]
    """Raw actions, or token and arguments where the record has no steps. [n]"""
    observations: list[str | None]
    """[n], or empty without steps"""
    hidden: int
    """Number of further steps that are left out."""


def shown_part(record: Trajectory, most: int) -> Shown:
    """At most ``most`` steps of an episode."""
    start = own_start(record)
    end = min(len(record.actions), start + most)
    actions = record.actions[start:end]
    if record.steps is not None:
        raw = [step.action for step in record.steps[start:end]]
        seen = [step.observation for step in record.steps[start:end]]
    else:
        args = record.args[start:end] if record.args is not None else [[] for _ in actions]
        raw = [
            f"{token}({', '.join(values)})" if values else token for token, values in zip(actions, args, strict=True)
        ]
        seen = []
    return Shown(
        record.id, record.task, record.task_type, record.success, actions, raw, seen, len(record.actions) - end
    )


def chosen(records: Sequence[Trajectory], most: int) -> list[Trajectory]:
    """At most ``most`` episodes, in their order: half of them failures where there are as many, evenly spread."""
    if len(records) <= most:
        return list(records)
    failures = [place for place, record in enumerate(records) if record.success is False]
    others = [place for place, record in enumerate(records) if record.success is not False]
    n_failures = min(len(failures), max(most // 2, most - len(others)))
    keep = sorted(_spread(failures, n_failures) + _spread(others, most - n_failures))
    return [records[place] for place in keep]


def _spread(places: list[int], n: int) -> list[int]:
    n = min(n, len(places))
    return [places[i * len(places) // n] for i in range(n)]
