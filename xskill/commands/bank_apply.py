"""``xskill bank apply``: edits → a candidate bank."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import Files, Output, Quiet, Rejects, To
from xskill.commands.types import INPUT, SIDE


def command(
    files: Files = None,
    bank: Annotated[str, typer.Option("--bank", metavar="FILE", parser=INPUT, help="The bank to change.")] = ...,  # type: ignore[assignment]
    report: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=SIDE, help="One row an edit: what became of it and why, edit included."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Apply the good edits when some targets are missing or ambiguous.")
    ] = False,
    only: Annotated[
        Optional[str],
        typer.Option(
            metavar="IDS|FILE",
            parser=INPUT,
            help="Only edits of these skills: ids with commas, or a report of `bank ablate`.",
        ),
    ] = None,
    max_new: Annotated[int, typer.Option(metavar="N", min=0, help="Skills that one round may add.")] = 3,
    max_per_type: Annotated[int, typer.Option(metavar="N", min=0, help="Task skills of one type.")] = 12,
    max_total: Annotated[int, typer.Option(metavar="N", min=0, help="Skills in all.")] = 60,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill distill new.jsonl --bank bank.jsonl --as edits | xskill bank apply --bank bank.jsonl

    Apply append, replace and delete edits and write the candidate bank. A target that is missing or ambiguous fails the
    run and leaves everything as it was. Of conflicting edits the one from failures wins; near-duplicates are merged.
    """
    from xskill.bank.ablate import kept_skills
    from xskill.bank.candidate import Caps, apply_edits, check_outcomes, edits_of, report_rows
    from xskill.bank.skillbank import read_bank, write_bank
    from xskill.errors import NoRecord
    from xskill.records import Edit
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.text_out import open_lines

    with Run("bank apply", quiet=quiet, rejects=rejects) as run:
        current = read_bank(bank, run)
        try:
            edits = list(read_records(files or [], Edit, run))
        except NoRecord:
            edits = []
            run.note("no edits in the input: the bank stays as it is")
        if only is not None:
            chosen = edits_of(edits, kept_skills(only))
            run.drop("not in --only", len(edits) - len(chosen))
            edits = chosen
        candidate, outcomes = apply_edits(current, edits, Caps(max_new, max_per_type, max_total))
        if report is not None:
            import msgspec

            with open_lines(report) as write_line:
                for row in report_rows(outcomes):
                    write_line(msgspec.json.encode(row))
        if not partial:
            check_outcomes(outcomes)
        for outcome in outcomes:
            if outcome.status != "applied":
                run.drop(outcome.status)
                run.note(
                    f"{outcome.edit.op} {outcome.edit.target or outcome.skill}: {outcome.status}: {outcome.detail}"
                )
        run.set_summary(f"{current.version} → {candidate.version}, {len(candidate.skills)} skills")
        write_bank(output, candidate, to)
