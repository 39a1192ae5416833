"""``xskill canon``: raw agent logs → trajectories with canonical actions."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from xskill.commands.given import refuse
from xskill.commands.options import Files, Output, Quiet, Rejects, To
from xskill.commands.types import INPUT, SIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xskill.canon.actions.learn_profile import Learner
    from xskill.canon.assemble import Choices
    from xskill.canon.parallel import Block
    from xskill.canon.pipeline import Item, Settings, Totals
    from xskill.streams.run import Run


def command(
    ctx: typer.Context,
    files: Files = None,
    from_format: Annotated[
        Optional[str],
        typer.Option(
            "--from", metavar="FORMAT", help="Name of the log's format (--list-formats); default: by content."
        ),
    ] = None,
    field_map: Annotated[
        Optional[str],
        typer.Option(
            "--map",
            metavar="FIELD=PATH,…",
            help="Read home-made JSON by your own field names. PATH[] marks the list of steps: "
            "'action=turns[].act,observation=turns[].out,success=won'; without [] each record is one step, "
            "and equal id=PATH make an episode. name= and arguments= instead of action= for calls; "
            "env='shop' is a constant.",
        ),
    ] = None,
    profile: Annotated[
        Optional[str],
        typer.Option(
            metavar="NAME|FILE",
            parser=INPUT,
            help="Rules for the actions; default: detect for each source and environment.",
        ),
    ] = None,
    success_if: Annotated[
        Optional[str],
        typer.Option(metavar="EXPR", help="Decide success, e.g. 'reward >= 0.5 and not extra.timeout'."),
    ] = None,
    task_type: Annotated[
        Optional[str], typer.Option(metavar="FIELD", help="Take the task type from this field, e.g. extra.domain.")
    ] = None,
    outcomes: Annotated[
        Optional[str],
        typer.Option(
            metavar="FILE", parser=INPUT, help="Join success and reward from a second file (JSON, JSONL, CSV, Parquet)."
        ),
    ] = None,
    outcomes_key: Annotated[
        Optional[str],
        typer.Option(metavar="COLUMN", help="Its key column; FIELD=COLUMN if the trajectory's field has another name."),
    ] = None,
    redact: Annotated[
        str, typer.Option(metavar="LEVEL", help="none, secrets, or pii (secrets, e-mails, phones, home folders).")
    ] = "secrets",
    no_respond: Annotated[
        bool, typer.Option("--no-respond", help="Leave out messages to the user; only calls and commands are steps.")
    ] = False,
    drop: Annotated[
        Optional[str],
        typer.Option(
            metavar="MARK,…",
            help="Leave out episodes so marked: subagents, headless, demos, forked, abandoned, pruned.",
        ),
    ] = None,
    unmatched: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=SIDE, help="List the raw actions that the profile does not know."),
    ] = None,
    learn: Annotated[
        Optional[str],
        typer.Option(
            metavar="OUT.toml",
            parser=SIDE,
            help="Mine templates from the raw actions and write a profile to edit and use.",
        ),
    ] = None,
    report: Annotated[
        Optional[str],
        typer.Option(
            metavar="FILE", parser=SIDE, help="Say per format what was not carried over (JSON if FILE ends in .json)."
        ),
    ] = None,
    as_name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="trajectory, or atif (Agent Trajectory Interchange Format 1.7).")
    ] = "trajectory",
    jobs: Annotated[
        int,
        typer.Option("-j", "--jobs", metavar="N", min=1, help="Worker processes; the same output for any N."),
    ] = 1,
    list_formats: Annotated[bool, typer.Option("--list-formats", help="List the formats and leave.")] = False,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill canon logs/*.jsonl | xskill mine | xskill tree show

    Turn raw logs into trajectories. The format is told by content, whatever the file's name says. Success comes
    only from a verifier's word (a reward, a resolved flag, a scorer); what the agent claims goes to extra.claim.
    """
    from xskill.canon.assemble import Choices
    from xskill.canon.pipeline import Begin, Missing, Settings
    from xskill.errors import BadRecord, UsageError
    from xskill.records import Trajectory
    from xskill.streams.run import Run
    from xskill.streams.write import container_of, open_output, write_text

    if list_formats:
        write_text(output, _formats())
        return
    if from_format and field_map:
        raise UsageError("--from and --map exclude one another")
    if success_if is not None:
        from xskill.canon.outcome.expression import compile_test

        compile_test(success_if)
    joined = None
    if outcomes is None:
        refuse(ctx, ["outcomes_key"], "belongs to --outcomes FILE: its key column")
    else:
        from xskill.canon.outcome.joined import read_outcomes

        joined = read_outcomes(outcomes, outcomes_key)
    choices = Choices(
        profile=profile,
        success_if=success_if,
        task_type=task_type,
        outcomes=joined,
        redact=redact,
        respond=not no_respond,
        drop=frozenset(_mark(word) for word in (drop or "").split(",") if word.strip()),
    )
    if as_name not in ("trajectory", "atif"):
        raise UsageError(f"--as {as_name}: expected trajectory or atif")
    if as_name == "atif" and container_of(output, to) == "parquet":
        raise UsageError("--as atif is written as JSON lines, not as Parquet")
    settings = Settings(choices, from_format, field_map, report is not None)
    totals = settings.totals()
    learner = None
    if learn is not None:
        from xskill.canon.actions.learn_profile import Learner

        learner = Learner()
    whole = as_name == "trajectory" and learner is None and container_of(output, to) != "parquet"
    with Run("canon", quiet=quiet, rejects=rejects) as run:
        with (
            _reading(files or [], settings, totals, run, jobs) as items,
            open_output(output, to=to, kind=Trajectory) as out,
        ):
            source, before = None, 0
            for item in items:
                if not isinstance(item, (BadRecord, Begin, Missing)):
                    count, lines = (1, item) if isinstance(item, bytes) else (item.count, item.lines)
                    run.read += count
                    run.kept += count
                    for line in [lines] if whole else lines.split(b"\n"):
                        if learner is not None:
                            _learn(learner, line)
                        out.write_line(line if as_name == "trajectory" else _atif(line))
                    if source is not None:
                        run.progress(source)
                elif isinstance(item, BadRecord):
                    run.read += 1
                    run.bad(item)
                elif isinstance(item, Missing):
                    if not run.keeps_rejects or len(files or []) < 2:
                        raise item.error
                    run.unreadable(BadRecord(str(item.error).removeprefix(f"{item.name}: "), file=item.name))
                else:
                    if source is not None:
                        run.end_input(source, run.read - before)
                    source, before = item.source, run.read
                    if source is not None:
                        run.start_input(source)
            if source is not None:
                run.end_input(source, run.read - before)
            run.check_input()
        for part in _summary(totals):
            run.set_summary(part)
        for text in _unused(choices, totals):
            run.note(text)
        if unmatched is not None:
            write_text(unmatched, _unmatched_table(totals))
        if report is not None:
            from xskill.canon.report import report_text

            write_text(report, report_text(totals, as_json=report.endswith(".json")))
        if learner is not None:
            write_text(learn, learner.toml())


