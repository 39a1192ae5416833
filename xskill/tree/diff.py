"""What changed from one tree to another: nodes by their expansion, and how well each describes given episodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xskill.records import Episode, Node
from xskill.text.terminal import clean_line
from xskill.tree.numbers import count, p_value, percent, share
from xskill.tree.replay import tiler
from xskill.tree.routine import chain
from xskill.tree.summary import adjusted_p
from xskill.tree.tiles import own_tiles
from xskill.tree.xtree import XTree, success_rate

Numbers = dict[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Change:
    """A node of the same expansion in both trees, with numbers that differ."""

    old: Node
    new: Node
    fields: dict[str, tuple[Any, Any]]
    """Name → (old, new)."""


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """Nodes that came, went, or changed from one tree to another."""

    added: list[Node]
    removed: list[Node]
    changed: list[Change]
    """Each list: the largest first, by count * length."""
    same: int
    n_old: int
    n_new: int

    @property
    def any(self) -> bool:
        """Is there any?"""
        return bool(self.added or self.removed or self.changed)


def numbers(node: Node, tree: XTree) -> Numbers:
    """What is compared of a node."""
    return {"count": node.count, "success": success_rate(node, tree), "q": adjusted_p(node)}


def compare(old: XTree, new: XTree) -> TreeDifference:
    """Match nodes by expansion; of several nodes of one expansion in a tree, the first counts."""
    before, after = ({tuple(node.expansion): node for node in reversed(tree.nodes)} for tree in (old, new))
    changed, same = [], 0
    for expansion, node in before.items():
        if expansion not in after:
            continue
        was, now = numbers(node, old), numbers(after[expansion], new)
        fields = {name: (was[name], now[name]) for name in was if was[name] != now[name]}
        if fields:
            changed.append(Change(node, after[expansion], fields))
        else:
            same += 1
    return TreeDifference(
        added=_largest(node for expansion, node in after.items() if expansion not in before),
        removed=_largest(node for expansion, node in before.items() if expansion not in after),
        changed=sorted(changed, key=lambda change: _size(change.new)),
        same=same,
        n_old=len(old.nodes),
        n_new=len(new.nodes),
    )


def _size(node: Node) -> tuple[int, list[str]]:
    return -node.count * node.length, node.expansion


def _largest(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=_size)


def coverage(trees: tuple[XTree, XTree], episodes: Iterable[Episode]) -> dict[str, Any]:
    """Share of the actions inside nodes, and tiles, under each tree: ``{episodes, actions, coverage[2], tiles[2]}``.

    Raises:
        BadRecord: a branch that claims to have copied more actions than it has.
    """
    ready = [tiler(tree) for tree in trees]
    n = actions = 0
    covered, tiles = [0, 0], [0, 0]
    for episode in episodes:
        n += 1
        for which in (0, 1):
            pieces = own_tiles(episode, ready[which])
            covered[which] += sum(piece.length for piece in pieces if piece.node is not None)
            tiles[which] += len(pieces)
        actions += sum(piece.length for piece in pieces)
    shares = [part / actions if actions else None for part in covered]
    return {"episodes": n, "actions": actions, "coverage": shares, "tiles": tiles}


def as_json(difference: TreeDifference, old: XTree, new: XTree, tiled: dict[str, Any] | None) -> dict[str, Any]:
    """The difference as one JSON object."""

    def row(node: Node, tree: XTree) -> dict[str, Any]:
        return {"id": node.id, "routine": node.expansion, **numbers(node, tree)}

    return {
        "nodes": [difference.n_old, difference.n_new],
        "same": difference.same,
        "new": [row(node, new) for node in difference.added],
        "gone": [row(node, old) for node in difference.removed],
        "changed": [
            {
                "id": [change.old.id, change.new.id],
                "routine": change.new.expansion,
                **{name: list(pair) for name, pair in change.fields.items()},
            }
            for change in difference.changed
        ],
        "tiling": tiled,
    }


def render(difference: TreeDifference, old: XTree, new: XTree, tiled: dict[str, Any] | None, top: int) -> str:
    """The difference as lines: ``+`` new, ``-`` gone, ``~`` changed; ``top`` of each, 0 for all."""
    kinds = (difference.added, "new"), (difference.removed, "gone"), (difference.changed, "changed")
    counts = ", ".join(f"{count(len(changes))} {kind}" for changes, kind in kinds)
    lines = [f"nodes {count(difference.n_old)} → {count(difference.n_new)}: {counts}, {count(difference.same)} same"]
    if tiled is not None:
        was, now = tiled["coverage"]
        lines.append(
            f"coverage of {count(tiled['episodes'])} episodes {share(was)} → {share(now)}, "
            f"tiles {count(tiled['tiles'][0])} → {count(tiled['tiles'][1])}"
        )
    for sign, nodes, tree in (("+", difference.added, new), ("-", difference.removed, old)):
        rows = [(clean_line(node.id), _facts(numbers(node, tree)), chain(node.expansion)) for node in nodes]
        lines += _table(sign, rows, top)
    rows = [
        (
            clean_line(change.new.id if change.old.id == change.new.id else f"{change.old.id}→{change.new.id}"),
            ", ".join(f"{name} {_shown(name, a)} → {_shown(name, b)}" for name, (a, b) in change.fields.items()),
            chain(change.new.expansion),
        )
        for change in difference.changed
    ]
    return "\n".join(lines + _table("~", rows, top))


def _facts(values: Numbers) -> str:
    return ", ".join(f"{name} {_shown(name, value)}" for name, value in values.items() if value is not None)


def _shown(name: str, value: Any) -> str:
    return count(value) if name == "count" else percent(value) if name == "success" else p_value(value)


def _table(sign: str, rows: list[tuple[str, str, str]], top: int) -> list[str]:
    if not rows:
        return []
    shown = rows[:top] if top > 0 else rows
    ids, facts = (max(len(row[i]) for row in shown) for i in (0, 1))
    lines = ["", *(f"{sign} {name:<{ids}}  {fact:<{facts}}  {text}" for name, fact, text in shown)]
    return lines + (
        [f"{sign} … and {count(len(rows) - len(shown))} more (--top 0 shows all)"] if len(rows) > len(shown) else []
    )
