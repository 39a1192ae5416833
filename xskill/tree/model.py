"""The X-Tree as a value: a header and its nodes in merge order; read from, and written to, its two file forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from xskill.errors import BadRecord, NoInput, UsageError
from xskill.records import Node, TreeHeader, decode
from xskill.streams.lines import iter_lines
from xskill.streams.source import Input, ensure_input, open_input
from xskill.streams.write import open_output
from xskill.tree.released import from_released, looks_released

if TYPE_CHECKING:
    from xskill.streams.run import Run

_NUMBERED = re.compile(r"S(\d+)\Z")


@dataclass(frozen=True, slots=True)
class XTree:
    """A mined tree. ``nodes`` are in merge order, so a child stands before its parent."""

    header: TreeHeader
    nodes: tuple[Node, ...]


def check_tree(header: TreeHeader, nodes: Iterable[Node]) -> XTree:
    """Header and nodes as a tree, once they are consistent with each other.

    A child is a node when its name is a node id, else a primitive. Every node must come after its children, in
    ascending order where ids are numbered ``S0, S1, …`` (tiling replays the merges in this order), with
    ``length = l_u + l_v``, ``depth = 1 + max(d_u, d_v)`` and ``expansion`` that of the children, one after the other.

    Raises:
        BadRecord: the first node that breaks a rule; ``path`` is ``nodes[i].field``.
    """
    nodes = tuple(nodes)
    if header.n_nodes != len(nodes):
        raise BadRecord(f"the header promises {header.n_nodes} nodes, got {len(nodes)} (truncated?)", path="n_nodes")
    ids = {node.id for node in nodes}
    seen: dict[str, Node] = {}
    last = -1
    for index, node in enumerate(nodes):
        try:
            last = _check_node(node, seen, ids, last)
        except BadRecord as error:
            error.path = f"nodes[{index}].{error.path}"
            raise
        seen[node.id] = node
    return XTree(header, nodes)


def _check_node(node: Node, seen: Mapping[str, Node], ids: set[str], last: int) -> int:
    if node.id in seen:
        raise BadRecord(f"the id {node.id!r} is used twice", path="id")
    number = _NUMBERED.match(node.id)
    if number and int(number.group(1)) <= last:
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
    return int(number.group(1)) if number else last


def derived(children: tuple[str, str], earlier: Mapping[str, Node]) -> tuple[int, int, list[str]]:
    """Depth, length and expansion of a node with these children, given the nodes before it by id."""
    depth, expansion = 0, []
    for child in children:
        node = earlier.get(child)
        depth = max(depth, node.depth if node else 0)
        expansion += node.expansion if node else [child]
    return depth + 1, len(expansion), expansion


def by_id(tree: XTree) -> dict[str, Node]:
    """The nodes by their id."""
    return {node.id: node for node in tree.nodes}


def child_nodes(node: Node, nodes: Mapping[str, Node]) -> list[Node]:
    """The children of ``node`` that are nodes themselves, left to right; an equal pair once."""
    return [nodes[child] for child in dict.fromkeys(node.children) if child in nodes]


def parents(tree: XTree) -> dict[str, list[str]]:
    """Ids of the nodes that each node is a child of, in merge order; roots of the merge graph have none."""
    found: dict[str, list[str]] = {node.id: [] for node in tree.nodes}
    for node in tree.nodes:
        for child in dict.fromkeys(node.children):
            if child in found:
                found[child].append(node.id)
    return found


def is_released(tree: XTree) -> bool:
    """Does the tree lack our statistics over episodes and tiles, as the authors' files do?"""
    return all(node.episodes is None and node.tiles is None for node in tree.nodes)


def roots(tree: XTree) -> list[Node]:
    """The nodes that are whole routines: a top-level tile of an episode of the mined outcome.

    ``tiles_success > 0``; in a failure tree ``tiles > tiles_success``; in a released tree, which has no tiles,
    the nodes that are no other's child (arXiv 2609.32993).
    """
    if all(node.tiles is None for node in tree.nodes):
        above = parents(tree)
        return [node for node in tree.nodes if not above[node.id]]
    if tree.header.outcome == "failure":
        return [node for node in tree.nodes if (node.tiles or 0) > (node.tiles_success or 0)]
    return [node for node in tree.nodes if (node.tiles_success or 0) > 0]


def success_rate(node: Node, tree: XTree) -> float | None:
    """Share of the merged occurrences that lie in successes; None when no outcome tells.

    In the authors' mixed-outcome files null means 1 (their data.js says so); in their success-only files, and
    in ours, it means that nothing is known.
    """
    if node.success is None and not tree.header.corpus.successful_only and node.frequency is None:
        return 1.0
    return node.success


def read_tree(files: str | Path | Sequence[str | Path], run: Run | None = None) -> XTree:
    """Read one tree: our stream (JSONL or Parquet) or the authors' JSON object; gzip and zstd by content.

    ``files`` is one file or a list of one; ``[]`` and ``-`` mean stdin. With ``run`` its nodes count as read.

    Raises:
        NoInput: the file is missing or empty.
        BadRecord: it holds no tree, or an inconsistent one; with file and line.
        UsageError: more than one file.
    """
    names = [str(files)] if isinstance(files, (str, Path)) else [str(name) for name in files]
    if len(names) > 1:
        raise UsageError(f"expected one tree, got {len(names)} files: {', '.join(names)}")
    if not names:
        ensure_input(names)
    source = open_input(names[0] if names else "-", run.note if run is not None else lambda text: None)
    try:
        header, nodes = _from_parquet(source) if source.container == "parquet" else _from_text(source)
        tree = check_tree(header, nodes)
    except BadRecord as error:
        raise error.at(source.name) from None
    finally:
        source.stream.close()
    if run is not None:
        run.read += len(tree.nodes)
        run.kept += len(tree.nodes)
    return tree


def _from_text(source: Input) -> tuple[TreeHeader, list[Node]]:
    """A header line with its nodes, else one JSON document; the first line decides, so that no log is held whole."""
    lines = iter_lines(source)
    number, first = next(lines, (0, b""))
    if not number:
        raise NoInput(f"{source.name}: empty; expected a tree")
    try:
        header = decode(first, TreeHeader) if b'"xskill.tree/1"' in first else None
        nodes = []
        if header is not None:
            for number, line in lines:  # noqa: B007 - read when a line is bad
                nodes.append(decode(line, Node))
            return header, nodes
    except BadRecord as error:
        raise error.at(source.name, number) from None
    value = _json(first)
    if value is None:
        value = _json(first + b"\n" + b"\n".join(line for _, line in lines))
    if not looks_released(value):
        raise BadRecord("no tree; expected a header line xskill.tree/1, or one JSON object with `nodes`")
    return from_released(value)


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _from_parquet(source: Input) -> tuple[TreeHeader, list[Node]]:
    from xskill.streams.parquet import read_rows

    headers: list[TreeHeader] = []
    nodes = []
    for number, row in enumerate(read_rows(source, Node, lambda line: headers.append(decode(line, TreeHeader))), 1):
        if isinstance(row, BadRecord):
            raise row.at(source.name, number)
        nodes.append(row)
    if not headers:
        raise BadRecord("no tree; the file's metadata holds no header xskill.tree/1")
    return headers[0], nodes


def write_tree(tree: XTree, path: str | Path | None = None, *, to: str | None = None) -> None:
    """Write header and nodes as our stream, to a file (atomically) or stdout; ``to`` = ``jsonl | parquet``."""
    with open_output(None if path is None else str(path), to=to, kind=Node) as out:
        out.header(tree.header)
        for node in tree.nodes:
            out.write(node)
