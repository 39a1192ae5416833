"""``xskill check``: is this stream what its contract says?"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import AsJson, Files, Quiet


def command(
    files: Files = None,
    contract: Annotated[
        Optional[str], typer.Option("--as", metavar="NAME", help="Contract of records without a `schema` field.")
    ] = None,
    max_errors: Annotated[int, typer.Option(metavar="N", min=1, help="Stop telling after N bad records.")] = 20,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Example: xskill check episodes.jsonl

    Validate every record against its contract. All bad records are told, one a line on stderr; the exit code is 65
    if there was any.
    """
    import json
    import sys

    from xskill.errors import BadData
    from xskill.streams.terminal import clean_line
    from xskill.streams.text import write_text
    from xskill.verbs.check import check_stream

    def tell(text: str) -> None:
        print(f"xskill check: {clean_line(text)}", file=sys.stderr)

    report = check_stream(files or [], contract, tell, max_errors)
    if as_json:
        write_text(None, json.dumps(report.as_dict()))
    elif not quiet:
        write_text(None, report.as_text())
    if report.bad:
        raise BadData(f"{report.bad:,} of {report.records:,} records break their contract")
