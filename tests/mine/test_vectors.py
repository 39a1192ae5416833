"""The worked numbers of the specification, field by field, with their tilings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.mine.plain import mine as mine_plainly
from tests.mine.tiling import tilings
from xskill.mine.corpus import encode_episodes
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import MineRules
from xskill.records import Episode

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors" / "mine.json").read_text())


def rules_of(config: dict[str, Any]) -> MineRules:
    names = {"p_l": "p_length", "p_s": "p_success"}
    return MineRules(**{names.get(name, name): value for name, value in config.items()})


def episodes_of(case: dict[str, Any]) -> list[Episode]:
    return [msgspec.convert({"schema": "xskill.trajectory/1", **row}, Episode) for row in case["episodes"]]


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_fast_miner(case: dict[str, Any]) -> None:
    corpus = encode_episodes(episodes_of(case))
    tree = mine(corpus, rules_of(case["config"]))
    nodes = [msgspec.to_builtins(node) for node in tree.nodes]
    assert [node["id"] for node in nodes] == [node["id"] for node in case["nodes"]]
    for node, expected in zip(nodes, case["nodes"], strict=True):
        found = {name: node.get(name) for name in expected} | {"children": list(node["children"])}
        assert _close(found, expected)
    by_id = dict(zip(corpus.ids, tilings(corpus, tree), strict=True))
    assert [by_id[row["id"]] for row in case["episodes"]] == case["tilings"]


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_plain_miner(case: dict[str, Any]) -> None:
    nodes, sequences = mine_plainly(episodes_of(case), rules_of(case["config"]))
    assert len(nodes) == len(case["nodes"])
    for node, expected in zip(nodes, case["nodes"], strict=True):
        assert _close({name: node[name] for name in expected} | {"children": list(node["children"])}, expected)
    assert sequences == case["tilings"]


def _close(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Equal, floats to the six digits that the vectors hold."""
    for name, value in expected.items():
        other = found[name]
        if isinstance(value, float) and isinstance(other, (int, float)):
            assert other == pytest.approx(value, abs=1e-6), name
        else:
            assert other == value, name
    return True
