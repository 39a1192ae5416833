"""The explorer's file: self-contained, within its size, and with no log text where a browser would obey it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.tree.pages import HOSTILE, hostile, large
from tests.tree.test_show import COOL
from tests.tree.test_tree_commands import within
from xskill.records import Parent, Step, Trajectory, encode
from xskill.tree.explorer.page import MOST_BYTES, page
from xskill.tree.explorer.shown_episodes import chosen, shown_part
from xskill.tree.xtree import read_tree, write_tree


def data_of(text: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert match is not None
    value: dict[str, Any] = json.loads(match.group(1))
    return value


def test_the_policy_allows_nothing_but_the_files_own_script_and_style() -> None:
    text = page(COOL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    script, style = re.search(r"<script>(.*?)</script>", text, re.S), re.search(r"<style>(.*?)</style>", text, re.S)
    assert policy is not None
    assert script is not None
    assert style is not None
    hashes = [base64.b64encode(hashlib.sha256(part.group(1).encode()).digest()).decode() for part in (script, style)]
    assert policy.group(1) == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r'(?:src|href|action)\s*=|url\(|@import|\son\w+="|style="|https?://(?!www\.w3\.org)', text)


def test_hostile_text_is_data() -> None:
    tree, episodes = hostile()
    text = page(tree, episodes)
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert "<!--" not in text
    assert "\u202e" not in text
    value = data_of(text)
    assert any(HOSTILE.split("\u2028")[0] in entry for entry in value["texts"])
    assert len(value["episodes"]) == 2


def test_contents() -> None:
    steps = [Step(action=f"act {i}", observation=None if i else "seen") for i in range(4)]
    actions = ["take<object>", "navigate<fridge>", "cool<object>", "odd<thing>"]
    value = data_of(page(COOL, [Trajectory(id="e", actions=actions, steps=steps, success=True)]))
    rows = [dict(zip(value["fields"], row, strict=True)) for row in value["nodes"]]
    assert [(row["id"], row["left"], row["right"]) for row in rows] == [
        ("S0", -1, -1),
        ("S1", -2, -3),
        ("S2", 1, -4),
        ("S3", 0, 0),
    ]
    assert (rows[2]["share"], rows[2]["rate"], rows[2]["lift"], rows[2]["q"]) == (0.25, 1.0, 1.25, 0.04)
    assert [row["root"] for row in rows] == [1, 0, 1, 0]
    episode = value["episodes"][0]
    assert episode["tiles"] == [2, -5]
    assert value["tokens"][4] == "odd<thing>"
    assert [value["texts"][i] for i in episode["raw"]] == ["act 0", "act 1", "act 2", "act 3"]
    assert episode["seen"][1:] == [-1, -1, -1]
    assert (value["base"], episode["shown"], episode["hidden"]) == (0.8, 4, 0)


def test_same_input_same_bytes_and_size_within_bounds() -> None:
    tree, episodes = large()
    text = page(tree, episodes)
    assert len(text.encode()) < 3_000_000
    assert page(*large(40, 5)) == page(*large(40, 5))
    value = data_of(text)
    assert (len(value["nodes"]), len(value["episodes"])) == (2000, 500)
    huge = [Trajectory(id="e", actions=["a"] * 20_000, steps=[Step(action="x" * 900, observation="y" * 900)] * 20_000)]
    cut = data_of(page(COOL, huge))
    assert len(json.dumps(cut)) < MOST_BYTES
    assert cut["episodes"][0]["hidden"] == 20_000 - cut["episodes"][0]["shown"]


def test_what_is_shown_of_an_episode() -> None:
    record = Trajectory(
        id="e", actions=["a", "b", "c", "d"], args=[[], ["x"], ["y", "z"], []], parent=Parent(id="p", turn=1)
    )
    part = shown_part(record, 2)
    assert (part.actions, part.raw, part.hidden) == (["b", "c"], ["b(x)", "c(y, z)"], 1)


def test_failures_get_up_to_half_of_the_places() -> None:
    records = [Trajectory(id=str(i), actions=[], success=i % 10 != 0) for i in range(100)]  # 10 failures
    assert [sum(r.success is False for r in chosen(records, most)) for most in (10, 20, 50, 100)] == [5, 10, 10, 10]
    assert len(chosen(records, 50)) == 50
    assert chosen(records, 200) == records
    assert [r.id for r in chosen(records, 4)] == ["0", "1", "50", "51"]


@pytest.mark.parametrize("name", ["scienceworld", "webshop", "miniwob", "webarena"])
def test_released_trees(shared: Path, name: str) -> None:
    tree = read_tree(shared / "xtree" / f"{name}.json")
    value = data_of(page(tree))
    assert len(value["nodes"]) == len(tree.nodes)
    assert value["tiled"] is False


def test_command(tmp_path: Path) -> None:
    write_tree(COOL, tmp_path / "tree.jsonl")
    episodes = b"".join(
        encode(Trajectory(id=str(i), actions=["a"], success=bool(i % 2), steps=[Step(action="a")])) + b"\n"
        for i in range(9)
    )
    (tmp_path / "episodes.jsonl").write_bytes(episodes)
    args = ("tree", "explore", tmp_path / "tree.jsonl", "--episodes", tmp_path / "episodes.jsonl")
    done = within(*args, "--max-episodes", "4", "-o", tmp_path / "page.html")
    assert done.returncode == 0
    assert b"the page shows 4 of 9 episodes" in done.stderr
    assert len(data_of((tmp_path / "page.html").read_text())["episodes"]) == 4
    assert within("tree", "explore", stdin=(tmp_path / "tree.jsonl").read_bytes()).stdout.startswith(b"<!doctype html>")
