"""``xskill tree show | stats | diff | explore``: look at a tree."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.choose import choose
from xskill.commands.given import refuse
from xskill.commands.options import AsJson, Output, Quiet, Rejects
from xskill.commands.tree_options import TreeFile, one_stdin
from xskill.commands.types import INPUT, finite
from xskill.tree.forms import SHOW

_OF_EPISODES = "belongs to --episodes FILE; no episodes are read without it"
_SELECT = ("top", "depth", "sort", "compare", "max_p")
_DRAW = ("wide", "example", "parents", "plain")


def show(
    ctx: typer.Context,
    tree: TreeFile = None,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Show the N best routines; 0: all.")] = 12,
    depth: Annotated[int, typer.Option(metavar="N", min=0, help="Levels of sub-routines below each.")] = 1,
    sort: Annotated[
        Optional[str],
        typer.Option(metavar="KEY", help="covered (default), success, lift, episodes, length, contrast or id."),
    ] = None,
    compare: Annotated[
        Optional[str], typer.Option(metavar="WHAT", help="outcome: how many successes and failures hold each.")
    ] = None,
    node: Annotated[Optional[str], typer.Option(metavar="ID", help="Everything about one node.")] = None,
    max_p: Annotated[
        Optional[float],
        typer.Option(metavar="P", callback=finite, help="Only nodes whose adjusted p (else q) is at most P."),
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Every number.")] = False,
    example: Annotated[bool, typer.Option("--example", help="An occurrence below each routine.")] = False,
    parents: Annotated[bool, typer.Option("--parents", help="What each routine is a part of.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="One routine a line, as always into a pipe or file.")] = False,
    form: Annotated[Optional[str], choose(SHOW, "--as", metavar="FORM", help="")] = None,
    as_json: AsJson = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill mine episodes.jsonl | xskill tree show --top 20

    Draw the routines of a tree, those first that cover the most steps of successful episodes: how many episodes hold
    each, and how often these succeed compared with all.
    """
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text
    from xskill.tree.show_forms import report, terminal
    from xskill.tree.summary import Wanted
    from xskill.tree.xtree import read_tree

    _refuse_unused(ctx, "json" if as_json else form, node is not None)
    wanted = Wanted(top, depth, sort, node, max_p, compare, wide, example, parents, plain)
    console = terminal() if output is None else None
    with Run("tree show", quiet=quiet, summary=False) as run:
        read = read_tree(tree or [], run)
    text = report(read, wanted, "json" if as_json else form, console)
    if text is not None:
        write_text(output, text)


def _refuse_unused(ctx: typer.Context, form: str | None, node: bool) -> None:
    """What the form, or the card of one node, does not look at."""
    if form == "json":
        refuse(ctx, ["form"], "and --json are two different outputs; give one")
    written = None if form in (None, "json") else SHOW[str(form)]
    if written is not None and written.whole_tree:
        why = f"does not fit --as {form}, which writes the whole tree; `xskill filter` chooses nodes first"
        refuse(ctx, ["max_p", "top", "depth", "sort", "compare", "node"], why)
    elif written is not None:
        refuse(ctx, ["node"], f"belongs to the drawing and --json; --as {form} shows what --top and --max-p choose")
    elif node:
        refuse(ctx, _SELECT, "does not fit --node ID, which shows all of one node")
        refuse(ctx, [name for name in _DRAW if name != "plain"], "does not fit --node ID, which shows all of one node")
    if form is not None:
        refuse(
            ctx, _DRAW, f"belongs to the drawing; {'--json' if form == 'json' else f'--as {form}'} does not look at it"
        )


