"""``xskill tree show | stats``: look at a tree."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import AsJson, Output, Quiet, Rejects
from xskill.commands.tree_options import TreeFile, one_stdin


def show(
    tree: TreeFile = None,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Show the N best routines; 0: all.")] = 12,
    depth: Annotated[int, typer.Option(metavar="N", min=0, help="Levels of sub-routines below each.")] = 1,
    sort: Annotated[
        str, typer.Option(metavar="KEY", help="covered, success, lift, episodes, length or id.")
    ] = "covered",
    node: Annotated[Optional[str], typer.Option(metavar="ID", help="Everything about one node.")] = None,
    max_p: Annotated[
        Optional[float], typer.Option(metavar="P", help="Only nodes whose adjusted p (else q) is at most P.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Every number.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="One routine a line, as always into a pipe or file.")] = False,
    form: Annotated[Optional[str], typer.Option("--as", metavar="FORM", help="xtree: the authors' JSON form.")] = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Example: xskill mine episodes.jsonl | xskill tree show --top 20

    Draw the routines of a tree, those first that cover the most steps of successful episodes: how many episodes hold
    each, and how often these succeed compared with all.
    """
    from xskill.streams.text import write_text
    from xskill.tree.model import read_tree
    from xskill.tree.report import Wanted, report, terminal

    wanted = Wanted(top=top, depth=depth, sort=sort, node=node, max_p=max_p, wide=wide, plain=plain)
    console = terminal() if output is None else None
    text = report(read_tree(tree or []), wanted, "json" if as_json else form, console)
    if text is not None:
        write_text(output, text)


def stats(
    tree: TreeFile = None,
    episodes: Annotated[
        Optional[list[str]], typer.Option(metavar="FILE", help="Trajectories to tile and count; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree stats tree.jsonl --episodes episodes.jsonl

    Count the nodes of a tree by depth and length. With --episodes also how well it describes them: coverage (share of
    the actions inside routines) and compression (actions / tiles).
    """
    import json

    from xskill.records import Episode
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.text import write_text
    from xskill.tree.model import read_tree
    from xskill.tree.stats import describe, render, usage
    from xskill.tree.tile import each_good, own_tiles, tiler

    one_stdin(tree, episodes or [])
    read = read_tree(tree or [])
    report = describe(read)
    if episodes:
        ready = tiler(read)
        with Run("tree stats", quiet=quiet, rejects=rejects) as run:
            records = read_records(episodes, Episode, run)
            report["episodes"] = usage(read, each_good(records, lambda e: (e, own_tiles(e, ready)), run))
    write_text(output, json.dumps(report, ensure_ascii=False) if as_json else render(report))
