"""``xskill.canon`` in Python: raw logs → trajectories, with the options of ``xskill canon``."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from xskill.bounds import bounded
from xskill.canon.pipeline import Conversion, convert_logs
from xskill.records import Trajectory
from xskill.streams.run import PythonRun
from xskill.streams.streams_face import Path, names_of


@bounded(jobs=(1, None))
def read(
    paths: Path | Iterable[Path],
    *,
    format: str | None = None,
    map: str | None = None,
    profile: str | os.PathLike[str] | None = None,
    success_if: str | None = None,
    task_type: str | None = None,
    question_id: str | None = None,
    env: str | None = None,
    outcomes: Path | None = None,
    outcomes_key: str | None = None,
    redact: Literal["none", "secrets", "pii"] = "secrets",
    respond: bool = True,
    drop: Collection[str] = (),
    jobs: int = 1,
) -> Iterator[Trajectory]:
    """Read raw logs of LLM agents as trajectories with canonical actions.

    The format is told by content, whatever a file's name says. Success comes only from a verifier's word (a reward, a
    resolved flag, a scorer); what the agent claims goes to ``extra["claim"]``. Secrets become placeholders.

    Example::

        episodes = list(canon.read(["logs/a.jsonl", "logs/b.json.gz"], success_if="reward >= 0.5"))

    Args:
        paths: a file or several, or patterns; a folder is read as one log where a format does, else the logs in it are.
        format: name of the log's format (``xskill canon --list-formats``); default: by content.
        map: ``FIELD=PATH,…``: read home-made JSON by your own field names.
        profile: rules for the actions, a name or a TOML file; default: detected for each source and environment.
        success_if: decides success, e.g. ``reward >= 0.5 and not extra.timeout``.
        task_type: take the task type from this field, e.g. ``extra.domain``.
        question_id: take the question from this field, e.g. ``extra.problem``.
        env: take the environment from this field.
        outcomes: join success and reward from a second file (JSON, JSONL, CSV, Parquet).
        outcomes_key: its key column; ``FIELD=COLUMN`` if the trajectory's field has another name.
        redact: what to replace: none, secrets, or pii (secrets, e-mails, phones, home folders).
        respond: false leaves out messages to the user, so that only calls and commands are steps.
        drop: leave out episodes so marked: subagents, headless, demos, forked, abandoned, pruned.
        jobs: worker processes; the same trajectories for any number.

    Raises:
        UsageError: options that exclude one another, or a value that an option cannot take.
        BadRecord: (while reading) a record that cannot be read.
        NoInput: (while reading) a file that is missing, or no record at all.
    """
    conversion = convert_logs(
        names_of(paths),
        format=format,
        map=map,
        profile=None if profile is None else os.fspath(profile),
        success_if=success_if,
        task_type=task_type,
        question_id=question_id,
        env=env,
        outcomes=None if outcomes is None else os.fspath(outcomes),
        outcomes_key=outcomes_key,
        redact=redact,
        respond=respond,
        drop=drop,
        jobs=jobs,
        run=PythonRun("canon"),
    )
    return _trajectories(conversion)


def _trajectories(conversion: Conversion) -> Iterator[Trajectory]:
    with conversion:
        yield from conversion.trajectories()
