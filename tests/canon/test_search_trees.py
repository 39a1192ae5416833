"""Search trees become trajectories with ``question_id`` and ``parent``."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.canon.logs import canon, log
from tests.command import within
from xskill.canon.reading.search_leaves import parents

TREES = [
    "i_trees/tot_game24_bfs_first12.json",
    "i_trees/rstar_amc_llama31/Question 0002 - Final Solutions.json",
    "b_scienceworld_webshop/lats_webshop_example.log",
]


def _common(one: list[str], two: list[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), max_size=12))
def test_parents_against_the_plain_definition(paths: list[list[str]]) -> None:
    """The earliest path with the longest common prefix, among those before; none when nothing is shared."""
    for index, (path, found) in enumerate(zip(paths, parents(paths), strict=True)):
        shared = [_common(path, other) for other in paths[:index]]
        longest = max(shared, default=0)
        assert found == ((shared.index(longest), longest) if longest else None)


@pytest.mark.parametrize("path", TREES)
def test_branches_share_their_prefix_with_their_parent(path: str) -> None:
    made = canon(log(path))
    by_id = {record["id"]: record for record in made}
    assert len(by_id) == len(made)
    assert any("parent" in record for record in made)
    for record in made:
        if "parent" in record:
            parent, turn = by_id[record["parent"]["id"]], record["parent"]["turn"]
            own, theirs = ([(s["action"], s.get("observation")) for s in one["steps"]] for one in (record, parent))
            assert own[:turn] == theirs[:turn]
            assert own[turn : turn + 1] != theirs[turn : turn + 1] or len(own) == turn
            assert record["question_id"] == parent["question_id"]


@pytest.mark.parametrize("path", TREES)
def test_rollout_trees_are_built_from_them(path: str) -> None:
    within("rollout", "build", "-q", stdin=within("canon", "-q", log(path)).stdout)


def test_a_candidate_that_was_cut_off_has_no_outcome() -> None:
    made = canon(log("i_trees/tot_game24_bfs_first12.json"))
    for record in made:
        pruned = record.get("extra", {}).get("marks") == ["pruned"]
        assert (record.get("success") is None) is pruned
    kept = canon(log("i_trees/tot_game24_bfs_first12.json"), drop=frozenset({"pruned"}))
    assert len(kept) == 60  # 5 final candidates of each of the 12 problems


def test_values_of_the_search_are_on_the_steps() -> None:
    first = canon(log("i_trees/tot_game24_bfs_first12.json"))[0]
    assert [step["action"] for step in first["steps"]][:2] == ["4 * 5 = 20 (left: 6 10 20)", "10 - 6 = 4 (left: 4 20)"]
    assert [step["q"] for step in first["steps"]] == [3.0, 60.0, 60.0, 60.0]


def test_a_tree_of_nodes_without_ids() -> None:
    """LATS: five equal children are one node; the path is that of the prompt before it."""
    made = canon(log("b_scienceworld_webshop/lats_webshop_example.log"))
    won = [record for record in made if record.get("success")]
    assert [len(record["steps"]) for record in won] == [5, 5]
    assert won[0]["steps"][0]["action"] == "search[long clip-in hair extension natural looking]"
    assert won[0]["steps"][4]["observation"] == "Your score (min 0.0, max 1.0): 1.0"
    assert {record["question_id"] for record in made} == {"lats_webshop_example-1", "lats_webshop_example-2"}


def test_a_truncated_log_is_still_read(tmp_path: Path) -> None:
    whole = gzip.decompress(log("b_scienceworld_webshop/lats_webshop_example.log").read_bytes())
    path = tmp_path / "cut.log"
    path.write_bytes(whole[: len(whole) // 2])
    assert canon(path)
