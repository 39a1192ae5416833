"""What an earlier, interrupted run has already sampled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from xskill.errors import BadRecord, NoInput, UsageError
from xskill.records import Trajectory
from xskill.sampling.growing_episode import RECORD
from xskill.streams.read import read_records
from xskill.streams.run import Run


def read_finished(path: str, run: Run) -> dict[str, list[Trajectory]]:
    """Trajectories of the file by question. A file that ends in the middle of a line ends before that line."""
    by_question: dict[str, list[Trajectory]] = {}
    try:
        for trajectory in read_records([path], Trajectory, Run("resume", quiet=True)):
            by_question.setdefault(trajectory.question_id or trajectory.id, []).append(trajectory)
    except BadRecord as error:
        if "truncated" not in error.reason:
            raise
        run.note(f"{error}; sampling goes on before it")
    except NoInput:
        run.note(f"{path}: nothing to resume")
    return by_question


def is_finished(written: Sequence[Trajectory], config: Mapping[str, Any], given: Collection[str] = ()) -> bool:
    """Whether these are all trajectories of their question.

    Args:
        written: the question's trajectories in the file.
        config: the choices of the present run.
        given: ids that were not sampled but passed on.

    Raises:
        UsageError: they were sampled with other choices: the outcome would be a mixture.
    """
    sampled = [trajectory for trajectory in written if trajectory.id not in given]
    for trajectory in sampled:
        how = trajectory.extra.get(RECORD)
        if not isinstance(how, dict):
            raise UsageError(f"--resume: {trajectory.id!r} was not sampled by this command")
        for name, value in config.items():
            if how.get(name) != value:
                raise UsageError(
                    f"--resume: {trajectory.id!r} was sampled with {name} {how.get(name)!r}, this run has {value!r}"
                )
    return bool(sampled) and sampled[-1].extra[RECORD].get("leaves") == len(written)
