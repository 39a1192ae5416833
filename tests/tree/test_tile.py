"""Tiling is the replay of the merges: published tilings, worked numbers, and the plain definition."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.trees import grow, plain_tiling
from xskill.errors import BadRecord
from xskill.records import Parent, Tile, Trajectory
from xskill.tree import many_episodes
from xskill.tree.replay import derivation, encode, tiler
from xskill.tree.replay_arrays import GAP, cells_of, replay
from xskill.tree.tiles import tiled
from xskill.tree.tiles import tiling as tile
from xskill.tree.xtree import XTree, read_tree

FILES = {"ScienceWorld": "scienceworld", "WebShop": "webshop", "MiniWoB++": "miniwob", "WebArena": "webarena"}


def pieces(tiles: list[Tile]) -> list[str | None]:
    return [piece.token if piece.node is None else piece.node for piece in tiles]


def test_all_published_tilings(shared: Path) -> None:
    tilers = {env: tiler(read_tree(shared / "xtree" / f"{name}.json")) for env, name in FILES.items()}
    cases = json.loads((shared / "xtree" / "tilings.json").read_bytes())
    assert len(cases) == 27
    for case in cases:
        assert pieces(tile(tilers[case["env"]], case["tokens"])) == case["tiling"], case["task"]


def test_worked_tilings(vectors: Path) -> None:
    vector = json.loads((vectors / "tile.json").read_bytes())
    fast = tiler(grow(*((node["id"], *node["children"]) for node in vector["nodes"])))
    for case in vector["cases"]:
        assert pieces(tile(fast, case["actions"])) == case["tiles"]


def test_tilings_of_the_mining_vectors(vectors: Path) -> None:
    for case in json.loads((vectors / "mine.json").read_bytes()):
        fast = tiler(grow(*((node["id"], *node["children"]) for node in case["nodes"])))
        for episode, expected in zip(case["episodes"], case["tilings"], strict=True):
            start = 0
            if (parent := episode.get("parent")) is not None:
                start = parent.get("step", parent["turn"])
            assert pieces(tile(fast, episode["actions"], start)) == expected, case["name"]


@st.composite
def trees(draw: st.DrawFn) -> XTree:
    symbols = ["a", "b", "c"]
    merges = []
    for rank in range(draw(st.integers(0, 12))):
        pair = draw(st.sampled_from(symbols)), draw(st.sampled_from(symbols))
        if pair not in [merge[1:] for merge in merges]:
            merges.append((f"S{rank}", *pair))
            symbols.append(f"S{rank}")
    return grow(*merges)


@given(trees(), st.lists(st.sampled_from("abcd"), max_size=60))
def test_the_heap_equals_the_replay(tree: XTree, actions: list[str]) -> None:
    fast = tiler(tree)
    found = tile(fast, actions)
    assert pieces(found) == plain_tiling(tree, actions)
    assert sum(piece.length for piece in found) == len(actions)
    nodes = {node.id: node for node in tree.nodes}
    for piece in found:
        covered = actions[piece.start : piece.start + piece.length]
        assert covered == ([piece.token] if piece.node is None else nodes[piece.node].expansion)


@given(trees())
def test_a_derivation_holds_every_merge_inside(tree: XTree) -> None:
    fast = tiler(tree)
    for rank, node in enumerate(tree.nodes):
        inside = list(derivation(fast, rank, 10))
        assert inside[0] == (rank, 10)
        assert len(inside) == node.length - 1  # a binary tree with L leaves has L - 1 inner nodes
        for inner, start in inside:
            part = tree.nodes[inner].expansion
            assert node.expansion[start - 10 : start - 10 + len(part)] == part


def test_an_action_called_like_a_node_is_no_node() -> None:
    fast = tiler(grow(("S0", "a", "b"), ("S1", "S0", "c")))
    assert tile(fast, ["S0", "c"]) == [Tile(token="S0", start=0), Tile(token="c", start=1)]


def test_tiled_trajectory() -> None:
    fast = tiler(grow(("S0", "a", "b"), ("S1", "S0", "c")))
    record = tiled(Trajectory(id="e", actions=["d", "a", "b", "c", "a"]), fast)
    assert record.tiles == [Tile(token="d", start=0), Tile(node="S1", start=1, length=3), Tile(token="a", start=4)]
    assert record.coverage == 3 / 5
    assert record.tokens_per_action == 3 / 5


def test_a_branch_tiles_what_it_generated() -> None:
    fast = tiler(grow(("S0", "a", "b"), ("S1", "S0", "c")))
    actions = ["a", "b", "c", "a", "b"]
    branch = tiled(Trajectory(id="e", actions=actions, parent=Parent(id="p", turn=1)), fast)
    assert branch.tiles == [Tile(token="b", start=1), Tile(token="c", start=2), Tile(node="S0", start=3, length=2)]
    assert branch.coverage == 2 / 4
    by_step = tiled(Trajectory(id="e", actions=actions, parent=Parent(id="p", turn=1, step=3)), fast)
    assert by_step.tiles == [Tile(node="S0", start=3, length=2)]
    nothing = tiled(Trajectory(id="e", actions=actions, parent=Parent(id="p", turn=5)), fast)
    assert (nothing.tiles, nothing.coverage, nothing.tokens_per_action) == ([], None, None)
    with pytest.raises(BadRecord, match="expected 0 to 5, the number of actions, got 6"):
        tiled(Trajectory(id="e", actions=actions, parent=Parent(id="p", turn=6)), fast)


def test_long_episodes_take_no_quadratic_time() -> None:
    fast = tiler(grow(("S0", "a", "a"), ("S1", "S0", "S0"), ("S2", "S1", "b")))
    started = time.process_time()
    found = tile(fast, ["a", "a", "a", "a", "b"] * 20_000)
    assert pieces(found) == ["S2"] * 20_000
    assert time.process_time() - started < 5  # quadratic: minutes


@given(trees(), st.lists(st.lists(st.sampled_from("abcd")), max_size=6))
def test_the_arrays_replay_every_merge_of_every_derivation(tree: XTree, episodes: list[list[str]]) -> None:
    fast = tiler(tree)
    line = np.array([symbol for actions in episodes for symbol in [*map(fast.codes.get, actions), GAP]], float)
    line = np.nan_to_num(line, nan=fast.width - 1).astype(np.int32)
    replayed = replay(line, fast.pairs, cells_of(line, fast.n_primitives))
    plain: list[list[int]] = [[] for _ in tree.nodes]
    first = 0
    for actions in episodes:
        for symbol, position in encode(fast, actions):
            if fast.n_primitives <= symbol < fast.width - 1:
                for rank, start in derivation(fast, symbol - fast.n_primitives, first + position):
                    plain[rank].append(start)
        first += len(actions) + 1
    assert [starts.tolist() for starts in replayed.starts] == [sorted(starts) for starts in plain]
    for (left, right), adjacent, starts in zip(fast.pairs, replayed.adjacent, replayed.starts, strict=True):
        assert set(starts.tolist()) <= set(adjacent.tolist())
        assert left == right or len(starts) == len(adjacent)


@given(trees(), st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "S0", 'é"'])), max_size=6), st.booleans())
def test_many_at_once_equal_one_by_one(tree: XTree, episodes: list[list[str]], wide: bool) -> None:
    """Runs of one token, unknown tokens, empty episodes; also as a tree with too many symbols for 16 bits."""
    fast = tiler(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_episodes, "NARROW", 0 if wide else many_episodes.NARROW)
        found = many_episodes.encode_all(fast, episodes)
    texts = many_episodes.as_json(fast, found)
    for actions, start, stop in zip(episodes, found.start[:-1], found.start[1:], strict=True):
        assert b"[%b]" % b",".join(texts[start:stop]) == msgspec.json.encode(tile(fast, actions))
        nodes = [
            (symbol, position)
            for symbol, position in encode(fast, actions)
            if fast.n_primitives <= symbol < fast.width - 1
        ]
        symbol, position = found.symbol[start:stop], found.position[start:stop]
        is_node = (symbol >= fast.n_primitives) & (symbol < fast.width)
        assert list(zip(symbol[is_node].tolist(), position[is_node].tolist(), strict=True)) == nodes
