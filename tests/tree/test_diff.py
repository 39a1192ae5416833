"""``tree diff``: nodes matched by expansion, and what each tree covers."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tree.test_tree_commands import lines, within
from tests.tree.trees import with_fields
from xskill.records import Episode
from xskill.tree.diff import as_json, compare, coverage, render
from xskill.tree.xtree import write_tree

OLD = with_fields(
    [
        ({"id": "S0", "count": 9, "frequency": 9, "success": 0.5, "q_value": 0.2}, "a", "b"),
        ({"id": "S1", "count": 4, "frequency": 4, "success": 1.0}, "S0", "c"),
        ({"id": "S2", "count": 3, "frequency": 3}, "c", "c"),
    ]
)
NEW = with_fields(
    [
        ({"id": "S0", "count": 3, "frequency": 3}, "c", "c"),
        ({"id": "S1", "count": 8, "frequency": 8, "success": 0.75, "q_value": 0.01}, "a", "b"),
        ({"id": "S2", "count": 2, "frequency": 2}, "b", "d"),
    ]
)


def test_nodes_are_matched_by_expansion() -> None:
    found = compare(OLD, NEW)
    assert [node.expansion for node in found.added] == [["b", "d"]]
    assert [node.expansion for node in found.removed] == [["a", "b", "c"]]
    assert [(c.old.id, c.new.id, c.fields) for c in found.changed] == [
        ("S0", "S1", {"count": (9, 8), "success": (0.5, 0.75), "q": (0.2, 0.01)})
    ]
    assert (found.same, found.any) == (1, True)
    assert not compare(OLD, OLD).any


def test_one_expansion_twice_in_a_tree() -> None:
    twice = with_fields(
        [({"id": "S0"}, "a", "b"), ({"id": "S1"}, "b", "c"), ({"id": "S2"}, "S0", "c"), ({"id": "S3"}, "a", "S1")]
    )
    assert compare(twice, twice).same == 3


def test_coverage() -> None:
    episodes = [Episode(id="1", actions=["a", "b", "c"]), Episode(id="2", actions=["c", "c", "d"])]
    assert coverage((OLD, NEW), episodes) == {
        "episodes": 2,
        "actions": 6,
        "coverage": [5 / 6, 4 / 6],
        "tiles": [3, 4],
    }


def test_report() -> None:
    text = render(compare(OLD, NEW), OLD, NEW, None, 20)
    assert text.split("\n") == [
        "nodes 3 → 3: 1 new, 1 gone, 1 changed, 1 same",
        "",
        "+ S2  count 2  b → d",
        "",
        "- S1  count 4, success 100%  a → b → c",
        "",
        "~ S0→S1  count 9 → 8, success 50% → 75%, q 0.200 → 0.010  a → b",
    ]
    value = as_json(compare(OLD, NEW), OLD, NEW, None)
    assert value["changed"] == [
        {"id": ["S0", "S1"], "routine": ["a", "b"], "count": [9, 8], "success": [0.5, 0.75], "q": [0.2, 0.01]}
    ]


def test_command(tmp_path: Path) -> None:
    old, new, episodes = tmp_path / "old", tmp_path / "new", tmp_path / "episodes"
    write_tree(OLD, old)
    write_tree(NEW, new)
    episodes.write_bytes(lines({"id": "1", "actions": ["a", "b", "c"]}))
    done = within("tree", "diff", old, new, "--episodes", episodes)
    assert done.returncode == 0
    assert b"coverage of 1 episodes 100.0% \xe2\x86\x92 66.7%, tiles 1 \xe2\x86\x92 2" in done.stdout
    assert within("tree", "diff", old, new, "--exit-code").returncode == 1
    assert within("tree", "diff", old, old, "--exit-code").returncode == 0
    assert json.loads(within("tree", "diff", old, "-", "--json", stdin=new.read_bytes()).stdout)["nodes"] == [3, 3]
    assert within("tree", "diff", "-", "-", stdin=new.read_bytes()).returncode == 2
