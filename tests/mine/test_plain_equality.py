"""The fast miner equals the plain recount, field by field, and in the tilings."""

from __future__ import annotations

import random

import msgspec
import pytest

from tests.mine.corpora import random_episodes, random_rules
from tests.mine.plain import mine as mine_plainly
from tests.mine.tiling import tilings
from xskill.errors import NoSuccess
from xskill.mine.corpus import encode_episodes
from xskill.mine.from_corpus import mine_corpus as mine


@pytest.mark.parametrize("block", range(20))
def test_equal_on_random_corpora(block: int) -> None:
    """20 x 30 corpora."""
    for seed in range(30 * block, 30 * block + 30):
        rng = random.Random(seed)
        episodes, rules = random_episodes(rng), random_rules(rng)
        corpus = encode_episodes(episodes)
        try:
            tree = mine(corpus, rules)
        except NoSuccess:
            continue
        expected, sequences = mine_plainly(episodes, rules)
        found = []
        for node, plain in zip(tree.nodes, expected, strict=True):
            values = msgspec.structs.asdict(node)
            found.append({name: values[name] for name in plain})
        assert found == expected, seed
        by_id = dict(zip(corpus.ids, tilings(corpus, tree), strict=True))
        assert [by_id[episode.id] for episode in episodes] == sequences, seed


def test_the_corpora_cover_every_case() -> None:
    """Guard against a generator that never reaches the hard cases."""
    merges = nested = runs = 0
    for seed in range(150):
        rng = random.Random(seed)
        episodes, rules = random_episodes(rng), random_rules(rng)
        try:
            tree = mine(encode_episodes(episodes), rules)
        except NoSuccess:
            continue
        merges += len(tree.nodes)
        nested += sum(node.depth > 2 for node in tree.nodes)
        runs += sum(node.children[0] == node.children[1] for node in tree.nodes)
    assert merges > 750
    assert nested > 125
    assert runs > 50
