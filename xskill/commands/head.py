"""``xskill head``: the first records of a stream, without reading the rest."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from xskill.commands.options import Files, Output


def command(
    files: Files = None,
    n: Annotated[int, typer.Option("-n", metavar="N", min=0, help="How many records.")] = 10,
    output: Output = None,
) -> None:
    """Example: xskill head -n 1 episodes.jsonl

    Pass the first N records on, as JSON lines. Header lines (of a tree, credits, a bank) go along and do not count.
    """
    from xskill.streams.raw import first_lines
    from xskill.streams.text import open_lines

    with open_lines(output) as write_line:
        for line in first_lines(files or [], n, note=lambda text: print(text, file=sys.stderr)):
            write_line(line)
