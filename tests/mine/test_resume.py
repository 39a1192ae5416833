"""Growing a tree by new episodes: stable ids, joint counts, lineage, and how far it is from the union's tree."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.command import within
from tests.mine.corpora import random_episodes, random_rules
from tests.mine.plain import merge as merge_plainly
from tests.mine.plain import own_actions
from tests.mine.test_invariance import bytes_of, command, write
from tests.mine.test_resampling import planted
from xskill.errors import BadData, NoSuccess, UsageError
from xskill.mine.corpus import encode_episodes
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.resume import encode_for, grow, rules_of, tree_hash
from xskill.mine.rules import MineRules
from xskill.records import Episode, Node, TreeHeader
from xskill.tree.xtree import XTree, check_tree

RULES = MineRules(min_frequency=2, eta=0.0)


def renamed(episodes: list[Episode]) -> list[Episode]:
    return [msgspec.structs.replace(episode, id=f"new-{episode.id}") for episode in episodes]


def mined(episodes: list[Episode], rules: MineRules) -> XTree:
    return mine(encode_episodes(episodes), rules, resumable=True)


def grown(tree: XTree, episodes: list[Episode]) -> XTree:
    return grow(tree, encode_for(tree, episodes), rules_of(tree, {}))


def replayed(tree: XTree, episodes: list[Episode]) -> list[tuple[int, list[Episode]]]:
    """For each node: its replacements in the counted episodes, and all episodes that hold it."""
    sequences = [own_actions(episode) for episode in episodes]
    rows = []
    for node in tree.nodes:
        count, holders = 0, []
        for index, episode in enumerate(episodes):
            sequences[index], n = merge_plainly(sequences[index], node.children, node.id)
            if n:
                holders.append(episode)
            if not tree.header.corpus.successful_only or episode.success:
                count += n
        rows.append((count, holders))
    return rows


@pytest.mark.parametrize("block", range(5))
def test_counts_are_those_of_old_and_new(block: int) -> None:
    """60 random pairs of corpora: the tree's own nodes count what a replay over the union finds."""
    for seed in range(12 * block, 12 * block + 12):
        rng = random.Random(seed)
        episodes, rules = random_episodes(rng), replace(random_rules(rng), min_success_rate=0.0)
        old, new = episodes[::2], renamed(episodes[1::2])
        try:
            tree = mined(old, rules)
        except NoSuccess:
            continue
        after = grown(tree, new)
        check_tree(after.header, after.nodes)
        before = tree.nodes
        assert [(n.id, n.children) for n in after.nodes[: len(before)]] == [(n.id, n.children) for n in before]
        expected = replayed(XTree(tree.header, tuple(before)), old + new)
        for node, (count, holders) in zip(after.nodes, expected, strict=False):
            known = [episode for episode in holders if episode.success is not None]
            assert node.count == count
            assert node.episodes == len(holders)
            assert node.episodes_known == len(known)
            assert node.episodes_success == sum(episode.success is True for episode in known)
        assert after.header.corpus.n_trajectories == len(episodes)
        assert after.header.stats["steps"] == sum(len(own_actions(episode)) for episode in episodes)


def test_nothing_new_changes_nothing() -> None:
    """An episode without steps and outcome leaves every number of every node as it was."""
    tree = mined(planted(100), MineRules())
    after = grown(tree, [Episode(id="idle", actions=[])])
    assert len(after.nodes) == len(tree.nodes)
    for before, now in zip(tree.nodes, after.nodes, strict=True):
        assert now == before
    assert after.header.stats["symbols"] == tree.header.stats["symbols"]


def test_a_pair_that_was_too_rare_merges_by_its_joint_count() -> None:
    """`x y` occurs 4 times before (5 are needed) and 3 times now: one node of frequency 7."""
    common = [Episode(id=f"c{n}", actions=["a", "b"], success=n % 2 == 0) for n in range(8)]
    rare = [Episode(id=f"r{n}", actions=["x", "y"], success=n != 0, task_type="t") for n in range(7)]
    tree = mined([*common, *rare[:4]], MineRules())
    assert [node.children for node in tree.nodes] == [("a", "b")]
    after = grown(tree, rare[4:])
    assert [node.children for node in after.nodes] == [("a", "b"), ("x", "y")]
    node = after.nodes[1]
    assert (node.frequency, node.count, node.episodes, node.episodes_success) == (7, 7, 7, 6)
    assert node.success == 6 / 7
    assert node.score == pytest.approx(7 * 2 * 6 / 7)
    assert (node.tiles, node.tiles_success) == (7, 6)
    assert after.header.stats["symbols"] == 15


