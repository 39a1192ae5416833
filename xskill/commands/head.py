"""``xskill head``: the first records of a stream, without reading the rest."""

from __future__ import annotations

from typing import Annotated

import typer

from xskill.commands.options import Files, Output, Quiet, Rejects, To


def command(
    files: Files = None,
    n: Annotated[int, typer.Option("-n", metavar="N", min=0, help="How many records.")] = 10,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill head -n 1 episodes.jsonl

    Pass the first N records on, as they stand. Header lines (of a tree, credits, a bank) go along and do not count.
    A last line that is cut in the middle is an error; `xskill check` looks at every record.
    """
    from xskill.streams.raw import first_records
    from xskill.streams.run import Run
    from xskill.streams.text_out import container_of, open_lines

    with Run("head", quiet=quiet, rejects=rejects, summary=False) as run:
        records = first_records(files or [], n, run.note, run.unreadable if rejects is not None else None)
        if container_of(output, to) == "parquet":
            from xskill.streams.read import write_raw

            write_raw(records, output)
            return
        with open_lines(output) as write_line:
            for record in records:
                write_line(record.data)
