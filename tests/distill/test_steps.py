"""What the placeholders of a skill's steps stood for."""

from __future__ import annotations

from tests.distill.corpora import episode
from xskill.distill.experience import read_experience
from xskill.distill.node_places import node_places as replay
from xskill.distill.step_text import LONGEST_VALUE, seen_values
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import MineRules


def test_values_are_those_of_successes_the_most_frequent_first():
    things = ["cup 1", "mug 2", "mug 1", "pan 1", "pan 1", "pan 2", "bad\x1b 1", "x" * (LONGEST_VALUE + 1)]
    records = [
        episode(f"e{n}", f"look; go: sink 1; clean: {thing}, sink 1", n < 3 or n > 5) for n, thing in enumerate(things)
    ]
    experience = read_experience(records)
    tree = mine(experience.corpus, MineRules(min_frequency=2))
    node, found = tree.nodes[-1], replay(tree, experience.corpus)
    assert node.expansion[-1] == "clean<object>"
    assert seen_values(node, found[node.id], experience)["object"] == ["mug", "cup"]
