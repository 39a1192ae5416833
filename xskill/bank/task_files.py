"""Tasks to retrieve skills for, or to evaluate a bank on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from xskill.bank.prompt import render_prompt
from xskill.bank.retrieval import Hit
from xskill.errors import BadRecord
from xskill.streams.raw import iter_raw
from xskill.streams.run import Run
from xskill.text.quoted import estimate_tokens


class _TaskIds(msgspec.Struct, frozen=True, kw_only=True):
    """The ids that a task line may carry."""

    id: str | int | None = None
    task_id: str | int | None = None
    question_id: str | int | None = None

    @property
    def name(self) -> str | None:
        """``task_id``, else ``question_id``, else ``id``."""
        for value in (self.task_id, self.question_id, self.id):
            if value is not None:
                return str(value)
        return None


class RetrievalTask(_TaskIds, frozen=True, kw_only=True):
    """The part of a task line that retrieval reads; a trajectory is one too."""

    task: str
    task_type: str | None = None


def read_tasks(files: Sequence[str], run: Run) -> Iterator[RetrievalTask]:
    """Tasks of all inputs: JSON lines with a ``task``, or our trajectories in any container."""
    decoder = msgspec.json.Decoder(RetrievalTask)
    for record in iter_raw(files, run.note, run.unreadable if run.keeps_rejects else None):
        if record.is_header:
            continue
        run.read += 1
        try:
            task = decoder.decode(record.data)
        except (msgspec.DecodeError, RecursionError) as error:
            reason = _reason(error)
            why = f"{reason[:1].lower()}{reason[1:]}; a task is a JSON line with a `task`, or a trajectory"
            run.bad(BadRecord(why, file=record.file, line=record.line, raw=record.data))
            continue
        run.kept += 1
        yield task
    run.check_input(files)


def retrieved_row(task: RetrievalTask, hits: Sequence[Hit]) -> dict[str, Any]:
    """What was retrieved for a task: ids with their similarity, and the text for the prompt with its length."""
    prompt = render_prompt(hit.skill for hit in hits)
    return {
        "id": task.name,
        "task": task.task,
        "task_type": task.task_type,
        "skills": [{"id": hit.skill.id, "tier": hit.skill.tier, "similarity": hit.similarity} for hit in hits],
        "tokens": estimate_tokens(prompt),
        "prompt": prompt,
    }


class TaskLine(NamedTuple):
    """One task to evaluate on: its id, and its line as the user wrote it."""

    name: str
    line: bytes


def read_task_lines(path: str, run: Run) -> list[TaskLine]:
    """Tasks of a file, untouched; each needs a ``task_id``, ``question_id`` or ``id``, and none may come twice."""
    decoder = msgspec.json.Decoder(_TaskIds)
    tasks: dict[str, TaskLine] = {}
    for record in iter_raw([path], run.note):
        if record.is_header:
            continue
        run.read += 1
        try:
            name = decoder.decode(record.data).name
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadRecord(_reason(error), file=record.file, line=record.line) from None
        if name is None:
            raise BadRecord("no task_id, question_id or id", file=record.file, line=record.line)
        if name in tasks:
            raise BadRecord(f"the task {name!r} is there twice", file=record.file, line=record.line)
        run.kept += 1
        tasks[name] = TaskLine(name, record.data)
    return list(tasks.values())


def _reason(error: Exception) -> str:
    return "not valid JSON: nested too deeply" if isinstance(error, RecursionError) else str(error)
