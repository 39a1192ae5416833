"""The X-Tree as a value: a header and its nodes in merge order; read from, and written to, its two file forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from xskill.errors import BadRecord, NoInput, UsageError
from xskill.records import Node, TreeHeader, decode
from xskill.records.names import explained, tag_in, wrong_stream
from xskill.records.tree_rules import faults
from xskill.streams.lines import iter_lines
from xskill.streams.source import Input, ensure_input, open_input
from xskill.streams.write import open_output
from xskill.tree.released import from_released, looks_released

if TYPE_CHECKING:
    from xskill.streams.run import Run


@dataclass(frozen=True, slots=True)
class XTree:
    """A mined tree. ``nodes`` are in merge order, so a child stands before its parent."""

    header: TreeHeader
    nodes: tuple[Node, ...]


def check_tree(header: TreeHeader, nodes: Iterable[Node]) -> XTree:
    """Header and nodes as a tree, once they are consistent with each other (:mod:`xskill.records.tree_rules`).

    Raises:
        BadRecord: the first node that breaks a rule; ``path`` is ``nodes[i].field``.
    """
    nodes = tuple(nodes)
    if header.n_nodes != len(nodes):
        raise BadRecord(f"the header promises {header.n_nodes} nodes, got {len(nodes)} (truncated?)", path="n_nodes")
    for index, error in faults(nodes):
        raise _Misplaced(error, index)
    return XTree(header, nodes)


class _Misplaced(BadRecord):
    """A node that breaks a rule, with its index among the nodes."""

    def __init__(self, error: BadRecord, index: int) -> None:
        super().__init__(error.reason, path=f"nodes[{index}].{error.path}")
        self.index = index


def by_id(tree: XTree) -> dict[str, Node]:
    """The nodes by their id."""
    return {node.id: node for node in tree.nodes}


def child_nodes(node: Node, nodes: Mapping[str, Node]) -> list[Node]:
    """The children of ``node`` that are nodes themselves, left to right; an equal pair once."""
    return [nodes[child] for child in dict.fromkeys(node.children) if child in nodes]


def parents(tree: XTree) -> dict[str, list[str]]:
    """Ids of the nodes that each node is a child of, in merge order; roots of the merge graph have none."""
    above: dict[str, list[str]] = {node.id: [] for node in tree.nodes}
    for node in tree.nodes:
        for child in dict.fromkeys(node.children):
            if child in above:
                above[child].append(node.id)
    return above


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
    lines: list[int] = []
    try:
        header, nodes = _from_parquet(source, lines) if source.container == "parquet" else _from_text(source, lines)
        tree = check_tree(header, nodes)
    except BadRecord as error:
        line = lines[error.index] if isinstance(error, _Misplaced) and lines else None
        raise error.at(source.name, line) from None
    finally:
        source.close()
    if run is not None:
        run.read += len(tree.nodes)
        run.kept += len(tree.nodes)
    return tree


def _from_text(source: Input, places: list[int]) -> tuple[TreeHeader, list[Node]]:
    """A header line with its nodes, else one JSON document; the first line decides, so that no log is held whole.

    ``places`` gets the line of each node, when each has one.
    """
    lines = iter_lines(source, document=True)
    number, first = next(lines, (0, b""))
    if not number:
        raise NoInput(f"{source.name}: empty; expected a tree")
    try:
        line = first
        header = decode(first, TreeHeader) if b'"xskill.tree/1"' in first else None
        nodes = []
        if header is not None:
            for number, line in lines:
                nodes.append(decode(line, Node))
                places.append(number)
            return header, nodes
    except BadRecord as error:
        if error.path == "schema" and tag_in(line) == "xskill.tree/1":
            error.reason, error.path = "a second tree begins; a stream holds one: give one at a time", ""
        raise explained(error, line, Node).at(source.name, number) from None
    if (tag := tag_in(first)) is not None:
        raise BadRecord(wrong_stream(tag, "xskill.tree/1"), line=number)
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


def _from_parquet(source: Input, places: list[int]) -> tuple[TreeHeader, list[Node]]:
    from xskill.streams.parquet.reader import read_rows

    headers: list[TreeHeader] = []
    nodes = []
    for number, row in enumerate(read_rows(source, Node, lambda line: headers.append(decode(line, TreeHeader))), 1):
        if isinstance(row, BadRecord):
            raise row.at(source.name, number)
        nodes.append(row)
        places.append(number)
    if not headers:
        raise BadRecord("no tree; the file's metadata holds no header xskill.tree/1")
    return headers[0], nodes


def write_tree(tree: XTree, path: str | Path | None = None, *, to: str | None = None) -> None:
    """Write header and nodes as our stream, to a file (atomically) or stdout; ``to`` = ``jsonl | parquet``."""
    with open_output(None if path is None else str(path), to=to, kind=Node) as out:
        out.header(tree.header)
        for node in tree.nodes:
            out.write(node)
