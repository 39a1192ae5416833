"""``xskill tree`` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import command
from tests.tree.test_show import COOL
from tests.tree.trees import grow
from xskill.tree.released import to_released
from xskill.tree.xtree import write_tree


def within(*args: str | Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    clean = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "NO_COLOR", "COLUMNS")}
    return command.within(*args, stdin=stdin, check=None, env={**clean, **env})


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(COOL, tmp_path / "tree.jsonl")
    return tmp_path / "tree.jsonl"


@pytest.fixture
def abc(tmp_path: Path) -> Path:
    write_tree(grow(("S0", "a", "b"), ("S1", "S0", "c")), tmp_path / "abc.jsonl")
    return tmp_path / "abc.jsonl"


def test_show_is_plain_in_a_pipe_and_drawn_when_forced(tree: Path) -> None:
    piped = within("tree", "show", tree)
    assert piped.stdout.startswith(b"# X-Tree \xc2\xb7 kitchen")
    assert piped.returncode == 0
    assert piped.stderr == b""
    assert within("tree", "show", stdin=tree.read_bytes()).stdout == piped.stdout
    assert within("tree", "show", tree, COLUMNS="200").stdout == piped.stdout
    colour = within("tree", "show", tree, FORCE_COLOR="1", COLUMNS="100").stdout
    assert b"\x1b[" in colour
    no_colour = within("tree", "show", tree, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert not any(b"\x1b[3%d" % code in no_colour for code in range(1, 8))
    assert within("tree", "show", tree, "--plain", FORCE_COLOR="1").stdout == piped.stdout


def test_show_writes_the_authors_form_and_reads_it_back(tree: Path, tmp_path: Path) -> None:
    done = within("tree", "show", tree, "--as", "xtree", "-o", tmp_path / "released.json")
    assert done.returncode == 0
    assert json.loads((tmp_path / "released.json").read_bytes()) == to_released(COOL.header, COOL.nodes)
    again = within("tree", "show", tmp_path / "released.json")
    assert again.stdout == within("tree", "show", tree).stdout
    assert within("tree", "show", tree, "--as", "svg").returncode == 2


def test_show_explains_what_is_no_tree(tmp_path: Path) -> None:
    other = tmp_path / "episodes.jsonl"
    other.write_bytes(lines({"schema": "xskill.trajectory/1", "id": "e", "actions": []}))
    done = within("tree", "show", other)
    assert done.returncode == 65
    assert done.stderr.decode() == (
        f"xskill: {other}:1: a trajectory (xskill.trajectory/1); "
        "expected a tree (xskill.tree/1): make one with `xskill mine`\n"
    )
    assert within("tree", "show", tmp_path / "none").returncode == 66


def test_tile_adds_tiles(abc: Path) -> None:
    episode = {"schema": "xskill.trajectory/1", "id": "e", "actions": ["a", "b", "c", "d"], "success": True}
    done = within("tree", "tile", "--tree", abc, stdin=lines(episode))
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        **episode,
        "tiles": [{"node": "S1", "start": 0, "length": 3}, {"token": "d", "start": 3}],
        "coverage": 0.75,
        "tokens_per_action": 0.5,
    }
    assert done.stderr.startswith(b"xskill tree tile: read 1; kept 1;")


def test_tile_says_how_many_branches_stand_without_their_parent(abc: Path) -> None:
    links = {"e": None, "f": "e", "g": "gone", "h": "late", "late": None}
    records = [
        {"id": name, "actions": ["a", "b", "c"], "parent": None if parent is None else {"id": parent, "turn": 1}}
        for name, parent in links.items()
    ]
    done = within("tree", "tile", "--tree", abc, stdin=lines(*records))
    assert b"tile: 1 branches without their parent in the input: the steps that they copied are tiled" in done.stderr
    assert b"without their parent" not in within("tree", "tile", "--tree", abc, stdin=lines(*records[:2])).stderr


def test_tile_refuses_a_branch_that_copied_more_than_it_has(abc: Path, tmp_path: Path) -> None:
    good = {"schema": "xskill.trajectory/1", "id": "good", "actions": ["a"]}
    bad = {**good, "id": "bad", "parent": {"id": "good", "turn": 2}}
    done = within("tree", "tile", "--tree", abc, stdin=lines(bad, good))
    assert done.returncode == 65
    assert b"-:1: parent.turn: expected 0 to 1, the number of actions, got 2" in done.stderr
    rejects = tmp_path / "rejects.jsonl"
    done = within("tree", "tile", "--tree", abc, "--rejects", rejects, stdin=lines(bad, good))
    assert done.returncode == 0
    assert json.loads(done.stdout)["id"] == "good"
    assert json.loads(rejects.read_bytes())["line"] == 1


def test_two_things_cannot_come_from_stdin(abc: Path) -> None:
    done = within("tree", "tile", "--tree", "-", stdin=abc.read_bytes())
    assert done.returncode == 2
    assert b"cannot both come from stdin" in done.stderr


def test_stats_of_tree_and_episodes(abc: Path, tmp_path: Path) -> None:
    episodes = tmp_path / "episodes.jsonl"
    episodes.write_bytes(
        lines(
            {"id": "1", "actions": ["a", "b", "c", "d"], "success": True},
            {"id": "2", "actions": ["a", "b"], "success": False},
            {"id": "3", "actions": ["d", "d"]},
        )
    )
    done = within("tree", "stats", abc, "--episodes", episodes, "--json")
    assert json.loads(done.stdout) == {
        "environment": None,
        "nodes": 2,
        "roots": 1,
        "primitives": None,
        "primitives_in_nodes": 3,
        "compression": None,
        "depths": {"1": 1, "2": 1},
        "lengths": {"2": 1, "3": 1},
        "episodes": {
            "all": {"episodes": 3, "actions": 8, "tiles": 5, "coverage": 5 / 8, "compression": 8 / 5},
            "success": {"episodes": 1, "actions": 4, "tiles": 2, "coverage": 3 / 4, "compression": 2.0},
            "failure": {"episodes": 1, "actions": 2, "tiles": 1, "coverage": 1.0, "compression": 2.0},
            "unknown": {"episodes": 1, "actions": 2, "tiles": 2, "coverage": 0.0, "compression": 1.0},
            "nodes_used": 2,
        },
    }
    table = within("tree", "stats", abc, "--episodes", episodes).stdout.decode()
    assert "all                 3         8         5     62.5%        1.60×" in table


def test_every_help_starts_with_an_example() -> None:
    assert b"Example: xskill mine episodes.jsonl | xskill tree show" in within("tree", "--help").stdout
    for name in ("show", "tile", "stats"):
        assert b"Example: xskill " in within("tree", name, "--help").stdout


def test_parquet_in_and_out_gives_the_same_records(abc: Path, tmp_path: Path) -> None:
    episodes = lines(
        {"id": "1", "question_id": "q", "actions": ["a", "b", "c", "d"], "success": True},
        {"id": "2", "question_id": "q", "actions": ["a", "b"], "success": False, "extra": {"k": 1}},
    )
    tiled = tmp_path / "tiled.parquet"
    assert within("tree", "tile", "--tree", abc, "-o", tiled, stdin=episodes).returncode == 0
    from_parquet = within("tree", "reward", "--tree", abc, tiled).stdout
    from_lines = within("tree", "reward", "--tree", abc, stdin=episodes).stdout
    assert [json.loads(line)["shaped_reward"] for line in from_parquet.splitlines()] == [1.0, 0.0]
    for ours, theirs in zip(from_parquet.splitlines(), from_lines.splitlines(), strict=True):
        assert {k: v for k, v in json.loads(ours).items() if k != "schema"} == json.loads(theirs)


def test_distill_says_it_too() -> None:
    links = {"e": None, "f": "e", "g": "gone"}
    records = [
        {"id": name, "success": True, "actions": ["a"], "steps": [{"action": "a"}], "question_id": "q"}
        | ({} if parent is None else {"parent": {"id": parent, "turn": 1}})
        for name, parent in links.items()
    ]
    said = b"distill: 1 branches without their parent in the input: the steps that they copied count nowhere"
    assert said in within("distill", stdin=lines(*records)).stderr
