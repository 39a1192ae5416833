"""The questions that a rollout starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from xskill.errors import BadData, BadRecord
from xskill.records import Record, Split, Trajectory
from xskill.sampling.growing_episode import RECORD
from xskill.sampling.protocol import Task
from xskill.streams.read import read_records
from xskill.streams.run import Run


class _QuestionRow(Record, frozen=True, kw_only=True):
    """A line of a tasks file: benchmarks number their tasks, and some call the number ``question_id``."""

    id: str | int | None = None
    question_id: str | int | None = None
    task: str | None = None
    task_type: str | None = None
    env: str | None = None
    split: Split | None = None
    extra: dict[str, Any] = {}


def read_tasks(files: Sequence[str], run: Run) -> list[Task]:
    """Read ``{"id", "task", "task_type"?, "env"?, "split"?, …}`` records; what else they hold goes to the worker.

    Raises:
        BadRecord: a record without an id, or with one that came before (unless ``run`` keeps rejects).
    """
    tasks: dict[str, Task] = {}
    for row in read_records(files, _QuestionRow, run):
        name = row.id if row.id is not None else row.question_id
        if name is None:
            _reject(run, row, "missing: what names the question", "id")
        elif str(name) in tasks:
            _reject(run, row, f"{str(name)!r} came before", "id")
        else:
            tasks[str(name)] = Task(
                id=str(name), task=row.task, task_type=row.task_type, env=row.env, split=row.split, extra=row.extra
            )
    return list(tasks.values())


def _reject(run: Run, row: _QuestionRow, reason: str, path: str) -> None:
    run.kept -= 1
    run.bad(BadRecord(reason, path=path).at(*run.place, raw=msgspec.json.encode(row)))


def read_given(path: str) -> dict[str, list[Trajectory]]:
    """Episodes to expand, by question; one without a question is a question of its own.

    Raises:
        BadRecord: no trajectory, or one without its steps.
        BadData: two of them share an id.
    """
    given: dict[str, list[Trajectory]] = {}
    seen: set[str] = set()
    for trajectory in read_records([path], Trajectory, Run("given", quiet=True)):
        if trajectory.steps is None:
            raise BadRecord(
                f"trajectory {trajectory.id!r} has no steps: nothing to branch from", path="steps", file=path
            )
        if trajectory.id in seen:
            raise BadData(f"{path}: two trajectories are called {trajectory.id!r}")
        seen.add(trajectory.id)
        question = trajectory.question_id if trajectory.question_id is not None else trajectory.id
        given.setdefault(question, []).append(msgspec.structs.replace(trajectory, question_id=question))
    return given


def task_of(trajectory: Trajectory) -> Task:
    """The question of an episode, as far as its record still knows it."""
    assert trajectory.question_id is not None
    return Task(
        id=trajectory.question_id,
        task=trajectory.task,
        task_type=trajectory.task_type,
        env=trajectory.env,
        split=trajectory.split,
        extra={name: value for name, value in trajectory.extra.items() if name != RECORD},
    )
