"""What the subcommands of ``tree`` call, as functions: the same records as the commands write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import within
from tests.tree.trees import grow, with_fields
from xskill.errors import BadData, BadRecord
from xskill.records import Instance, Parent, Step, Trajectory, decode, encode
from xskill.tree.context_cards import Card, cards, type_cards
from xskill.tree.occurrences import InstanceChoices, instances
from xskill.tree.tiles import tile
from xskill.tree.xtree import write_tree

TREE = grow(("S0", "a", "b"), ("S1", "S0", "c"))
EPISODES = [
    Trajectory(
        id=f"e{number}",
        task_type="t",
        success=number != 1,
        actions=actions,
        steps=[Step(action=action) for action in actions],
    )
    for number, actions in enumerate((["a", "b", "c", "d"], ["a", "b"], ["d", "a", "b"]))
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    tree, episodes = tmp_path / "tree.jsonl", tmp_path / "episodes.jsonl"
    write_tree(TREE, tree)
    episodes.write_bytes(b"".join(encode(episode) + b"\n" for episode in EPISODES))
    return tree, episodes


def test_tiles(files: tuple[Path, Path]) -> None:
    tree, episodes = files
    lines = within("tree", "tile", "--tree", tree, episodes).stdout.splitlines()
    assert list(tile(TREE, EPISODES)) == [decode(line, Trajectory) for line in lines]
    with pytest.raises(BadRecord, match="expected 0 to 1"):
        list(tile(TREE, [Trajectory(id="b", actions=["a"], parent=Parent(id="p", turn=2))]))


def test_instances(files: tuple[Path, Path]) -> None:
    tree, episodes = files
    lines = within("tree", "instances", "--tree", tree, "--curriculum", "depth", episodes).stdout.splitlines()
    rows = list(instances(TREE, EPISODES, InstanceChoices(curriculum="depth")))
    assert rows == [decode(line, Instance) for line in lines]
    assert [row.node for row in rows] == ["S0", "S0", "S1"]
    with pytest.raises(BadData, match="teach to fail"):
        instances(grow(("S0", "a", "b"), outcome="failure"), EPISODES)


def test_cards(files: tuple[Path, Path]) -> None:
    tree, episodes = files
    lines = within("tree", "context", "--tree", tree, episodes).stdout.splitlines()
    assert list(cards(TREE, EPISODES)) == [decode(line, Card) for line in lines]
    typed = with_fields([({"id": "S0", "task_types": ["t"], "task_type_episodes": [2], "episodes": 2}, "a", "b")])
    assert [row.id for row in type_cards(typed, ["u"], by_type=True)] == ["u", "t"]
    with pytest.raises(BadData, match="tells no task types"):
        list(type_cards(TREE, by_type=True))
