"""``xskill tree``: look at an X-Tree, and use it on trajectories."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import AsJson, Files, Output, Quiet, Rejects, To

command = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Example: xskill mine episodes.jsonl | xskill tree show\n\nLook at an X-Tree, and use it on trajectories.",
)

TreeFile = Annotated[
    Optional[str],
    typer.Argument(metavar="[TREE]", help="Our stream, or the authors' JSON; none or - is stdin."),
]
TreeOption = Annotated[str, typer.Option("--tree", metavar="TREE", help="The tree to use.")]


@command.command("show", short_help="Draw the routines of a tree, the most useful first.")
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


@command.command("tile", short_help="Add to trajectories the routines that they are made of.")
def tile(
    tree: TreeOption,
    files: Files = None,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree tile --tree tree.jsonl episodes.jsonl

    Add to each trajectory its tiles (the routines and single actions that it is made of), the share of its actions
    that routines cover, and its tiles per action. Of a branch, the part is tiled that it generated itself.
    """
    from xskill.records import Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import open_output
    from xskill.tree.model import read_tree
    from xskill.tree.tile import each_good, tiled, tiler

    _one_stdin(tree, files or ["-"])
    with Run("tree tile", quiet=quiet, rejects=rejects) as run:
        ready = tiler(read_tree(tree))
        with open_output(output, to=to, kind=Trajectory) as out:
            for record in each_good(read_records(files or [], Trajectory, run), lambda t: tiled(t, ready), run):
                out.write(record)


@command.command("stats", short_help="Count nodes, and how well a tree describes episodes.")
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

    _one_stdin(tree, episodes or [])
    read = read_tree(tree or [])
    report = describe(read)
    if episodes:
        ready = tiler(read)
        with Run("tree stats", quiet=quiet, rejects=rejects) as run:
            records = read_records(episodes, Episode, run)
            report["episodes"] = usage(read, each_good(records, lambda e: (e, own_tiles(e, ready)), run))
    write_text(output, json.dumps(report, ensure_ascii=False) if as_json else render(report))


def _one_stdin(tree: str | None, files: list[str]) -> None:
    """The tree and the trajectories cannot both come from stdin."""
    from xskill.errors import UsageError

    if tree in (None, "-") and "-" in files:
        raise UsageError("the tree and the trajectories cannot both come from stdin; name a file for one of them")
