"""``tree stats``: how large a tree is, and how well it describes given episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from xskill.records import Episode, Tile
from xskill.text.terminal import clean_line
from xskill.tree.numbers import UNKNOWN, count, share
from xskill.tree.summary import corpus_of
from xskill.tree.xtree import XTree, roots

_BAR = 40


def describe(tree: XTree) -> dict[str, Any]:
    """Counts of nodes, and the compression that the miner reached.

    ``compression`` = symbols before / after tiling on the mined corpus; null when the header doesn't tell.
    ``depths`` and ``lengths`` are nodes by depth and by length.
    """
    return {
        "environment": tree.header.environment,
        "nodes": len(tree.nodes),
        "roots": len(roots(tree)),
        "primitives": tree.header.n_primitives,
        "primitives_in_nodes": len({token for node in tree.nodes for token in node.expansion}),
        "compression": corpus_of(tree).compression,
        "depths": _histogram(node.depth for node in tree.nodes),
        "lengths": _histogram(node.length for node in tree.nodes),
    }


def usage(tree: XTree, episodes: Iterable[tuple[Episode, list[Tile]]]) -> dict[str, Any]:
    """What the tree does on these tiled episodes: all of them, and by outcome.

    ``coverage`` = actions inside nodes / actions, ``compression`` = actions / tiles.
    """
    groups: dict[str, Counter[str]] = {name: Counter() for name in ("all", "success", "failure", "unknown")}
    used: set[str] = set()
    for episode, tiles in episodes:
        outcome = {True: "success", False: "failure", None: "unknown"}[episode.success]
        covered = sum(piece.length for piece in tiles if piece.node is not None)
        used.update(piece.node for piece in tiles if piece.node is not None)
        for name in ("all", outcome):
            groups[name].update(
                episodes=1, actions=sum(piece.length for piece in tiles), tiles=len(tiles), covered=covered
            )
    return {
        **{name: _rates(counts) for name, counts in groups.items() if counts["episodes"] or name == "all"},
        "nodes_used": len(used),
    }


def _rates(counts: Counter[str]) -> dict[str, Any]:
    actions, tiles = counts["actions"], counts["tiles"]
    return {
        "episodes": counts["episodes"],
        "actions": actions,
        "tiles": tiles,
        "coverage": counts["covered"] / actions if actions else None,
        "compression": actions / tiles if tiles else None,
    }


def _histogram(values: Iterable[int]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items())}


def render(report: dict[str, Any]) -> str:
    """The report of :func:`describe`, with :func:`usage` under ``episodes``, as text of fixed width."""
    lines = [
        f"nodes        {count(report['nodes'])}",
        f"routines     {count(report['roots'])}",
        f"primitives   {count(report['primitives'])}, of them in nodes {count(report['primitives_in_nodes'])}",
    ]
    if report["environment"] is not None:
        lines.insert(0, f"environment  {clean_line(report['environment'])}")
    if report["compression"] is not None:
        lines.append(f"compression  {report['compression']:.2f}× on the mined corpus")
    if "episodes" in report:
        lines += ["", "             episodes   actions     tiles  coverage  compression"]
        for name in ("all", "success", "failure", "unknown"):
            if name in report["episodes"]:
                row = report["episodes"][name]
                ratio = UNKNOWN if row["compression"] is None else f"{row['compression']:.2f}×"
                lines.append(
                    f"{name:<11}{row['episodes']:>10,}{row['actions']:>10,}{row['tiles']:>10,}"
                    f"{share(row['coverage']):>10}{ratio:>13}"
                )
        lines += [f"nodes used   {count(report['episodes']['nodes_used'])}"]
    for name in ("depths", "lengths"):
        lines += ["", f"{name[:-1]:<7}  nodes"]
        most = max(report[name].values(), default=1)
        for value, n in report[name].items():
            lines.append(f"{value:>6}  {n:>6,}  {'█' * max(1, round(_BAR * n / most))}")
    return "\n".join(lines)
