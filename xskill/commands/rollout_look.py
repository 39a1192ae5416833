"""``xskill rollout build|show|check``: rollout trees as they are."""

from __future__ import annotations

from typing import Annotated, Literal, Optional

import typer

from xskill.commands.choose import choose
from xskill.commands.given import refuse
from xskill.commands.options import AsJson, Files, Output, Quiet, Rejects, To
from xskill.commands.types import finite
from xskill.credit.choices import MAPS, RATIOS


def build(
    ctx: typer.Context,
    files: Files = None,
    output: Output = None,
    to: To = None,
    as_json: AsJson = False,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill rollout build rollouts.jsonl --json

    Rebuild each question's tree by its shared prefixes, check parent links against it, and write one record a node:
    each shared turn once. With --json the summary goes to stdout, and nodes are written only with -o.
    """
    import msgspec

    from xskill.records import RolloutNode
    from xskill.rollouts.load import read_rollouts
    from xskill.rollouts.prefix_tree import summary
    from xskill.rollouts.question_view import rollout_nodes
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text
    from xskill.streams.write import open_output

    if as_json and output is None:
        refuse(ctx, ["to"], "belongs to the nodes, which --json writes only with -o FILE")
    with Run("rollout build", quiet=quiet, rejects=rejects) as run:
        rollouts, trie, originals = read_rollouts(files or [], run, keep=True)
        found = summary(rollouts, trie)
        if output is not None or not as_json:
            with open_output(output, to=to, kind=RolloutNode) as out:
                for node in rollout_nodes(rollouts, trie, originals):
                    out.write(node)
        if as_json:
            write_text(None, msgspec.json.encode(found).decode())
        run.set_summary(
            f"{found['questions']:,} questions, {found['turns']:,} turns in {found['nodes']:,} nodes, "
            f"cost {found['cost']:g} full rollouts a question"
        )


def show(
    ctx: typer.Context,
    files: Files = None,
    question: Annotated[
        Optional[str], typer.Option(metavar="ID", help="Which question; default: the first whose rewards differ.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="List the N most decisive turns.")] = 5,
    every_turn: Annotated[bool, typer.Option("--every-turn", help="Also the turns in a row without a choice.")] = False,
    form: Annotated[
        Optional[Literal["html"]], typer.Option("--as", help="One self-contained page instead of the drawing.")
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill credit rollouts.jsonl | xskill rollout show --top 3

    Draw one question's tree: turns with value, credit and target, the outcomes of its leaves, and first the turns
    whose choice mattered most. Without credits the value is the mean reward below; visits, Q and prior are shown.
    """
    from xskill.rollouts.draw import render
    from xskill.rollouts.load import read_rollouts
    from xskill.rollouts.question_view import choose_question, view
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text

    if as_json:
        refuse(ctx, ["form"], "and --json are two different outputs; give one")
    if as_json or form is not None:
        refuse(ctx, ["every_turn"], "belongs to the drawing; --json and --as html hold every turn")
    with Run("rollout show", quiet=quiet, rejects=rejects) as run:
        rollouts, trie, originals = read_rollouts(files or [], run, keep=True)
        found = view(rollouts, trie, originals, choose_question(rollouts, question))
        text = render(found, "json" if as_json else form, top, every_turn, to_file=output is not None)
        if text is not None:
            write_text(output, text)


def check(
    files: Files = None,
    tau: Annotated[float, typer.Option(callback=finite, help="Temperature of the likelihood weights.")] = 1.0,
    map_: Annotated[str, choose(MAPS, "--map", help="The teacher's map.")] = "odds",
    radius: Annotated[
        Optional[str], typer.Option(metavar="R|auto", help="The teacher's radius; default as in credit.")
    ] = None,
    ratio: Annotated[str, choose(RATIOS, help="Turn log ratio.")] = "sum",
    reward_from: Annotated[Literal["reward", "success"], typer.Option(help="What counts as the reward.")] = "reward",
    as_json: AsJson = False,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill rollout check rollouts.jsonl

    Is the credit estimator sane on this data? Questions without variance, turns without an alternative, effective
    size of the likelihood weights, the radius against the policy's real moves, the bias of baselines per turn index.
    """
    import msgspec

    from xskill.commands.credit import number
    from xskill.credit.credited_files import check_files
    from xskill.credit.methods import Config
    from xskill.credit.sanity import as_text
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text

    with Run("rollout check", quiet=quiet, rejects=rejects) as run:
        wanted = None if radius is None or radius == "auto" else number("--radius", radius)
        config = Config(tau=tau, map=map_, radius="auto" if radius == "auto" else wanted, ratio=ratio)
        report = check_files(files or [], config, reward_from, run)
        numbers = {**report.numbers, "warnings": report.warnings}
        write_text(output, msgspec.json.encode(numbers).decode() if as_json else as_text(report))
