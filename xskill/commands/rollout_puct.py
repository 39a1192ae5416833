"""``xskill rollout puct``: tree search."""

from __future__ import annotations

from typing import Annotated

import typer

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
from xskill.commands.types import finite


def command(
    ctx: typer.Context,
    files: Files = None,
    worker: Worker = ...,  # type: ignore[assignment]
    iterations: Annotated[int, typer.Option(metavar="N", min=0, help="Walks from the root, each to a new node.")] = 40,
    depth: Annotated[int, typer.Option(metavar="N", min=1, help="Turns below the root that are searched.")] = 6,
    children: Annotated[int, typer.Option("-k", "--children", metavar="K", min=1, help="Proposals for a node.")] = 3,
    c: Annotated[float, typer.Option("-c", metavar="C", min=0, callback=finite, help="Weight of exploration.")] = 1.4,
    prior: Annotated[
        str,
        typer.Option(
            metavar="WHERE", help="P from worker, logprob (softmax of the mean) or uniform; auto: the first there is."
        ),
    ] = "auto",
    value: Annotated[
        str, typer.Option(metavar="WHERE", help="What a new unfinished node backs up: the worker's value, or zero.")
    ] = "worker",
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
    """Example: echo '{"id": "q1", "task": "find the way"}' | xskill rollout puct --worker "xskill worker null"

    Searches each task's tree, and completes every visited leaf that has no outcome yet with one straight episode.
    Output: one trajectory a leaf with `parent`; the steps of the tree carry `q`, `visits` and `prior`, which
    `xskill distill --as evidence` reads. Ctrl-C finishes what is in flight; --resume goes on from there.
    """
    from dataclasses import asdict
    from functools import partial
    from typing import get_args

    from xskill.errors import UsageError
    from xskill.sampling.drive import QuestionJob
    from xskill.sampling.puct import PriorFrom, Search, ValueFrom, search
    from xskill.sampling.questions import read_tasks
    from xskill.streams.run import Run

    for option, given, known in (("--prior", prior, get_args(PriorFrom)), ("--value", value, get_args(ValueFrom))):
        if given not in known:
            raise UsageError(f"{option} {given}: expected one of {', '.join(known)}")
    choices = Search(
        iterations=iterations,
        depth=depth,
        children=children,
        c=c,
        prior=prior,  # type: ignore[arg-type]
        value=value,  # type: ignore[arg-type]
    )
    shared = shared_options(ctx)
    with Run("rollout puct", quiet=quiet, rejects=rejects) as run:
        sampler = partial(search, choices=choices)
        work = [QuestionJob(task, sampler) for task in read_tasks(files or [], run)]
        sampling = run_rollout(run, shared, {"sampler": "puct"} | asdict(choices), work)
    leave(sampling)
