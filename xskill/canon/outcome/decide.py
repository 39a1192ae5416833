"""The one place that decides success, reward and task type, for raw logs and for our own trajectories.

In this order, the later one winning: what the record says of itself, the row of ``--outcomes`` that has its key, the
expression of ``--success-if``. Where none of them gives a success, a new reward of exactly 0 or 1 does: one of a raw
log, or one that ``--outcomes`` gave. The reward that one of our own trajectories came with is not new: without an
option that asks for a change, such a trajectory passes as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.canon_options import CanonOptions
from xskill.canon.outcome.expression import Lookup, compile_test, names_in
from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.episode import RawEpisode
from xskill.canon.reading.fields import at
from xskill.records import Source, Trajectory

_NAMED = ("id", "question_id", "task", "task_type", "env", "split", "success", "reward", "extra")
"""Fields that an option can name (``--success-if``, ``--task-type``, …), beside ``n_steps`` and ``source``."""

Decided = tuple[bool | None, float | None, str | None]
"""Success, reward and task type."""


@dataclass(slots=True)
class OptionUse:
    """Which options met something; counts of worker processes are added up."""

    joined: int = 0
    """Episodes whose outcome ``--outcomes`` has."""
    fields: set[str] = field(default_factory=set)
    """Fields that ``--success-if`` and ``--task-type`` name and an episode has."""

    def add(self, other: OptionUse) -> None:
        """Add another's counts."""
        self.joined += other.joined
        self.fields |= other.fields

    def unused(self, options: CanonOptions) -> list[str]:
        """A sentence for each option that met nothing."""
        sentences: list[str] = []
        if options.outcomes is not None and not self.joined:
            sentences.append(
                f"--outcomes: none of its {len(options.outcomes.rows):,} rows has the key of a trajectory "
                f"(column {options.outcomes.key}); name the right one with --outcomes-key"
            )
        named = [("--success-if", name) for name in names_in(options.success_if)] if options.success_if else []
        named += [
            (option, name)
            for option, name in (
                ("--task-type", options.task_type),
                ("--question-id", options.question_id),
                ("--env", options.env),
            )
            if name
        ]
        sentences += [
            f"{option}: no trajectory has a field {name!r}" for option, name in named if name not in self.fields
        ]
        return sentences


class OutcomeRules:
    """The options that decide outcomes, ready to be applied.

    Raises:
        UsageError: ``--success-if`` does not parse.
    """

    def __init__(self, options: CanonOptions) -> None:
        self.use = OptionUse()
        self._rows = options.outcomes
        self._task_type = options.task_type
        self._question_id, self._env = options.question_id, options.env
        self._succeeds: Callable[[Lookup], bool | None] | None = (
            compile_test(options.success_if) if options.success_if is not None else None
        )

    def decide(self, episode: RawEpisode | Trajectory, n_steps: int) -> Decided:
        """Success, reward and task type of an episode, as the module's text says."""
        success, reward, task_type = episode.success, episode.reward, episode.task_type
        is_new = isinstance(episode, RawEpisode)
        if self._rows is not None:
            row = self._rows.find(episode.id, episode.question_id, episode.extra)
            self.use.joined += row is not None
            row_success, row_reward = row or (None, None)
            success = success if row_success is None else row_success
            if row_reward is not None:
                reward, is_new = row_reward, True
        if self._succeeds is not None or self._task_type is not None:
            fields = {**named_fields(episode, n_steps), "success": success, "reward": reward}
            if self._task_type is not None and (value := self._value(fields, self._task_type)) is not None:
                task_type = _as_text(value)
            verdict = self._succeeds(lambda name: self._value(fields, name)) if self._succeeds is not None else None
            success = success if verdict is None else verdict
        if success is None and is_new and reward is not None and reward in (0.0, 1.0):
            success = reward == 1.0
        return success, reward, task_type

    def named(self, episode: RawEpisode | Trajectory, n_steps: int) -> tuple[str | None, str | None]:
        """Question and environment of an episode, from the fields that options name."""
        question, env = episode.question_id, episode.env
        if self._question_id is not None or self._env is not None:
            fields = named_fields(episode, n_steps)
            question, env = (
                had if name is None or (value := self._value(fields, name)) is None else _as_text(value)
                for name, had in ((self._question_id, question), (self._env, env))
            )
        return question, env

    def _value(self, fields: dict[str, Any], name: str) -> Any:
        """The value of a field that an option names; that it is there is noted."""
        value = lookup(fields, name)
        if value is not None:
            self.use.fields.add(name)
        return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else sorted_dumps(value)


def named_fields(episode: RawEpisode | Trajectory, n_steps: int) -> dict[str, Any]:
    """What ``--success-if``, ``--task-type``, ``--question-id`` and ``--env`` can name."""
    source = episode.source
    place = (
        {"format": source.format, "file": source.file, "record": source.record} if isinstance(source, Source) else {}
    )
    return {**{name: getattr(episode, name) for name in _NAMED}, "n_steps": n_steps, "source": place}


def lookup(fields: dict[str, Any], name: str) -> Any:
    """A field by its dotted name; ``extra.`` may be left out."""
    value = at(fields, name)
    return at(fields["extra"], name) if value is None else value
