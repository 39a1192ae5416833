"""The stage as a function: the same tree as the command's, and the same refusals."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.command import within
from tests.mine.corpora import random_episodes
from xskill.errors import UsageError
from xskill.mine.mining import mine
from xskill.mine.tuning import Trial
from xskill.records import Episode, encode
from xskill.tree.xtree import XTree, read_tree


@pytest.fixture
def episodes() -> list[Episode]:
    return [
        *random_episodes(random.Random(3)),
        *(Episode(id=f"x{n}", actions=["a", "b", "c"], success=n > 2) for n in range(9)),
    ]


def lines_of(tree: XTree) -> list[bytes]:
    return [encode(tree.header), *map(encode, tree.nodes)]


def written(folder: Path, episodes: list[Episode]) -> Path:
    path = folder / "episodes.jsonl"
    path.write_bytes(b"".join(encode(episode) + b"\n" for episode in episodes))
    return path


def test_the_function_mines_what_the_command_mines(tmp_path: Path, episodes: list[Episode]) -> None:
    path = written(tmp_path, episodes)
    options = ["--min-frequency", 2, "--eta", 0.1, "--stratify", "length", "--permutations", 3, "--seed", 4]
    within("mine", path, *options, "-o", tmp_path / "tree.jsonl")
    tree = mine(iter(episodes), min_frequency=2, eta=0.1, stratify="length", permutations=3, seed=4)
    assert lines_of(tree) == (tmp_path / "tree.jsonl").read_bytes().splitlines()
    assert len(tree.nodes) > 0


def test_auto_and_resume_are_options_of_the_function_too(tmp_path: Path, episodes: list[Episode]) -> None:
    path = written(tmp_path, episodes)
    tried: list[Trial] = []
    tree = mine(episodes, auto=True, on_trials=tried.extend, min_frequency=2, resumable=True)
    within(
        "mine", path, "--auto", "--sweep", tmp_path / "sweep", "--min-frequency", 2, "--resumable", "-o", tmp_path / "t"
    )
    assert lines_of(tree) == (tmp_path / "t").read_bytes().splitlines()
    assert len(tried) == len((tmp_path / "sweep").read_bytes().splitlines())
    more = [Episode(id=f"y{n}", actions=["a", "b"] * 2, success=True) for n in range(5)]
    within("mine", written(tmp_path, more), "--resume", tmp_path / "t", "-o", tmp_path / "grown")
    assert lines_of(mine(more, resume=read_tree(tmp_path / "t"))) == (tmp_path / "grown").read_bytes().splitlines()


def test_a_tree_that_grows_cannot_be_tested() -> None:
    tree = mine([Episode(id="a", actions=["a", "b"], success=True)], resumable=True)
    with pytest.raises(UsageError, match="--resume has no old episodes"):
        mine([], resume=tree, permutations=3)
    with pytest.raises(UsageError, match="--eta"):
        mine([], eta=-1.0)
