"""Branches whose parent is not in the stream: what they copied counts, and once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import within
from tests.mine.plain import own_actions
from tests.mine.test_invariance import assert_equal, write
from xskill.mine.branches import Branches
from xskill.mine.corpus import CodedCorpus, encode_episodes
from xskill.records import Episode, Parent
from xskill.streams.run import Run


def letters(name: str, actions: str, parent: str | None = None, turn: int = 0, question: str | None = "q") -> Episode:
    link = None if parent is None else Parent(id=parent, turn=turn)
    return Episode(id=name, question_id=question, actions=list(actions), success=True, parent=link)


def encoded(episodes: list[Episode], growing: bool = False) -> CodedCorpus:
    with Run("mine", quiet=True) as run:
        return encode_episodes(episodes, branches=Branches(run, growing=growing))


def counted(corpus: CodedCorpus) -> dict[str, str]:
    steps = [corpus.tokens[token] for token in corpus.step_tokens().tolist()]
    starts = corpus.starts.tolist()
    return {name: "".join(steps[starts[n] : starts[n + 1]]) for n, name in enumerate(corpus.ids)}


@pytest.mark.parametrize("backwards", [False, True])
def test_orphans_count_what_they_copied_once(backwards: bool) -> None:
    """b has the longer copy of the lost x; a leaves it after abc, c after ab; d copied from a, which is there."""
    episodes = [
        letters("a", "abc1", "x", 3),
        letters("b", "abcde2", "x", 5),
        letters("c", "ab3", "x", 2),
        letters("d", "abc14", "a", 4),
        letters("e", "abc", question="q"),
        letters("f", "ab5", "x", 2, question="other"),
        letters("g", "ab6", "y", 2, question=None),
        letters("h", "ab7", "z", 2, question=None),
        letters("i", "ab8", "a", 2, question=None),
    ]
    corpus = encoded(episodes[::-1] if backwards else episodes)
    whole = {"b": "abcde2", "e": "abc", "f": "ab5", "g": "ab6", "h": "ab7"}
    assert counted(corpus) == whole | {"a": "1", "c": "3", "d": "4", "i": "8"}


def test_the_first_of_equal_orphans_counts_whole_and_repeated_ones_do_not_count() -> None:
    episodes = [letters("b", "ab2", "x", 2), letters("a", "ab1", "x", 2)]
    corpus = encoded([*episodes, *episodes])
    assert counted(corpus) == {"a": "ab1", "b": "2"}
    assert corpus.n_duplicates == 2


def grown(rng: random.Random) -> list[Episode]:
    """Rollout trees of two questions: branches of branches, each with copies of the turns before its fork."""
    episodes: list[Episode] = []
    for question in ("q", "r"):
        mine: list[Episode] = []
        for number in range(rng.randint(1, 9)):
            above = rng.choice([None, *mine])
            turn = 0 if above is None else rng.randint(0, len(above.actions))
            prefix = [] if above is None else above.actions[:turn]
            own = rng.choices("abc", k=rng.randint(0, 4))
            mine.append(
                letters(f"{number}", "".join([*prefix, *own]), None if above is None else above.id, turn, question)
            )
        episodes += mine
    return episodes


@given(st.randoms(use_true_random=False))
def test_steps_are_those_of_the_prefix_trie_in_any_order(rng: random.Random) -> None:
    episodes = [episode for episode in grown(rng) if rng.random() < 0.6] or [letters("0", "")]
    here = {(episode.question_id, episode.id) for episode in episodes}
    copied = set()
    for episode in episodes:
        if episode.parent is not None and (episode.question_id, episode.parent.id) not in here:
            n = episode.parent.turn
            copied |= {(episode.question_id, *episode.actions[: i + 1]) for i in range(n)}
    corpus = encoded(episodes)
    assert len(corpus.steps) == sum(len(own_actions(episode)) for episode in episodes) + len(copied)
    assert_equal(encoded(rng.sample(episodes, len(episodes))), corpus)


@given(st.randoms(use_true_random=False))
def test_nothing_changes_while_all_parents_are_there(rng: random.Random) -> None:
    episodes = grown(rng)
    rng.shuffle(episodes)
    assert_equal(encoded(episodes), encode_episodes(episodes))


def test_a_branch_of_an_old_episode_counts_its_own_steps_in_a_tree_that_grows() -> None:
    assert counted(encoded([letters("a", "abc1", "x", 3)], growing=True)) == {"a": "1"}


def test_the_run_says_how_many_branches_stand_without_their_parent(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    write(path, [letters("a", "abc1", "x", 3), letters("b", "abc2", "x", 3), letters("c", "ab3", "a", 2)])
    done = within("mine", path)
    assert b"mine: 2 branches without their parent in the input: they count whole" in done.stderr
    assert b"6 steps became" in done.stderr