def stats(
    ctx: typer.Context,
    tree: TreeFile = None,
    episodes: Annotated[
        Optional[list[str]],
        typer.Option(metavar="FILE", parser=INPUT, help="Trajectories to tile and count; may be repeated."),
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
    from xskill.streams.text_out import write_text
    from xskill.tree.measures import describe, render, usage
    from xskill.tree.tile import each_good, own_tiles, tiler
    from xskill.tree.xtree import read_tree

    if not episodes:
        refuse(ctx, ["rejects"], _OF_EPISODES)
    one_stdin(tree, episodes or [])
    read = read_tree(tree or [])
    report = describe(read)
    if episodes:
        ready = tiler(read)
        with Run("tree stats", quiet=quiet, rejects=rejects) as run:
            records = read_records(episodes, Episode, run)
            report["episodes"] = usage(read, each_good(records, lambda e: (e, own_tiles(e, ready)), run))
    write_text(output, json.dumps(report, ensure_ascii=False) if as_json else render(report))


def diff(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="A", parser=INPUT, help="The tree before.")],
    new: Annotated[str, typer.Argument(metavar="B", parser=INPUT, help="The tree after.")],
    episodes: Annotated[
        Optional[list[str]],
        typer.Option(metavar="FILE", parser=INPUT, help="Trajectories to tile with both; may be repeated."),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Nodes of each kind to list; 0: all.")] = 20,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Leave with 1 if the trees differ.")] = False,
    as_json: AsJson = False,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree diff before.jsonl after.jsonl --episodes episodes.jsonl

    Compare two trees by the routines in them: new, gone, and changed in count, success or q. With --episodes also how
    much of their actions each covers.
    """
    import json

    from xskill.records import Episode
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text
    from xskill.tree import diff as differences
    from xskill.tree.xtree import read_tree

    if not episodes:
        refuse(ctx, ["rejects"], _OF_EPISODES)
    if as_json:
        refuse(ctx, ["top"], "belongs to the text; --json lists every difference")
    one_stdin(old, [new, *(episodes or [])])
    one_stdin(new, episodes or [])
    trees = read_tree(old), read_tree(new)
    found, tiled = differences.compare(*trees), None
    if episodes:
        with Run("tree diff", quiet=quiet, rejects=rejects) as run:
            tiled = differences.coverage(trees, read_records(episodes, Episode, run))
    if as_json:
        write_text(output, json.dumps(differences.as_json(found, *trees, tiled), ensure_ascii=False))
    else:
        write_text(output, differences.render(found, *trees, tiled, top))
    if exit_code and found.any:
        raise typer.Exit(1)


def explore(
    ctx: typer.Context,
    tree: TreeFile = None,
    episodes: Annotated[
        Optional[list[str]],
        typer.Option(metavar="FILE", parser=INPUT, help="Trajectories to show beside it; may be repeated."),
    ] = None,
    max_episodes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Most episodes in the page: failures up to a half, evenly spread.")
    ] = 500,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree explore tree.jsonl --episodes episodes.jsonl -o tree.html

    Write one HTML file that needs no network: the forest, a sortable and searchable table of its routines, every node
    in full with real occurrences, and the episodes as streams of tiles, with a slider that replays the merges.
    """
    from xskill.records import Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.text_out import write_text
    from xskill.tree.explorer.page import page
    from xskill.tree.explorer.shown_episodes import chosen
    from xskill.tree.tile import each_good, own_start
    from xskill.tree.xtree import read_tree

    if not episodes:
        refuse(ctx, ["rejects", "max_episodes"], _OF_EPISODES)
    one_stdin(tree, episodes or [])
    read = read_tree(tree or [])
    records: list[Trajectory] = []
    if episodes:
        with Run("tree explore", quiet=quiet, rejects=rejects) as run:
            found = read_records(episodes, Trajectory, run)
            records = [record for record, _ in each_good(found, lambda t: (t, own_start(t)), run)]
            shown = chosen(records, max_episodes)
            if len(shown) < len(records):
                run.note(f"the page shows {len(shown):,} of {len(records):,} episodes (--max-episodes)")
            records = shown
    write_text(output, page(read, records))
