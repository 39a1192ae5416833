"""Shuffled outcomes and resampled episodes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mine.corpora import random_episodes
from tests.mine.test_invariance import bytes_of
from xskill.engines import Local
from xskill.mine.association import exchangeable, stratify
from xskill.mine.corpus import encode_episodes
from xskill.mine.from_corpus import Questions
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.resampling import adjust, permute
from xskill.mine.rules import MineRules
from xskill.records import Episode, Node

RULES = MineRules(min_frequency=2, eta=0.0)


@given(st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.integers(0, 3)), min_size=1, max_size=40), st.integers(0, 99))
def test_outcomes_stay_in_their_block(rows: list[tuple[int, int]], seed: int) -> None:
    outcome = np.array([row[0] for row in rows], np.int8)
    within = np.array([row[1] for row in rows], np.int32)
    permuted = permute(outcome, within, np.random.default_rng(seed))
    np.testing.assert_array_equal(permuted == -1, outcome == -1)
    for block in range(4):
        np.testing.assert_array_equal(np.sort(permuted[within == block]), np.sort(outcome[within == block]))


def test_every_arrangement_is_as_likely() -> None:
    """One success among three: each place gets it in a third of 3,000 shuffles (binomial 99.9% band)."""
    outcome, within = np.array([1, 0, 0], np.int8), np.zeros(3, np.int32)
    places = [int(permute(outcome, within, np.random.default_rng([1, n])).argmax()) for n in range(3000)]
    assert all(abs(places.count(place) - 1000) < 86 for place in range(3))


def test_blocks_are_the_questions_that_have_several_episodes() -> None:
    def episode(number: int, question: str | None, env: str, success: bool | None = True) -> Episode:
        return Episode(id=str(number), question_id=question, env=env, actions=["a"], success=success)

    corpus = encode_episodes(
        [
            episode(0, "q", "e"),
            episode(1, "q", "e", False),
            episode(2, "single", "e"),
            episode(3, None, "e"),
            episode(4, None, "f"),
            episode(5, "half", "f"),
            episode(6, "half", "f", None),
        ]
    )
    block = exchangeable(corpus, stratify(corpus, "env")[0]).tolist()
    assert block[0] == block[1]
    assert block[2] == block[3] != block[0]
    assert block[4] == block[5] != block[3]


def test_adjusted_p_by_hand() -> None:
    """Minima .01 .02 .2 .5: p = .02 is reached by two of the four runs, so (1 + 2) / (1 + 4)."""

    def node(p: float | None) -> Node:
        return Node(id="S0", children=("a", "b"), depth=1, length=2, expansion=["a", "b"], count=2, p_value=p)

    adjusted = adjust([node(0.02), node(0.001), node(None)], np.array([0.2, 0.01, 0.5, 0.02]))
    assert [each.p_adjusted for each in adjusted] == [0.6, 0.2, None]


def planted(n: int) -> list[Episode]:
    """`k l m` makes success likely; noise does not."""
    rng = random.Random(5)
    episodes = []
    for number in range(n):
        holds = rng.random() < 0.5
        noise = [rng.choice("abcd") for _ in range(8)]
        cut = rng.randint(0, 8)
        actions = noise[:cut] + (["k", "l", "m"] if holds else []) + noise[cut:]
        episodes.append(Episode(id=str(number), actions=actions, success=rng.random() < (0.8 if holds else 0.3)))
    return episodes


def test_a_real_effect_survives_adjustment_and_noise_does_not() -> None:
    tree = mine(encode_episodes(planted(150)), MineRules(), Questions(permutations=99, seed=1))
    found = {" ".join(node.expansion): node.p_adjusted for node in tree.nodes}
    assert found["k l m"] == 0.01
    noise = [p for expansion, p in found.items() if p is not None and not set(expansion) & set("klm ")]
    assert all(p > 0.01 for p in noise)
    assert tree.header.config["association"] == "permutation"
    assert tree.header.config["permutations"] == 99


def test_stability_of_a_routine_that_all_share() -> None:
    tree = mine(encode_episodes(planted(150)), MineRules(max_skills=8), Questions(bootstrap=20, seed=1))
    found = {" ".join(node.expansion): node.stability for node in tree.nodes}
    assert found["k l m"] == 1.0
    assert all(share is not None and 0 <= share <= 1 for share in found.values())
    assert min(share for share in found.values() if share is not None) < 1


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_processes_and_order_change_nothing(outcome: str) -> None:
    episodes = [*random_episodes(random.Random(3)), Episode(id="w", actions=[], success=True)]
    rules = MineRules(min_frequency=2, eta=0.0, max_skills=20, outcome=outcome)  # type: ignore[arg-type]
    one = mine(encode_episodes(episodes), rules, Questions(permutations=5, bootstrap=5, seed=9))
    two = mine(encode_episodes(episodes[::-1]), rules, Questions(permutations=5, bootstrap=5, seed=9, engine=Local(2)))
    assert bytes_of(one) == bytes_of(two)
    other = mine(encode_episodes(episodes), rules, Questions(permutations=5, bootstrap=5, seed=10))
    assert bytes_of(other) != bytes_of(one)
