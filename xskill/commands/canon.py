"""``xskill canon``: raw agent logs → trajectories with canonical actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from xskill.commands.given import refuse
from xskill.commands.options import Files, Output, Quiet, Rejects, To
from xskill.commands.types import INPUT, REFERENCE, SIDE

if TYPE_CHECKING:
    from xskill.canon.accounts.totals import Totals


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
    question_id: Annotated[
        Optional[str],
        typer.Option("--question-id", metavar="FIELD", help="Take the question from this field, e.g. extra.problem."),
    ] = None,
    env: Annotated[
        Optional[str], typer.Option("--env", metavar="FIELD", help="Take the environment from this field.")
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
    files_from: Annotated[
        Optional[str],
        typer.Option("--files-from", metavar="FILE", parser=REFERENCE, help="Names of further inputs, one a line."),
    ] = None,
    max_rejects: Annotated[
        Optional[str],
        typer.Option("--max-rejects", metavar="N|P%", help="Stop when more records than that are bad (--rejects)."),
    ] = None,
    json_summary: Annotated[
        Optional[str],
        typer.Option("--json-summary", metavar="FILE", parser=SIDE, help="Write all counts of the run as JSON."),
    ] = None,
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
    from xskill.canon.accounts.report import report_text, summary_json
    from xskill.canon.pipeline import convert_logs
    from xskill.canon.written import check_form, write_trajectories
    from xskill.streams.write import write_text

    if list_formats:
        write_text(output, _formats())
        return
    if outcomes is None:
        refuse(ctx, ["outcomes_key"], "belongs to --outcomes FILE: its key column")
    if rejects is None:
        refuse(ctx, ["max_rejects"], "belongs to --rejects FILE")
    check_form(as_name, output, to)
    conversion = convert_logs(
        files or [],
        format=from_format,
        map=field_map,
        profile=profile,
        success_if=success_if,
        task_type=task_type,
        question_id=question_id,
        env=env,
        outcomes=outcomes,
        outcomes_key=outcomes_key,
        redact=redact,
        respond=not no_respond,
        drop=(drop or "").split(","),
        report=report is not None,
        jobs=jobs,
        rejects=rejects,
        max_rejects=max_rejects,
        files_from=files_from,
        quiet=quiet,
    )
    with conversion:
        try:
            profile_text = write_trajectories(conversion, output, to=to, as_name=as_name, learn=learn is not None)
        finally:
            if json_summary is not None:
                write_text(json_summary, summary_json(conversion))
        if unmatched is not None:
            write_text(unmatched, _unmatched_table(conversion.totals))
        if report is not None:
            write_text(report, report_text(conversion.totals, as_json=report.endswith(".json")))
        if profile_text is not None:
            write_text(learn, profile_text)


def _formats() -> str:
    from xskill.canon.formats.table import FORMATS

    formats = list(FORMATS)
    width = max(len(fmt.name) for fmt in formats)
    return "\n".join(f"{fmt.name:<{width}}  {fmt.description}" for fmt in formats)


def _unmatched_table(totals: Totals) -> str:
    from xskill.text.terminal import clean_line

    rows = totals.unmatched.most_common()
    return "\n".join(f"{count}\t{clean_line(raw)}" for raw, count in rows)
