"""``xskill check``: is this stream what its contract says?"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import AsJson, Files, Output, Quiet, Rejects


def command(
    files: Files = None,
    contract: Annotated[
        Optional[str], typer.Option("--as", metavar="NAME", help="Contract of records without a `schema` field.")
    ] = None,
    max_errors: Annotated[int, typer.Option(metavar="N", min=1, help="Stop telling after N bad records.")] = 20,
    as_json: AsJson = False,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill check episodes.jsonl

    Validate every record against its contract. All bad records are told, one a line on stderr; the exit code is 65
    if there was any. --rejects writes each with its reason to a file as well.
    """
    import json
    import sys

    from xskill.errors import BadData, BadRecord
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text
    from xskill.text.terminal import clean_line
    from xskill.verbs.validate import check_stream

    told = 0

    def tell(error: BadRecord) -> None:
        nonlocal told
        told += 1
        if rejects is not None:
            run.bad(error)
        if told <= max_errors:
            print(f"xskill check: {clean_line(str(error))}", file=sys.stderr)
        elif told == max_errors + 1:
            print(f"xskill check: more than {max_errors} bad records; the rest is only counted", file=sys.stderr)

    with Run("check", quiet=quiet, rejects=rejects, summary=False) as run:
        report = check_stream(files or [], contract, run, tell)
        if as_json:
            write_text(output, json.dumps(report.as_dict()))
        elif not quiet or output is not None:
            write_text(output, report.as_text())
    if report.bad:
        raise BadData(f"{report.bad:,} of {report.records:,} records break their contract")
