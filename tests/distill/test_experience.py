"""Coding of episodes, replay of merges, loops and no-op turns: each against a plain version."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.distill.corpora import cleaning, episode
from xskill.bank.splits import HeldOut
from xskill.distill.experience import read_experience
from xskill.distill.loops import loops, unanswered
from xskill.distill.node_places import multiplicity, share_inside
from xskill.distill.node_places import node_places as replay
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import MineRules
from xskill.records import Parent, Step, Trajectory
from xskill.tree.replay import derivation, encode, tiler


def letters(name, text, success=True, **more):
    return Trajectory(id=name, actions=list(text), success=success, **more)


CORPUS = st.lists(st.tuples(st.text("abc", max_size=12), st.booleans()), min_size=2, max_size=8)


@given(CORPUS)
@settings(deadline=None, max_examples=60)
def test_replay_finds_every_node_of_every_derivation(corpus):
    records = [letters(f"e{n}", text, won) for n, (text, won) in enumerate(corpus)]
    records.append(letters("z", "abab", True))
    experience = read_experience(records)
    tree = mine(experience.corpus, MineRules(min_frequency=2, eta=0.0))
    found = replay(tree, experience.corpus)
    expected = {node.id: [] for node in tree.nodes}
    ready = tiler(tree)
    for index, first in enumerate(experience.corpus.starts[:-1].tolist()):
        last = int(experience.corpus.starts[index + 1])
        tokens = [experience.corpus.tokens[t] for t in experience.corpus.step_tokens()[first:last]]
        for symbol, position in encode(ready, tokens):
            if len(ready.codes) <= symbol < ready.width - 1:
                for rank, start in derivation(ready, symbol - len(ready.codes), position):
                    expected[tree.nodes[rank].id].append(first + start)
    assert {name: positions.tolist() for name, positions in found.items()} == {
        name: sorted(positions) for name, positions in expected.items()
    }
    assert [len(found[node.id]) for node in tree.nodes] == [node.count for node in tree.nodes]


def test_replay_on_the_released_trees_counts_nothing_it_does_not_know():
    experience = read_experience([letters("a", "xyz")])
    tree = mine(
        read_experience([letters("b", "abab"), letters("c", "abab")]).corpus, MineRules(min_frequency=2, eta=0.0)
    )
    assert all(len(positions) == 0 for positions in replay(tree, experience.corpus).values())


def test_multiplicity_and_share_inside():
    experience = read_experience([letters(f"e{n}", "abab") for n in range(4)])
    tree = mine(experience.corpus, MineRules(min_frequency=2, eta=0.0))
    found, inside = replay(tree, experience.corpus), multiplicity(tree)
    assert [node.expansion for node in tree.nodes] == [["a", "b"], ["a", "b", "a", "b"]]
    assert inside["S1"] == {"S0": 2}
    assert share_inside("S0", "S1", found, inside) == 1.0


def test_order_of_reading_does_not_matter():
    records = [*cleaning(8), letters("x", "abc"), letters("x", "abd")]
    first = read_experience(records)
    random.Random(3).shuffle(records)
    second = read_experience(records)
    # the two with one id are told apart by the order in which they came, and by nothing else
    assert first.corpus.n_episodes == second.corpus.n_episodes == 18
    assert [first.raw_actions[c] for c in first.raw if c >= 0] == [second.raw_actions[c] for c in second.raw if c >= 0]
    assert first.questions == second.questions
    assert first.characters == second.characters


def test_equal_records_count_once_and_branches_only_their_own_part():
    same = letters("a", "abc")
    branch = letters("b", "abd", parent=Parent(id="a", turn=2))
    experience = read_experience([same, same, branch])
    assert experience.corpus.lengths.tolist() == [3, 1]


def test_held_out_episodes_are_refused_unless_named():
    record = letters("a", "ab", split="test")
    with pytest.raises(HeldOut, match="'a' is marked test"):
        read_experience([record])
    assert read_experience([record], ["test"]).splits == ("test",)


def plain_loops(codes):
    """(start, length, period) of the stretches, each with its shortest period, as the definition says."""
    covered, found = [False] * len(codes), []
    for period in range(1, 5):
        rounds = 3 if period == 1 else 2
        start = 0
        while start + period < len(codes):
            end = start
            while end + period < len(codes) and codes[end] == codes[end + period]:
                end += 1
            if end > start:
                length = end - start + period
                stretch = range(start, start + length)
                if length >= rounds * period and not all(covered[i] for i in stretch):
                    found.append((start, length, period))
                    for i in stretch:
                        covered[i] = True
            start = max(end, start) + 1
    return sorted(found)


@given(st.lists(st.text("abc", max_size=14), min_size=1, max_size=3))
@settings(deadline=None, max_examples=150)
def test_loops_are_those_of_the_definition(texts):
    experience = read_experience([letters(f"e{n}", text) for n, text in enumerate(texts)])
    found = loops(experience)
    got = list(zip(found.starts.tolist(), found.lengths.tolist(), found.periods.tolist(), strict=True))
    expected, offset = [], 0
    for text in texts:
        expected += [(start + offset, length, period) for start, length, period in plain_loops(text)]
        offset += len(text)
    assert got == expected


def test_loops_by_hand():
    experience = read_experience([letters("a", "xaaay"), letters("b", "ababx"), letters("c", "aab")])
    found = loops(experience)
    assert list(zip(found.starts.tolist(), found.lengths.tolist(), found.periods.tolist(), strict=True)) == [
        (1, 3, 1),
        (5, 4, 2),
    ]


def test_other_arguments_are_no_loop():
    text = "go: shelf 1; go: shelf 2; go: shelf 3; go: shelf 4"
    assert len(loops(read_experience([episode("a", text, False)])).starts) == 0


def test_a_turn_is_unanswered_only_when_action_and_answer_repeat():
    actions = ["look", "look", "look", "wait", "wait", "look", "look"]
    answers = ["nothing", "nothing", "a cat", "same", "same", None, None]
    record = Trajectory(
        id="a",
        actions=actions,
        steps=[Step(action=a, observation=o) for a, o in zip(actions, answers, strict=True)],
    )
    experience = read_experience([record, letters("b", "look")])
    assert np.flatnonzero(experience.unanswered).tolist() == [1, 4]
    found = unanswered(experience)
    assert (found.starts.tolist(), found.lengths.tolist()) == ([0, 3], [2, 2])
