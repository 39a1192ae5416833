"""The form in which the X-Tree authors publish their trees: one JSON object with ``nodes``.

It has the keys ``environment, corpus, n_primitives, n_nodes, config, format, nodes``, writes null for what is
not recorded, and its nodes carry ``id, children, depth, length, expansion, count, success, example``
(arXiv 2609.32993, data release). Ours is a superset: what the authors' form does not name is kept on the way
in (``extra``) and stands beside their fields on the way out.
"""

from __future__ import annotations

from typing import Any

import msgspec

from xskill.errors import BadRecord
from xskill.records import Node, TreeHeader, convert

_NODE_KEYS = ("id", "children", "depth", "length", "expansion", "count", "success", "example")


def looks_released(value: Any) -> bool:
    """Is this parsed JSON value a tree in the authors' form?"""
    return isinstance(value, dict) and isinstance(value.get("nodes"), list) and "schema" not in value


def from_released(value: dict[str, Any]) -> tuple[TreeHeader, list[Node]]:
    """Header and nodes of a tree in the authors' form; unknown fields land in ``extra``.

    Raises:
        BadRecord: a field that breaks the contract, with its path (``nodes[3].depth``).
    """
    rest = {key: item for key, item in value.items() if key != "nodes"}
    rest.setdefault("n_nodes", len(value["nodes"]))
    header = convert(rest, TreeHeader)
    nodes = []
    for index, item in enumerate(value["nodes"]):
        try:
            nodes.append(convert(item, Node))
        except BadRecord as error:
            error.path = f"nodes[{index}].{error.path}" if error.path else f"nodes[{index}]"
            raise
    return header, nodes


def to_released(header: TreeHeader, nodes: tuple[Node, ...]) -> dict[str, Any]:
    """The tree as a JSON value in the authors' form; a file of theirs comes back equal as a JSON value."""
    value: dict[str, Any] = {
        "environment": header.environment,
        "corpus": {
            "name": header.corpus.name,
            "n_trajectories": header.corpus.n_trajectories,
            "successful_only": header.corpus.successful_only,
        },
        "n_primitives": header.n_primitives,
        "n_nodes": header.n_nodes,
        "config": header.config,
    }
    if header.outcome != "success":
        value["outcome"] = header.outcome
    if header.stats:
        value["stats"] = header.stats
    for key, item in header.extra.items():
        if key.startswith("corpus."):
            value["corpus"][key.removeprefix("corpus.")] = item
        else:
            value[key] = item
    value["nodes"] = [_released_node(node) for node in nodes]
    return value


def _released_node(node: Node) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(node)
    value = {key: fields.get(key) for key in _NODE_KEYS}
    value["children"] = list(node.children)
    value.update((key, item) for key, item in fields.items() if key not in value and key not in ("schema", "extra"))
    return {**value, **node.extra}
