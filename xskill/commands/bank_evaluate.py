"""``xskill bank evaluate`` and ``xskill bank ablate``: score banks with the user's own evaluator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from xskill.commands.options import AsJson, Output, Quiet, Seed, To
from xskill.commands.types import INPUT, finite
from xskill.errors import UsageError

if TYPE_CHECKING:
    from xskill.records import Result

BankNeeded = Annotated[str, typer.Option("--bank", metavar="FILE", parser=INPUT, help="The bank; - is stdin.")]
Tasks = Annotated[
    str, typer.Option("--tasks", metavar="FILE", parser=INPUT, help="JSON lines with task_id, question_id or id.")
]
RunCommand = Annotated[
    str,
    typer.Option("--run", metavar="CMD", help="Evaluator; {bank} {tasks} {out} become files, {seed} {repeat} numbers."),
]
Jobs = Annotated[int, typer.Option("-j", metavar="N", min=1, help="Calls of the evaluator at the same time.")]
Chunk = Annotated[Optional[int], typer.Option(metavar="N", min=1, help="Tasks of one call (default: all / -j).")]
Timeout = Annotated[Optional[float], typer.Option(metavar="SECONDS", callback=finite, help="Longest time of one call.")]
Repeats = Annotated[int, typer.Option(metavar="R", min=1, help="Runs of each task, with seeds SEED, SEED+1, ….")]
Work = Annotated[
    Optional[str],
    typer.Option(metavar="DIR", help="Keep finished calls here (default: beside -o until all are done)."),
]


def evaluate(
    bank: BankNeeded,
    tasks: Tasks,
    run_command: RunCommand,
    repeats: Repeats = 1,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Run the bank twice and report the A/A comparison on stderr.")
    ] = False,
    jobs: Jobs = 1,
    chunk: Chunk = None,
    timeout: Timeout = None,
    work: Work = None,
    output: Output = None,
    to: To = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank evaluate --bank bank.jsonl --tasks tasks.jsonl --run "./score {bank} {tasks} {out}"

    Score a bank: the evaluator writes one line {"task_id": …, "metrics": {…}} a task. Every bank gets the same seeds.
    A failed or hanging call is tried once more; an interrupted run goes on where it stopped.
    """
    from xskill.bank.evaluate import Evaluator
    from xskill.bank.evaluate import evaluate as run_all
    from xskill.bank.skillbank import read_bank
    from xskill.bank.task_files import read_task_lines
    from xskill.records import Result
    from xskill.streams.run import Run
    from xskill.streams.write import open_output

    check_timeout(timeout)
    with Run("bank evaluate", quiet=quiet) as run, _work_folder(work, output) as folder:
        found = read_bank(bank, run)
        evaluator = Evaluator(run_command, folder, jobs, chunk, timeout, seed=seed)
        wanted = range(2 * repeats if baseline else repeats)
        results = run_all(evaluator, found, read_task_lines(tasks, run), wanted)
        run.set_summary(f"{len(results):,} results of bank {found.version}")
        with open_output(output, to=to, kind=Result) as out:
            for result in results:
                out.write(result)
        if baseline:
            _report_noise(results, repeats)


def ablate(
    tasks: Tasks,
    run_command: RunCommand,
    bank: BankNeeded,
    edits: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=INPUT, help="Leave out one of these edits of --bank at a time."),
    ] = None,
    against: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=INPUT, help="Only skills that are new or changed against this bank."),
    ] = None,
    metric: Annotated[Optional[str], typer.Option(metavar="NAME:max|min", help="What to judge by.")] = None,
    budget: Annotated[
        Optional[int], typer.Option(metavar="N", min=1, help="Skills to try, the biggest suspects first.")
    ] = None,
    repeats: Repeats = 1,
    jobs: Jobs = 1,
    chunk: Chunk = None,
    timeout: Timeout = None,
    work: Work = None,
    as_json: AsJson = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank ablate --bank bank.jsonl --tasks tasks.jsonl --run "./score {bank} {tasks} {out}"

    Leave one skill out at a time: which one helps, which hurts, which does nothing. `--json -o report.json` is what
    `xskill bank apply --only report.json` reads to build the bank without those that hurt.
    """
    import msgspec

    from xskill.bank.ablate import ablate as leave_one_out
    from xskill.bank.ablate import as_text, without_each_edit, without_each_skill
    from xskill.bank.apply import Caps
    from xskill.bank.evaluate import Evaluator
    from xskill.bank.evaluate import evaluate as run_all
    from xskill.bank.skillbank import read_bank
    from xskill.bank.task_files import read_task_lines
    from xskill.gate.compare import by_task, choose_metrics
    from xskill.records import Edit
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import write_text
    from xskill.text.terminal import clean

    if edits is not None and against is not None:
        raise UsageError("--edits and --against exclude each other")
    check_timeout(timeout)
    with Run("bank ablate", quiet=quiet) as run, _work_folder(work, output) as folder:
        candidate = read_bank(bank, run)
        if edits is not None:
            candidate, variants = without_each_edit(candidate, list(read_records([edits], Edit, run)), Caps())
        else:
            variants = without_each_skill(candidate, read_bank(against, run) if against is not None else None)
        evaluator = Evaluator(run_command, folder, jobs, chunk, timeout, seed=seed)
        lines = read_task_lines(tasks, run)
        first = by_task(run_all(evaluator, candidate, lines, range(repeats)), "candidate")
        chosen = choose_metrics(first, [metric] if metric is not None else [], [])[0]
        report = leave_one_out(
            candidate, variants[:budget], chosen, lambda one: run_all(evaluator, one, lines, range(repeats)), seed=seed
        )
        left = len(variants) - len(report["skills"])
        run.set_summary(f"{len(report['skills'])} tried" + (f", {left} left for want of budget" if left else ""))
        write_text(output, msgspec.json.encode(report).decode() if as_json else clean(as_text(report)))


def check_timeout(seconds: float | None) -> None:
    """Raise :class:`UsageError` for a time-out that no call could keep, or that is none."""
    if seconds is not None and not 0 < seconds < float("inf"):
        raise UsageError(f"--timeout {seconds:g}: expected seconds, more than 0")


@contextlib.contextmanager
def _work_folder(work: str | None, output: str | None) -> Iterator[Path]:
    """Where finished calls are kept: the user's folder stays, ours goes when everything was written."""
    import shutil
    import tempfile

    if work is not None:
        yield Path(work)
        return
    if output in (None, "-"):
        with tempfile.TemporaryDirectory(prefix="xskill-") as folder:
            yield Path(folder)
        return
    folder = f"{output}.work"
    yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _report_noise(results: list[Result], repeats: int) -> None:
    """A/A: the first half of the repeats against the second, every metric."""
    import sys

    from xskill.gate.compare import Metric, by_task, compare
    from xskill.gate.policies import GateRules, Ruling
    from xskill.gate.verdict import make_verdict, render
    from xskill.text.terminal import clean

    first = by_task([result for result in results if (result.repeat or 0) < repeats], "first")
    second = by_task([result for result in results if (result.repeat or 0) >= repeats], "second")
    names = sorted({name for result in results for name in result.metrics})
    comparisons = [compare(first, second, Metric(name), alpha=0.05) for name in names]
    ruling = Ruling("inconclusive", ("the same bank twice: whatever differs here is noise",))
    verdict = make_verdict("A/A", ruling, comparisons, GateRules(), alpha=0.05, tolerance=0.0)
    print("\n".join(clean(render(verdict)).splitlines()[1:]), file=sys.stderr)
