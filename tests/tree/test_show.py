"""What ``tree show`` says: the right numbers, in the right order, at any width, whatever the file holds."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from tests.tree.trees import with_fields
from xskill.errors import UsageError
from xskill.records import Corpus, Slot
from xskill.tree.diff import compare, render
from xskill.tree.measures import describe
from xskill.tree.measures import render as render_stats
from xskill.tree.routine import fold, links
from xskill.tree.show_forms import report
from xskill.tree.summary import Wanted, summarise
from xskill.tree.xtree import XTree, read_tree


def counted(name: str, **fields: Any) -> dict[str, Any]:
    """Statistics of a node over 10 episodes of which ``k`` of ``n`` that hold it succeed."""
    n, k = fields.pop("n"), fields.pop("k")
    return {"id": name, "episodes": n, "episodes_known": n, "episodes_success": k, "frequency": n, **fields}


COOL = with_fields(
    [
        (
            counted("S0", n=8, k=5, lift=0.78125, tiles=3, tiles_success=2, task_types=["cool", "heat"], q_value=0.2),
            "open<door>",
            "open<door>",
        ),
        (
            counted("S1", n=5, k=5, lift=1.25, tiles=0, tiles_success=0, task_types=["cool"], q_value=0.01),
            "take<object>",
            "navigate<fridge>",
        ),
        (
            counted("S2", n=4, k=4, lift=1.25, tiles=4, tiles_success=4, task_types=["cool"], q_value=0.04),
            "S1",
            "cool<object>",
        ),
        (
            counted("S3", n=1, k=0, lift=0.0, tiles=1, tiles_success=0, task_types=["heat"], q_value=1.0),
            "S0",
            "S0",
        ),
    ],
    environment="kitchen",
    corpus=Corpus(name="toy", n_trajectories=10),
    stats={"steps": 60, "symbols": 30, "steps_success": 48, "base_rate": 0.8},
)
"""Covered steps of successes: S2 4 x 3 = 12 of 48, S0 2 x 2 = 4 of 48; S1 and S3 are no tile of a success."""


def plain(tree: XTree, **wanted: Any) -> str:
    text = report(tree, Wanted(**wanted), None, None)
    assert text is not None
    return text


def drawn(tree: XTree, width: int, **wanted: Any) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, markup=False, emoji=False, highlight=False)
    assert report(tree, Wanted(**wanted), None, console) is None or wanted.get("node")
    return out.getvalue()


def test_plain_lines() -> None:
    # Wilson by hand: 4 of 4 gives 4 / (4 + 1.95996^2) = 0.51; 5 of 5 0.566; 5 of 8 [0.306, 0.863]
    assert plain(COOL).split("\n") == [
        "# X-Tree · kitchen · toy",
        "# 10 episodes · 80% succeed · 4 nodes, 2 used as routines · 2.0× shorter",
        "id  covers  n  success    interval   lift  task-type  routine",
        "S2   25.0%  4     100%  [51%,100%]  1.25×  cool       take<object> → navigate<fridge> → cool<object>",
        "S1    0.0%  5     100%  [57%,100%]  1.25×  cool         take<object> → navigate<fridge>",
        "S0    8.3%  8      62%   [31%,86%]  0.78×  –          open<door> ×2",
    ]


def test_drawn_at_eighty_columns() -> None:
    # the axis runs from 30% to 100% in 16 half cells: 51% is 4.8, 62.5% 7.4, 80% 11.4, 86.3% 12.9, 100% the last
    assert [line.rstrip() for line in drawn(COOL, 80).split("\n")] == [
        "X-Tree · kitchen · toy",
        "10 episodes · 80% succeed · 4 nodes, 2 used as routines · 2.0× shorter",
        "",
        "     routine                                 covers episodes 30% 100% rate  lift",
        "",
        "cool",
        "S2   take<object> → navigate<fridge>          25.0%        4 ··━━━┿━● 100% 1.25×",
        "│    → cool<object>",
        "└ S1 take<object> → navigate<fridge>           0.0%        5 ···━━┿━● 100% 1.25×",
        "",
        "several task types",
        "S0   open<door> ×2                             8.3%        8 ━━━●━┿╸·  62% 0.78×",
        "",
        "● success of its episodes, ━ 95% interval, │ all episodes (80%)",
        "",
    ]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_wider_than_the_terminal(shared: Path, width: int) -> None:
    for name in ("scienceworld", "webshop", "miniwob", "webarena"):
        text = drawn(read_tree(shared / "xtree" / f"{name}.json"), width, top=0, depth=3, wide=True)
        assert max(cell_len(line) for line in text.split("\n")) <= width


def test_released_trees_show_count_and_success(shared: Path) -> None:
    first = plain(read_tree(shared / "xtree" / "webshop.json"), depth=0, top=1).split("\n")
    # S1: 741 x 3 tokens is the largest product; 420 of 741 succeed; Wilson [0.531, 0.602]
    assert first[2].split() == ["id", "n", "success", "interval", "routine"]
    assert first[3].split()[:4] == ["S1", "741", "57%", "[53%,60%]"]
    only = plain(read_tree(shared / "xtree" / "scienceworld.json"), depth=0, top=1).split("\n")
    assert only[1] == "# 1,673 episodes · mined from successes only · 80 nodes, 34 used as routines"
    assert only[2].split() == ["id", "n", "routine"]


def test_sorting_and_selection() -> None:
    def ids(**options: Any) -> list[str]:
        groups = summarise(COOL, Wanted(**options)).groups
        return [row.node.id for group in groups for row in group.routines]

    assert ids() == ["S2", "S0"]
    assert ids(sort="episodes") == ids(sort="id") == ["S0", "S2"]
    assert ids(sort="success") == ids(sort="lift") == ids(sort="length") == ["S2", "S0"]
    assert ids(top=1) == ["S2"]
    assert ids(max_p=0.05) == ["S2"]
    with pytest.raises(UsageError, match="--sort best: expected one of covered"):
        ids(sort="best")
    with pytest.raises(UsageError, match="this tree has no p-values"):
        summarise(with_fields([({"id": "S0"}, "a", "b")]), Wanted(max_p=0.1))


def test_groups_stand_in_the_order_of_their_best_routine() -> None:
    rows = [
        ({"id": "S0", "tiles": 9, "tiles_success": 9, "task_types": ["b"]}, "x", "y"),
        ({"id": "S1", "tiles": 5, "tiles_success": 5, "task_types": ["a"]}, "x", "x"),
        ({"id": "S2", "tiles": 1, "tiles_success": 1, "task_types": ["b"]}, "y", "y"),
        ({"id": "S3", "tiles": 2, "tiles_success": 2, "task_types": ["a", "b"]}, "y", "x"),
    ]
    groups = summarise(with_fields(rows), Wanted()).groups
    assert [(group.task_type, [row.node.id for row in group.routines]) for group in groups] == [
        ("b", ["S0", "S2"]),
        ("a", ["S1"]),
        (None, ["S3"]),
    ]


def test_node_card() -> None:
    slots = [
        Slot(step=0, index=0, variable="a", values=[("apple", 3), ("egg", 1)]),
        Slot(step=1, index=0, constant="fridge 1"),
        Slot(step=2, index=0, variable="a"),
    ]
    tree = with_fields(
        [
            (counted("S0", n=5, k=5), "take<object>", "navigate<fridge>"),
            (counted("S1", n=4, k=3, slots=slots, example=["take<object>(apple)"]), "S0", "cool<object>"),
            (counted("S2", n=2, k=2), "S1", "put<surface>"),
        ],
        stats={"base_rate": 0.5},
    )
    text = plain(tree, node="S1")
    assert "  1  take<object>(?a)   ?a: apple 3, egg 1" in text
    assert "  2  navigate<fridge>(fridge 1)\n  3  cool<object>(?a)\n" in text
    assert "success of its episodes 75% [30%, 95%], of all episodes 50%" in text
    assert "made of\n  S0  take<object> → navigate<fridge>\n" in text
    assert "part of\n  S2  take<object> → navigate<fridge> → cool<object> → put<surface>\n" in text
    assert "example\n  take<object>(apple)" in text
    with pytest.raises(UsageError, match="--node S9: no such node in the tree; it has S0 to S2"):
        plain(tree, node="S9")


def test_json_report() -> None:
    value = json.loads(report(COOL, Wanted(), "json", None) or "")
    assert (value["episodes"], value["base_rate"], value["n_roots"], value["compression"]) == (10, 0.8, 2, 2.0)
    best = value["groups"][0]["routines"][0]
    assert (best["id"], best["covered"], best["success"], best["n"]) == ("S2", 0.25, 1.0, 4)
    assert best["parts"][0]["id"] == "S1"
    assert best["node"]["tiles_success"] == 4


HOSTILE = "\x1b]0;pwn\x07[red]x[/red]\u202e[/]\n\r\x9b2J<b>"


def hostile() -> XTree:
    fields = counted(HOSTILE, n=4, k=3, task_types=[HOSTILE], tiles=1, tiles_success=1, example=[HOSTILE])
    fields["slots"] = [Slot(step=0, index=0, variable=HOSTILE, values=[(HOSTILE, 1)])]
    return with_fields(
        [(fields, HOSTILE + "x", "b"), (counted("S1", n=1, k=1, tiles=1, tiles_success=1), HOSTILE, "c")],
        environment=HOSTILE,
        corpus=Corpus(name=HOSTILE),
        stats={"base_rate": "x", "steps": [1], "symbols": -3},
    )


@pytest.mark.parametrize("width", [None, 80])
@pytest.mark.parametrize("node", [None, HOSTILE])
def test_hostile_text_reaches_no_terminal_and_no_markup(width: int | None, node: str | None) -> None:
    tree = hostile()
    text = plain(tree, node=node, wide=True) if width is None else drawn(tree, width, node=node, wide=True)
    assert not set(text) & set("\x1b\x07\x9b\r\u202e")
    assert "[red]" in text.replace("\n", "")


@pytest.mark.parametrize("form", ["dot", "mermaid", "markdown", "diff", "stats"])
def test_hostile_text_reaches_no_document(form: str) -> None:
    tree, empty = hostile(), with_fields([])
    if form == "diff":
        text = render(compare(empty, tree), empty, tree, None, 0)
    else:
        text = render_stats(describe(tree)) if form == "stats" else report(tree, Wanted(), form, None)
    assert text is not None
    assert "pwn" in text
    assert not set(text) & set("\x1b\x07\x9b\r\u202e")


def test_a_very_deep_tree_is_shown() -> None:
    merges = [({"id": "S0"}, "a", "b")] + [({"id": f"S{i}"}, f"S{i - 1}", "b") for i in range(1, 1200)]
    tree = with_fields(merges)
    assert plain(tree, depth=5000).count("\n") == 103
    assert "S1199" in plain(tree, node="S1199")


def test_an_empty_tree() -> None:
    tree = with_fields([], environment="none")
    assert plain(tree) == "# X-Tree · none\n# 0 nodes, 0 used as routines"
    assert "0 nodes" in drawn(tree, 80)


def test_folding() -> None:
    assert links(["a", "a", "b", "a"]) == ["a ×2", "b", "a"]
    assert fold(["aaaa", "bb", "cccc"], 9) == ["aaaa → bb", "→ cccc"]
    assert fold(["a" * 30], 10) == ["a" * 9 + "…"]
    assert fold(["日本語", "b"], 6) == ["日本語", "→ b"]


def test_compare_shows_failures_beside_successes() -> None:
    stats = {**COOL.header.stats, "episodes_known": 10, "episodes_success": 8}
    tree = with_fields(
        [
            (counted("S0", n=8, k=6, tiles=9, tiles_success=6), "a", "b"),
            (counted("S1", n=3, k=1, tiles=3, tiles_success=1), "b", "b"),
        ],
        stats=stats,
    )
    # S0: 6 of 8 successes, 2 of 2 failures; S1: 1 of 8 and 2 of 2, the larger contrast
    rows = plain(tree, compare="outcome").split("\n")[2:]
    assert [line.split()[0] for line in rows] == ["id", "S1", "S0"]
    assert rows[1].split()[-5:-2] == ["12.5%", "100.0%", "-87.5"]
    assert rows[2].split()[-6:-3] == ["75.0%", "100.0%", "-25.0"]
    text = drawn(tree, 80, compare="outcome")
    assert "share of the 8 successes and of the 2 failures that hold it" in text
    with pytest.raises(UsageError, match="does not tell how many episodes"):
        summarise(COOL, Wanted(compare="outcome"))
    with pytest.raises(UsageError, match="--compare env: expected outcome"):
        summarise(tree, Wanted(compare="env"))


def test_examples_and_parents_stand_below_their_routine() -> None:
    tree = with_fields(
        [({"id": "S0", "example": ["a(1)", "b(2)"]}, "a", "b"), ({"id": "S1"}, "S0", "c"), ({"id": "S2"}, "S0", "d")]
    )
    text = plain(tree, example=True, parents=True, depth=1)
    assert text.count("#   e.g. a(1) · b(2)\n#   part of S1 · S2") == 2
    assert "part of S1 · S2" in drawn(tree, 80, parents=True)


def test_dot_mermaid_and_markdown() -> None:
    tree = with_fields(
        [({"id": "S0", "count": 7}, 'a"\\', "b|#"), ({"id": "S1", "count": 5}, "S0", "<c>`")], environment="*x*"
    )
    assert report(tree, Wanted(), "dot", None) == (
        'digraph xtree {\n  rankdir="LR";\n  node [shape="box", fontname="monospace"];\n'
        '  n0 [label="S1\\la\\"\\\\ → b|# → <c>`\\l5 ×, success 100%\\l"];\n'
        '  n1 [label="S0\\la\\"\\\\ → b|#\\l7 ×, success 100%\\l"];\n  n0 -> n1;\n}'
    )
    assert report(tree, Wanted(depth=0), "mermaid", None) == (
        'flowchart LR\n  n0["S1<br/>a&quot;\\ → b|&num; → &lt;c&gt;&#96;<br/>5 ×, success 100%"]'
    )
    text = report(tree, Wanted(depth=0), "markdown", None) or ""
    assert text.startswith("**X-Tree · \\*x\\***\n")
    assert '| S1 | a"\\\\ → b\\|\\# → &lt;c&gt;\\` | – | 5 | 100% | \\[57%, 100%\\] | – |' in text
