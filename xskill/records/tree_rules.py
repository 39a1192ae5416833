"""What the nodes of a tree must be to each other; shared by those who read trees and those who only check them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from xskill.errors import BadRecord
from xskill.records.trees import Node

_NUMBERED = re.compile(r"S(\d+)\Z")


def faults(nodes: Sequence[Node]) -> Iterator[tuple[int, BadRecord]]:
    """The index of each node that breaks a rule, and which.

    A child is a node when its name is a node's id, else a primitive. Every node comes after its children, in ascending
    order where ids are numbered ``S0, S1, …`` (tiling replays the merges in this order), with ``length = l_u + l_v``,
    ``depth = 1 + max(d_u, d_v)`` and ``expansion`` that of the children, one after the other. Counts of a part are not
    larger than those of the whole.
    """
    ids = {node.id for node in nodes}
    seen: dict[str, Node] = {}
    last = -1
    for index, node in enumerate(nodes):
        number = _NUMBERED.match(node.id)
        try:
            _check(node, seen, ids, int(number.group(1)) if number else None, last)
        except BadRecord as error:
            yield index, error
        last = max(last, int(number.group(1))) if number else last
        seen.setdefault(node.id, node)


def _check(node: Node, seen: Mapping[str, Node], ids: set[str], number: int | None, last: int) -> None:
    if node.id in seen:
        raise BadRecord(f"the id {node.id!r} is used twice", path="id")
    if number is not None and number <= last:
        raise BadRecord(f"nodes stand in merge order, but {node.id} follows S{last}", path="id")
    for side, child in enumerate(node.children):
        if child in ids and child not in seen:
            raise BadRecord(f"{node.id} needs {child}, which must stand before it", path=f"children[{side}]")
    depth, length, expansion = derived(node.children, seen)
    if node.depth != depth:
        raise BadRecord(f"expected {depth}, one more than the deeper child, got {node.depth}", path="depth")
    if node.length != length:
        raise BadRecord(f"expected {length}, the sum of the children, got {node.length}", path="length")
    if node.expansion != expansion:
        raise BadRecord(f"expected {expansion}, the children in order, got {node.expansion}", path="expansion")
    for part, whole in (
        ("episodes_success", "episodes_known"),
        ("episodes_known", "episodes"),
        ("episodes_success", "episodes"),
        ("tiles_success", "tiles"),
    ):
        small, large = getattr(node, part), getattr(node, whole)
        if small is not None and large is not None and small > large:
            raise BadRecord(f"expected at most {large}, the {whole}, got {small}", path=part)
    if None not in (node.task_types, node.task_type_episodes):
        n = len(node.task_types or [])
        if len(node.task_type_episodes or []) != n:
            raise BadRecord(
                f"expected {n} entries, one a task type, got {len(node.task_type_episodes or [])}",
                path="task_type_episodes",
            )


def derived(children: tuple[str, str], earlier: Mapping[str, Node]) -> tuple[int, int, list[str]]:
    """Depth, length and expansion of a node with these children, given the nodes before it by id."""
    depth, expansion = 0, []
    for child in children:
        node = earlier.get(child)
        depth = max(depth, node.depth if node else 0)
        expansion += node.expansion if node else [child]
    return depth + 1, len(expansion), expansion