def test_lineage_names_every_ancestor() -> None:
    episodes = planted(150)
    first = mined(episodes[:50], RULES)
    second = grown(first, episodes[50:100])
    third = grown(second, episodes[100:])
    assert third.header.stats["lineage"] == [
        {"tree": tree_hash(first), "episodes": 50, "nodes": len(first.nodes)},
        {"tree": tree_hash(second), "episodes": 100, "nodes": len(second.nodes)},
    ]
    assert third.header.corpus.n_trajectories == 150


def test_order_of_new_episodes_does_not_matter() -> None:
    episodes = planted(120)
    tree = mined(episodes[:60], RULES)
    assert bytes_of(grown(tree, episodes[60:])) == bytes_of(grown(tree, episodes[:59:-1]))


def test_a_tree_of_other_make_is_refused() -> None:
    node = Node(id="S0", children=("a", "b"), depth=1, length=2, expansion=["a", "b"], count=5)
    tree = XTree(TreeHeader(n_nodes=1), (node,))
    with pytest.raises(BadData, match="does not remember its episodes"):
        grown(tree, [Episode(id="0", actions=["a", "b"])])


def test_outcome_and_part_of_the_tree_are_fixed() -> None:
    tree = mined(planted(60), RULES)
    assert rules_of(tree, {"eta": 1.5, "min_frequency": None}) == replace(RULES, eta=1.5)
    with pytest.raises(UsageError, match="the tree's"):
        rules_of(tree, {"outcome": "failure"})


def test_command_and_the_distance_to_the_union(tmp_path: Path) -> None:
    """What is reported by `tree diff` against mining the union at once."""
    episodes = planted(400)
    write(tmp_path / "old.jsonl", episodes[:200])
    write(tmp_path / "new.jsonl", episodes[200:])
    for args in (
        ("old.jsonl", "--resumable", "-o", "old.tree"),
        ("--resume", "old.tree", "new.jsonl", "-o", "grown.tree"),
        ("old.jsonl", "new.jsonl", "-o", "union.tree"),
    ):
        done = command(*args, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    diff = within("tree", "diff", "union.tree", "grown.tree", "--json", cwd=tmp_path)
    report = msgspec.json.decode(diff.stdout)
    union = mined(episodes, MineRules())
    resumed = {tuple(node.expansion) for node in grown(mined(episodes[:200], MineRules()), episodes[200:]).nodes}
    shared = sum(tuple(node.expansion) in resumed for node in union.nodes)
    assert len(report["gone"]) == len(union.nodes) - shared
    assert 0.6 < shared / len(union.nodes) < 1.0


@pytest.mark.parametrize(
    "option", [("--permutations", "5"), ("--auto",), ("--stratify", "env"), ("--preset", "webshop")]
)
def test_options_that_need_the_old_episodes(tmp_path: Path, option: tuple[str, ...]) -> None:
    write(tmp_path / "e.jsonl", planted(40))
    assert command("e.jsonl", "--resumable", "-o", "t", cwd=tmp_path).returncode == 0
    done = command("--resume", "t", "e.jsonl", *option, cwd=tmp_path)
    assert done.returncode == 2
    assert b"mine the old and the new ones at once" in done.stderr


def test_a_tree_remembers_only_when_asked(tmp_path: Path) -> None:
    episodes = planted(60)
    write(tmp_path / "e.jsonl", episodes)
    assert mine(encode_episodes(episodes), RULES).header.extra == {}
    assert command("e.jsonl", "-o", "t", cwd=tmp_path).returncode == 0
    done = command("--resume", "t", "e.jsonl", cwd=tmp_path)
    assert done.returncode == 65
    assert b"mine it with --resumable" in done.stderr


def test_counts_by_task_type_and_steps_by_outcome_add_up(tmp_path: Path) -> None:
    episodes = planted(120)
    tree = mined(episodes[:60], RULES)
    whole = grown(tree, renamed(episodes[60:]))
    for part, expected in ((tree, episodes[:60]), (whole, episodes)):
        own = {outcome: sum(len(e.actions) for e in expected if e.success is outcome) for outcome in (True, False)}
        assert part.header.stats["steps_success"] == own[True]
        assert part.header.stats["steps_failure"] == own[False]
        for node in part.nodes:
            assert node.task_type_episodes is not None
            assert node.task_types is not None
            assert len(node.task_type_episodes) == len(node.task_types)
            assert sum(node.task_type_episodes) <= (node.episodes or 0)
