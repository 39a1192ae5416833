"""Trees are read in both forms, checked, and written back unchanged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.tree.trees import grow, with_fields
from xskill.errors import BadRecord, NoInput, UsageError
from xskill.records import Corpus, encode
from xskill.tree.released import to_released
from xskill.tree.xtree import (
    XTree,
    by_id,
    child_nodes,
    parents,
    read_tree,
    roots,
    success_rate,
    write_tree,
)

RELEASED = {"scienceworld": 34, "webshop": 31, "miniwob": 45, "webarena": 184}
"""File → nodes that are no other's child (counted apart with jq)."""

THREE = grow(("S0", "a", "b"), ("S1", "S0", "c"), ("S2", "S1", "S0"))


def released_value(**change: Any) -> dict[str, Any]:
    """A small tree in the authors' form, as a JSON value of their shape."""
    node = {
        "id": "S0",
        "children": ["take<object>", "go to<x>"],
        "depth": 1,
        "length": 2,
        "expansion": ["take<object>", "go to<x>"],
        "count": 7,
        "success": None,
        "example": None,
    }
    value = {
        "environment": "Toy",
        "corpus": {"name": "toy", "n_trajectories": 9, "successful_only": True},
        "n_primitives": 4,
        "n_nodes": 1,
        "config": {"max_skills": 3, "mdl_lambda": 0.5},
        "format": "text\nin two lines",
        "nodes": [node],
    }
    node.update(change.pop("node", {}))
    return {**value, **change}


@pytest.mark.parametrize("name", RELEASED)
def test_the_authors_files_come_back_unchanged(shared: Path, name: str) -> None:
    path = shared / "xtree" / f"{name}.json"
    tree = read_tree(path)
    assert to_released(tree.header, tree.nodes) == json.loads(path.read_bytes())
    assert len(roots(tree)) == RELEASED[name]


def test_unknown_fields_of_the_released_form_are_kept(tmp_path: Path) -> None:
    value = released_value(licence="none", node={"note": [1, {"x": None}]})
    value["corpus"]["url"] = "somewhere"
    for text in (json.dumps(value), json.dumps(value, indent=2)):
        path = tmp_path / "tree.json"
        path.write_text(text)
        tree = read_tree(path)
        assert to_released(tree.header, tree.nodes) == value
        write_tree(tree, tmp_path / "ours.jsonl")
        again = read_tree(tmp_path / "ours.jsonl")
        assert to_released(again.header, again.nodes) == value


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_our_stream_round_trips_in_any_compression(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "tree"
    path.write_bytes(pack(b"\n".join([encode(THREE.header), *map(encode, THREE.nodes)]) + b"\n"))
    assert read_tree(path) == THREE


def test_parquet_round_trips(tmp_path: Path) -> None:
    pytest.importorskip("xskill.streams.parquet.reader")
    write_tree(THREE, tmp_path / "tree.parquet")
    assert (tmp_path / "tree.parquet").read_bytes().startswith(b"PAR1")
    assert read_tree(tmp_path / "tree.parquet") == THREE


def lines_of(tree: XTree) -> list[bytes]:
    return [encode(tree.header), *map(encode, tree.nodes)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: n[1].update(depth=1), "nodes[1].depth: expected 2, one more than the deeper child, got 1"),
        (lambda n: n[1].update(length=4), "nodes[1].length: expected 3, the sum of the children, got 4"),
        (
            lambda n: n[1].update(expansion=["a", "c", "b"]),
            "nodes[1].expansion: expected ['a', 'b', 'c'], the children in order, got ['a', 'c', 'b']",
        ),
        (lambda n: n.reverse(), "nodes[0].children[0]: S2 needs S1, which must stand before it"),
        (lambda n: n[0].update(children=["a", "S0"]), "nodes[0].children[1]: S0 needs S0, which must stand before it"),
        (lambda n: n[2].update(id="S1"), "nodes[2].id: the id 'S1' is used twice"),
        (lambda n: n[0].update(id="S5"), "nodes[1].id: nodes stand in merge order, but S1 follows S5"),
        (lambda n: n.pop(), "n_nodes: the header promises 3 nodes, got 2 (truncated?)"),
        (lambda n: n[2].update(count="7"), 'count: expected an integer, got "7"'),
        (lambda n: n[2].update(children=["a"]), "children: expected `array` of length 2"),
    ],
)
def test_an_inconsistent_tree_is_refused_with_its_place(tmp_path: Path, change: Any, message: str) -> None:
    header, *nodes = map(json.loads, lines_of(THREE))
    change(nodes)
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(map(json.dumps, [header, *nodes])))
    with pytest.raises(BadRecord) as caught:
        read_tree(path)
    assert caught.value.what == message
    assert caught.value.file == str(path)


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\n".join([*lines_of(THREE)[:-1], b'{"id": "S2", "chil']))
    with pytest.raises(BadRecord, match=r"bad\.jsonl:4: not valid JSON"):
        read_tree(path)


@pytest.mark.parametrize("text", ["Thought 1: hm\n", "[1, 2]", '{"nodes": 3}'])
def test_what_is_no_tree_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other"
    path.write_text(text)
    with pytest.raises(BadRecord, match="no tree; expected a header line"):
        read_tree(path)


def test_another_stream_is_told_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text('{"schema":"xskill.trajectory/1","id":"e","actions":[]}\n' * 3)
    told = r"a trajectory \(xskill\.trajectory/1\); expected a tree \(xskill\.tree/1\): make one with `xskill mine`"
    with pytest.raises(BadRecord, match=told):
        read_tree(path)


def test_missing_empty_and_several_files(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(NoInput, match="no such file"):
        read_tree(tmp_path / "none")
    with pytest.raises(NoInput, match="empty; expected a tree"):
        read_tree(tmp_path / "empty")
    with pytest.raises(UsageError, match="expected one tree, got 2 files"):
        read_tree(["a", "b"])


def test_relations() -> None:
    nodes = by_id(THREE)
    assert child_nodes(nodes["S2"], nodes) == [nodes["S1"], nodes["S0"]]
    assert child_nodes(nodes["S0"], nodes) == []
    assert parents(THREE) == {"S0": ["S1", "S2"], "S1": ["S2"], "S2": []}


def test_roots_follow_the_mined_outcome() -> None:
    tiles = [{"id": "S0", "tiles": 3, "tiles_success": 0}, {"id": "S1", "tiles": 2, "tiles_success": 2}]
    merges = [(tiles[0], "a", "b"), (tiles[1], "S0", "c"), ({"id": "S2", "tiles": 0, "tiles_success": 0}, "c", "c")]
    assert [node.id for node in roots(with_fields(merges))] == ["S1"]
    assert [node.id for node in roots(with_fields(merges, outcome="failure"))] == ["S0"]


def test_null_success_means_one_only_in_a_released_mixed_tree() -> None:
    mixed = with_fields([({"id": "S0"}, "a", "b")], corpus=Corpus(successful_only=False))
    assert success_rate(mixed.nodes[0], mixed) == 1.0
    only = with_fields([({"id": "S0"}, "a", "b")], corpus=Corpus(successful_only=True))
    assert success_rate(only.nodes[0], only) is None
    ours = with_fields([({"id": "S0", "frequency": 5}, "a", "b")])
    assert success_rate(ours.nodes[0], ours) is None
