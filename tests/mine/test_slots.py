"""Patterns: variables, constants, top values, by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.command import within
from xskill.mine.corpus import encode_episodes
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import MineRules
from xskill.records import Episode, Node


def routine(*args: list[list[str]], tokens: list[str], **fields: object) -> Node:
    """The longest node of a corpus whose episodes all do ``tokens``, with the args given for each."""
    episodes = [
        Episode(id=f"{number:04d}", actions=tokens, args=values, success=True) for number, values in enumerate(args)
    ]
    tree = mine(encode_episodes(episodes), MineRules(min_frequency=2, eta=0.0, **fields))  # type: ignore[arg-type]
    return max(tree.nodes, key=lambda node: node.length)


MEASURE = ["take<instrument>", "focus<instrument>", "measure<substance>"]


def test_the_thermometer_of_real_episodes_is_one_variable(sample_data: Path) -> None:
    """Taken in the kitchen, focused, and used three rooms further on: one variable, its value shown once."""
    episodes = within("canon", "-q", sample_data / "scienceworld.jsonl.gz").stdout
    options = ("--max-length", "40", "--max-skills", "2000", "--min-frequency", "2", "--eta", "0")
    lines = within("mine", "-q", *options, stdin=episodes).stdout.splitlines()[1:]
    wanted = {"take<instrument>", "focus<instrument>", "measure<substance>"}
    patterns = [node["pattern"] for node in map(json.loads, lines) if wanted <= set(node["expansion"])]
    assert patterns
    for pattern in patterns:
        taken = re.search(r"take<instrument>\(\?(\w+)=thermometer\)", pattern)
        assert taken is not None, pattern
        assert f"focus<instrument>(?{taken[1]})" in pattern
        assert re.findall(r"measure<substance>\(\?(\w+)", pattern)[0] == taken[1]
        assert pattern.count("thermometer") == 1
