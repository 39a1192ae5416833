"""The way of both samplers from tasks to written trajectories, and the options that they share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from xskill.commands.given import refuse
from xskill.commands.types import INPUT, SIDE, finite

if TYPE_CHECKING:
    from xskill.records import Trajectory
    from xskill.sampling.drive import QuestionJob
    from xskill.sampling.whole_rollout import Sampling
    from xskill.streams.run import Run

Worker = Annotated[
    str,
    typer.Option("--worker", "-w", metavar="CMD", help="Command that speaks the worker protocol; see `xskill worker`."),
]
Jobs = Annotated[int, typer.Option("-j", metavar="N", min=1, help="Worker processes side by side.")]
Timeout = Annotated[
    float, typer.Option(metavar="S", min=0.01, callback=finite, help="Longest wait for one answer, in seconds.")
]
MaxTurns = Annotated[int, typer.Option(metavar="N", min=1, help="Longest episode, in turns.")]
BankFile = Annotated[
    Optional[str],
    typer.Option("--bank", metavar="FILE", parser=INPUT, help="SkillBank; what it has for a task goes to the policy."),
]
Budget = Annotated[
    Optional[int],
    typer.Option(metavar="TOKENS", min=0, help="Leave out skills that do not fit (4 characters a token)."),
]
ProfileName = Annotated[
    Optional[str],
    typer.Option(
        "--profile",
        metavar="NAME|FILE",
        parser=INPUT,
        help="Canonicalization profile; default: by the environment.",
    ),
]
Resume = Annotated[
    Optional[str],
    typer.Option(
        metavar="FILE", parser=INPUT, help="Output of an interrupted run: keep its questions and sample the others."
    ),
]
Report = Annotated[
    Optional[str], typer.Option(metavar="FILE", parser=SIDE, help="Write cost and failures as one JSON object.")
]


@dataclass(frozen=True, slots=True)
class Shared:
    """Values of the options above."""

    worker: str
    jobs: int
    timeout: float
    max_turns: int
    seed: int
    bank: str | None
    budget: int | None
    profile: str | None
    resume: str | None
    report: str | None
    output: str | None
    to: str | None


def shared_options(ctx: typer.Context) -> Shared:
    """Their values on the command line of a sampler, all of whose parameters have the names of the fields.

    Raises:
        UsageError: ``--budget`` without ``--bank``.
    """
    if ctx.params["bank"] is None:
        refuse(ctx, ["budget"], "belongs to --bank FILE: the skills that fit")
    return Shared(**{field.name: ctx.params[field.name] for field in fields(Shared)})


def run_rollout(
    run: Run,
    shared: Shared,
    config: dict[str, Any],
    jobs: Sequence[QuestionJob],
    given: Mapping[str, Sequence[Trajectory]] | None = None,
) -> Sampling:
    """Sample all jobs and write what was finished; then call :func:`leave` outside the run.

    Args:
        run: has counted every job as kept.
        shared: the common options.
        config: the sampler's own choices; the common ones that matter are added.
        jobs: the questions, in order.
        given: episodes by question that are passed on.
    """
    from xskill.records import Trajectory
    from xskill.sampling.canonical_names import Namer
    from xskill.sampling.coprocess import parse_command
    from xskill.sampling.drive import Setting, Stop
    from xskill.sampling.interrupts import stoppable
    from xskill.sampling.sampled_before import read_finished
    from xskill.sampling.whole_rollout import Sampling
    from xskill.streams.write import open_output

    config = config | {"max_turns": shared.max_turns, "seed": shared.seed}
    skills_for, version = _skills(shared, run)
    if version is not None:
        config["bank"] = version
    setting = Setting(
        words=parse_command(shared.worker),
        workers=shared.jobs,
        timeout=shared.timeout,
        seed=shared.seed,
        max_turns=shared.max_turns,
        config=config,
        skills_for=skills_for,
    )
    before = read_finished(shared.resume, run) if shared.resume is not None else {}
    stop = Stop()
    sampling = Sampling(setting, Namer(shared.profile), stop, run)
    try:
        with stoppable(stop), open_output(shared.output, to=shared.to, kind=Trajectory) as out:
            for trajectory in sampling.trajectories(jobs, given or {}, before):
                out.write(trajectory)
            if sampling.left and not sampling.cost.questions and not sampling.resumed:
                raise _NothingNew
    except _NothingNew:
        pass
    run.set_summary(sampling.summary())
    if shared.report is not None:
        _write_report(shared.report, sampling, config)
    if sampling.left:
        run.note(f"interrupted; {sampling.left:,} questions are left, go on with --resume {shared.output or 'FILE'}")
    return sampling


def leave(sampling: Sampling) -> None:
    """Leave with the exit code that fits."""
    from xskill.errors import EXIT_INTERRUPTED

    if sampling.left:
        raise typer.Exit(EXIT_INTERRUPTED)
    sampling.check()


class _NothingNew(Exception):
    """Interrupted before the first question was finished: an older output file stays as it is."""


def _write_report(path: str, sampling: Sampling, config: dict[str, Any]) -> None:
    from xskill.streams.text_out import write_text

    report = {
        "config": config,
        **sampling.cost.as_dict(),
        "resumed": sampling.resumed,
        "left": sampling.left,
        "failures": sampling.failures,
    }
    write_text(path, json.dumps(report, ensure_ascii=False))


def _skills(shared: Shared, run: Run) -> tuple[Callable[[str | None, str | None], list[dict[str, Any]]], str | None]:
    """What finds the skills for a task, and the version of the bank they come from."""
    if shared.bank is None:
        return lambda task, task_type: [], None
    from xskill.bank.retrieval import build_index, retrieve
    from xskill.bank.skillbank import read_bank

    bank = read_bank(shared.bank, run)
    index = build_index(bank)

    def skills_for(task: str | None, task_type: str | None) -> list[dict[str, Any]]:
        hits = retrieve(index, task or "", task_type, budget=shared.budget)
        return [_as_told(hit.skill) for hit in hits]

    return skills_for, bank.version


_TOLD = ("id", "tier", "task_type", "title", "principle", "when_to_apply", "when_not", "steps")


def _as_told(skill: Any) -> dict[str, Any]:
    """A skill as a policy needs it: what it says, without its evidence."""
    return {name: value for name in _TOLD if (value := getattr(skill, name))}
