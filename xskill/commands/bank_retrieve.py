"""``xskill bank retrieve``: the skills that a task needs."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import AsJson, Files, Output, Quiet, Rejects
from xskill.commands.types import INPUT, finite
from xskill.errors import UsageError


def command(
    files: Files = None,
    bank: Annotated[str, typer.Option("--bank", metavar="FILE", parser=INPUT, help="The bank.")] = ...,  # type: ignore[assignment]
    task: Annotated[Optional[str], typer.Option(metavar="TEXT", help="One task instead of a stream of tasks.")] = None,
    task_type: Annotated[Optional[str], typer.Option(metavar="NAME", help="Type of that task.")] = None,
    top: Annotated[int, typer.Option(metavar="K", min=0, help="Task skills at most.")] = 6,
    threshold: Annotated[
        float,
        typer.Option(
            metavar="S", callback=finite, help="Similarity from which a skill of another or unknown type is taken."
        ),
    ] = 0.4,
    budget: Annotated[
        Optional[int], typer.Option(metavar="TOKENS", min=0, help="Leave out what does not fit (4 characters a token).")
    ] = None,
    embed: Annotated[
        Optional[str],
        typer.Option(metavar="openai:MODEL|local:MODEL", help="Similarity of embeddings instead of words."),
    ] = None,
    base_url: Annotated[Optional[str], typer.Option(metavar="URL", help="Endpoint for --embed openai:MODEL.")] = None,
    as_json: AsJson = False,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank retrieve --bank bank.jsonl --task "put a clean apple in the fridge"

    All general skills, the best task skills (those of the task's own type first), and the mistakes of the type, as text
    for a prompt. A stream of tasks (trajectories, or JSON lines with a `task`) gives one JSON line a task.
    """
    import msgspec

    from xskill.bank.embed import encoder
    from xskill.bank.prompt import render_prompt
    from xskill.bank.retrieval import build_index, retrieve
    from xskill.bank.skillbank import read_bank
    from xskill.bank.task_files import RetrievalTask, read_tasks, retrieved_row
    from xskill.streams.run import Run
    from xskill.streams.text_out import open_lines, write_text
    from xskill.text.terminal import clean

    if task is not None and (files or rejects):
        raise UsageError("--task TEXT is the one task: give no FILE and no --rejects, or leave --task out")
    if task is None and (task_type or as_json):
        raise UsageError("--task-type and --json belong to --task TEXT; a stream of tasks tells its types, and is JSON")
    if base_url is not None and not (embed or "").startswith("openai:"):
        raise UsageError("--base-url is the endpoint of --embed openai:MODEL")
    if not -1 <= threshold <= 1:
        raise UsageError(f"--threshold {threshold:g}: expected a cosine, -1 to 1")
    said = Run("bank retrieve", quiet=quiet)
    skills = read_bank(bank, said)
    if not skills.skills:
        said.note(f"{bank}: the bank holds no skill, so there is nothing to retrieve")
    index = build_index(skills, encoder(embed, base_url) if embed is not None else None)
    with Run("bank retrieve", quiet=quiet or task is not None, rejects=rejects) as run:
        options = {"top": top, "threshold": threshold, "budget": budget}
        if task is not None:
            hits = retrieve(index, task, task_type, **options)  # type: ignore[arg-type]
            if as_json:
                row = retrieved_row(RetrievalTask(task=task, task_type=task_type), hits)
                write_text(output, msgspec.json.encode(row).decode())
            else:
                write_text(output, clean(render_prompt(hit.skill for hit in hits)))
            return
        with open_lines(output) as write_line:
            for one in read_tasks(files or [], run):
                hits = retrieve(index, one.task, one.task_type, **options)  # type: ignore[arg-type]
                write_line(msgspec.json.encode(retrieved_row(one, hits)))
