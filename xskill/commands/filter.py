"""``xskill filter``: select records by an SQL expression."""

from __future__ import annotations

from typing import Annotated

import typer

from xskill.commands.options import Files, Output, Quiet, Rejects, To


def command(
    expression: Annotated[str, typer.Argument(metavar="EXPRESSION", help="SQL; true keeps the record.")],
    files: Files = None,
    invert: Annotated[bool, typer.Option("--invert", "-v", help="Keep those for which it is not true.")] = False,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill filter "success and n_steps < 20" episodes.jsonl

    Keep the records for which an SQL expression over their columns is true (null is not). Columns are the fields of
    the record (`xskill schema trajectory`), and n_steps. On a tree the chosen nodes keep their descendants.
    """
    from xskill.streams.run import Run
    from xskill.streams.write import open_output
    from xskill.verbs.select import select

    with Run("filter", quiet=quiet, rejects=rejects) as run:
        chosen = select(files or [], expression, run, invert=invert)
        with open_output(output, to=to, kind=chosen.kind) as out:
            if chosen.header is not None:
                out.header(chosen.header)
            for record in chosen.records:
                out.write(record)
