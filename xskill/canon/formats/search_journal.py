"""Journals of AIDE and MLEvolve: ``{nodes, node2parent}``, a tree of programs that were run.

A node is code with its plan and what running it printed; its parent is in ``node2parent`` alone. Paths to leaves are
branches of rollouts. ``metric`` is a score that may be better when it is smaller, so it is no reward: it goes to
``extra``. A root without code only holds the drafts together and is no step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import entry, fail, integer, items, mapping, needed, number, string
from xskill.canon.reading.search_leaves import parents
from xskill.records import Parent

_NODE = frozenset({
    "code", "plan", "step", "id", "parent", "children", "_term_out", "term_out", "visits", "total_reward", "is_buggy",
})  # fmt: skip

Node = dict[str, Any]
Nodes = dict[str, tuple[float, int, Node]]
"""Name → step, place in the file, and the node."""


def detect(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("nodes"), list) and "node2parent" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    nodes: Nodes = {}
    for index, node in enumerate(items(needed(record, "nodes"), "nodes")):
        node = mapping(node, f"nodes[{index}]")
        identity = string(node.get("id"), f"nodes[{index}].id") or f"#{index}"
        if identity in nodes:
            place.tally.skip("nodes written again")
        nodes[identity] = (number(node.get("step"), f"nodes[{index}].step") or 0.0, index, node)
    above = {
        str(child): string(parent, "node2parent")
        for child, parent in mapping(record.get("node2parent"), "node2parent").items()
    }
    order = sorted(nodes, key=lambda name: nodes[name][:2])
    inner = {parent for child, parent in above.items() if child in nodes}
    paths = [_path(name, above, nodes, place) for name in order if name not in inner]
    paths = [path for path in paths if path]
    question = f"{place.stem}-{place.number}"
    for index, (path, shared) in enumerate(zip(paths, parents(paths), strict=True)):
        last = nodes[path[-1]][2]
        yield RawEpisode(
            steps=[_step(nodes[name][2], name) for name in path],
            id=f"{question}-{index}",
            question_id=question,
            parent=Parent(id=f"{question}-{shared[0]}", turn=shared[1]) if shared else None,
            extra={"metric": last["metric"]} if last.get("metric") is not None else {},
        )


def _path(leaf: str, above: dict[str, str | None], nodes: Nodes, place: Place) -> list[str]:
    """Names of the nodes with code from the root to a leaf."""
    path: list[str] = []
    seen: set[str] = set()
    name: str | None = leaf
    while name is not None and name in nodes:
        if name in seen:
            raise fail("node2parent", "a tree", name)
        seen.add(name)
        node = nodes[name][2]
        if as_text(node.get("code")) or (node.get("stage") != "root" and as_text(node.get("plan"))):
            path.append(name)
        else:
            place.tally.skip("root without code")
        name = above.get(name)
    return path[::-1]


def _step(node: Node, path: str) -> RawStep:
    printed = node.get("_term_out", node.get("term_out"))
    if isinstance(printed, list) and all(isinstance(line, str) for line in printed):
        printed = "".join(printed)
    failed = bool(node.get("is_buggy")) or bool(node.get("exc_type"))
    visits = integer(node.get("visits"), f"{path}.visits")
    total = number(node.get("total_reward"), f"{path}.total_reward")
    plan = as_text(node.get("plan"))
    return RawStep(
        kind="call",
        name="run_code",
        arguments={"code": as_text(node.get("code")) or ""},
        observation=as_text(printed),
        thought=join(plan),
        error=failed,
        visits=visits,
        q=total / visits if total is not None and visits else None,
        extra={key: value for key, value in node.items() if key not in _NODE and value is not None} or None,
    )


FORMAT = Format("search-journal", "AIDE and MLEvolve journals (nodes, node2parent), as branches of rollouts", "record",
                detect, read)  # fmt: skip