def _reading(
    files: list[str], settings: Settings, totals: Totals, run: Run, jobs: int
) -> AbstractContextManager[Iterator[Item | Block]]:
    """What the inputs hold, read by this process or by workers."""
    if jobs == 1:
        from xskill.canon.pipeline import read_logs

        return nullcontext(read_logs(files, settings, totals, note=run.note))
    from xskill.canon.parallel import open_logs_parallel

    return open_logs_parallel(files, settings, totals, note=run.note, workers=jobs)


def _mark(word: str) -> str:
    """``subagents`` and ``subagent`` are the same mark."""
    from xskill.canon.reading.episode import MARKS
    from xskill.errors import UsageError

    mark = word.strip().lower()
    mark = mark if mark in MARKS else mark.removesuffix("s")
    if mark not in MARKS:
        raise UsageError(f"--drop {word.strip()}: the marks are {', '.join(MARKS)}")
    return mark


def _unused(choices: Choices, totals: Totals) -> Iterator[str]:
    """What to say of options that met nothing."""
    from xskill.canon.outcome.expression import names_in

    counts = totals.counts
    if not counts.trajectories:
        return
    if choices.outcomes is not None and not counts.joined:
        yield (
            f"--outcomes: none of its {len(choices.outcomes.rows):,} rows has the key of a trajectory "
            f"(column {choices.outcomes.key}); name the right one with --outcomes-key"
        )
    named = [("--success-if", name) for name in names_in(choices.success_if)] if choices.success_if else []
    named += [("--task-type", choices.task_type)] if choices.task_type else []
    for option, name in named:
        if name not in counts.fields:
            yield f"{option}: no trajectory has a field {name!r}"


def _learn(learner: Learner, line: bytes) -> None:
    """Note the raw actions of one trajectory."""
    from xskill.records import Trajectory, decode

    for step in decode(line, Trajectory).steps or ():
        learner.add(step.action, step.kind)


def _atif(line: bytes) -> bytes:
    import msgspec

    from xskill.canon.formats.atif_export import to_atif
    from xskill.records import Trajectory, decode

    return msgspec.json.encode(to_atif(decode(line, Trajectory)))


def _formats() -> str:
    from xskill.canon.formats import FORMATS

    width = max(len(fmt.name) for fmt in FORMATS)
    return "\n".join(f"{fmt.name:<{width}}  {fmt.description}" for fmt in FORMATS)


def _summary(totals: Totals) -> list[str]:
    counts, unmatched = totals.counts, totals.unmatched
    files = f"{totals.files:,} file{'s' if totals.files != 1 else ''}"
    parts = [f"{counts.trajectories:,} trajectories, {counts.steps:,} steps from {files}"]
    if unmatched.total:
        more = "over " if unmatched.full else ""
        parts.append(f"unmatched: {unmatched.total:,} of {counts.steps:,}, {more}{unmatched.distinct:,} distinct")
    numbers = sum(tally.numbers for tally in totals.tallies.values())
    if numbers:
        parts.append(f"{numbers:,} NaN or infinite numbers read as null")
    if totals.redacted:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(totals.redacted.items()))
        parts.append(f"redacted: {kinds}")
    for reason, n in sorted(counts.dropped.items()):
        parts.append(f"dropped: {n:,} {reason}")
    return parts


def _unmatched_table(totals: Totals) -> str:
    from xskill.text.terminal import clean_line

    rows = totals.unmatched.most_common()
    return "\n".join(f"{count}\t{clean_line(raw)}" for raw, count in rows)
