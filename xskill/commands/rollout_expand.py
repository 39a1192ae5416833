"""``xskill rollout expand``: initialize-then-expand."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.given import refuse
from xskill.commands.options import Files, Output, Quiet, Rejects, Seed, To
from xskill.commands.rollout_run import (
    BankFile,
    Budget,
    Jobs,
    MaxTurns,
    ProfileName,
    Report,
    Resume,
    Timeout,
    Worker,
    leave,
    run_rollout,
    shared_options,
)
from xskill.commands.types import INPUT


def command(
    ctx: typer.Context,
    files: Files = None,
    worker: Worker = ...,  # type: ignore[assignment]
    initial: Annotated[int, typer.Option("-N", "--initial", metavar="N", min=1, help="Complete episodes first.")] = 4,
    branches: Annotated[
        int, typer.Option("-B", "--branches", metavar="B", min=0, help="Then continuations of each, from random turns.")
    ] = 2,
    given: Annotated[
        Optional[str],
        typer.Option(
            "--from", metavar="FILE", parser=INPUT, help="Expand these trajectories instead of sampling first ones."
        ),
    ] = None,
    max_turns: MaxTurns = 50,
    jobs: Jobs = 1,
    timeout: Timeout = 300.0,
    bank: BankFile = None,
    budget: Budget = None,
    profile: ProfileName = None,
    seed: Seed = 0,
    resume: Resume = None,
    report: Report = None,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: echo '{"id": "q1", "task": "find the way"}' | xskill rollout expand --worker "xskill worker null"

    For each task (JSON lines with an `id`, a `task` text, and whatever the worker needs) N episodes, then B branches of
    each from turns drawn uniformly. Output: trajectories with `parent`, question by question in the order of the
    tasks; a question is written whole or not at all. Ctrl-C finishes what is in flight; --resume goes on from there.
    """
    from functools import partial

    from xskill.records import Trajectory
    from xskill.sampling.drive import QuestionJob
    from xskill.sampling.expand import expand, expand_given
    from xskill.sampling.questions import read_given, read_tasks, task_of
    from xskill.streams.run import Run

    if given is not None:
        refuse(ctx, ["initial"], "samples first episodes; --from FILE holds them already")
    shared = shared_options(ctx)
    with Run("rollout expand", quiet=quiet, rejects=rejects) as run:
        if given is None:
            episodes: dict[str, list[Trajectory]] = {}
            config: dict[str, object] = {"sampler": "expand", "initial": initial, "branches": branches}
            sample = partial(expand, initial=initial, branches=branches)
            work = [QuestionJob(task, sample) for task in read_tasks(files or [], run)]
        else:
            config = {"sampler": "expand", "branches": branches}
            episodes = read_given(given)
            named = {task.id: task for task in read_tasks(files, run)} if files else {}
            run.read = run.kept = len(episodes)
            work = [
                QuestionJob(
                    named.get(question) or task_of(first),
                    partial(expand_given, given=[first, *rest], branches=branches),
                )
                for question, (first, *rest) in episodes.items()
            ]
        sampling = run_rollout(run, shared, config, work, episodes)
    leave(sampling)
