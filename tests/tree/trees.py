"""Small trees made by hand, and the plain tiler that the fast one is held to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xskill.records import Corpus, Node, TreeHeader
from xskill.records.tree_rules import derived
from xskill.tree.xtree import XTree, check_tree


def grow(*merges: tuple[str, str, str], **header: Any) -> XTree:
    """A tree from (id, left, right) triples; ``count`` 5 each."""
    return with_fields([({"id": name}, left, right) for name, left, right in merges], **header)


def with_fields(merges: Sequence[tuple[dict[str, Any], str, str]], **header: Any) -> XTree:
    """A tree from (fields, left, right); depth, length and expansion follow from the children."""
    nodes: dict[str, Node] = {}
    for fields, left, right in merges:
        depth, length, expansion = derived((left, right), nodes)
        node = Node(**{"count": 5, **fields}, children=(left, right), depth=depth, length=length, expansion=expansion)
        nodes[node.id] = node
    header.setdefault("corpus", Corpus())
    return check_tree(TreeHeader(n_nodes=len(nodes), **header), nodes.values())


def plain_tiling(tree: XTree, actions: Sequence[str]) -> list[str]:
    """The definition: one pass over the episode for each merge, in order, greedy from the left."""
    symbols = [("token", action) for action in actions]
    ids = {node.id for node in tree.nodes}
    for node in tree.nodes:
        pair = [("node" if child in ids else "token", child) for child in node.children]
        rewritten, i = [], 0
        while i < len(symbols):
            if symbols[i : i + 2] == pair:
                rewritten.append(("node", node.id))
                i += 2
            else:
                rewritten.append(symbols[i])
                i += 1
        symbols = rewritten
    return [name for _, name in symbols]
