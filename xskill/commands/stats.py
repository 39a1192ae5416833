"""``xskill stats``: what is in a stream of trajectories."""

from __future__ import annotations

from typing import Annotated

import typer

from xskill.commands.given import refuse
from xskill.commands.options import AsJson, Files, Output, Quiet, Rejects


def command(
    ctx: typer.Context,
    files: Files = None,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Most frequent tokens and task types to show.")] = 15,
    as_json: AsJson = False,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill stats episodes.jsonl

    Count episodes, steps, outcomes, task types, lengths and the vocabulary of a stream of trajectories.
    """
    import json

    from xskill.records import Episode
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text
    from xskill.verbs.counts import Statistics, render

    if as_json:
        refuse(ctx, ["top"], "belongs to the text; --json holds everything")
    with Run("stats", quiet=quiet, rejects=rejects) as run:
        statistics = Statistics()
        for episode in read_records(files or [], Episode, run):
            statistics.add(episode)
        write_text(output, json.dumps(statistics.as_dict(), ensure_ascii=False) if as_json else render(statistics, top))
