"""The tree depends on the set of episodes: not on order, container, or where a branch stands."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.command import within, xskill
from tests.mine.corpora import random_episodes
from xskill.mine.corpus import CodedCorpus, encode_episodes
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import MineRules
from xskill.records import Episode, Trajectory, encode
from xskill.streams.read import read_records
from xskill.streams.run import Run
from xskill.streams.write import open_output
from xskill.tree.xtree import XTree


def bytes_of(tree: XTree) -> bytes:
    return b"\n".join([encode(tree.header), *(encode(node) for node in tree.nodes)])


def as_trajectory(episode: Episode) -> Trajectory:
    fields = ("id", "question_id", "task_type", "env", "success", "actions", "args", "parent")
    return Trajectory(**{name: getattr(episode, name) for name in fields})


def write(path: Path, episodes: list[Episode]) -> None:
    with open_output(str(path), kind=Trajectory) as out:
        for episode in episodes:
            out.write(as_trajectory(episode))


TOKENS = st.sampled_from(["a", "b", "c"])
EPISODES = st.lists(
    st.tuples(
        st.one_of(
            st.lists(TOKENS, max_size=12),
            st.integers(0, 40).map(lambda n: ["a"] * n),
            st.integers(0, 9).map(lambda n: ["a", "b"] * n),
        ),
        st.sampled_from([True, False, None]),
        st.sampled_from([None, "t", "u"]),
    ),
    min_size=1,
    max_size=15,
)
RULES = MineRules(min_frequency=2, eta=0.0)


def corpus_of(rows: list[tuple[list[str], bool | None, str | None]]) -> list[Episode]:
    episodes = [
        Episode(id=str(number), actions=actions, success=success, task_type=kind)
        for number, (actions, success, kind) in enumerate(rows)
    ]
    return [*episodes, Episode(id="won", actions=["a"], success=True)]


@given(EPISODES, st.randoms(use_true_random=False))
@pytest.mark.parametrize("self_pairs", ["overlapping", "disjoint"])
def test_order_of_episodes_does_not_matter(
    self_pairs: str, rows: list[tuple[list[str], bool | None, str | None]], rng: random.Random
) -> None:
    episodes = corpus_of(rows)
    shuffled = rng.sample(episodes, len(episodes))
    rules = replace(RULES, self_pairs=self_pairs)  # type: ignore[arg-type]
    assert bytes_of(mine(encode_episodes(shuffled), rules)) == bytes_of(mine(encode_episodes(episodes), rules))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_container_does_not_matter(tmp_path: Path, seed: int) -> None:
    episodes = random_episodes(random.Random(seed), max_episodes=10)
    corpora = []
    for ending in ("jsonl", "jsonl.gz", "jsonl.zst", "parquet"):
        path = tmp_path / f"episodes.{ending}"
        write(path, episodes)
        with Run("mine", quiet=True) as run:
            corpora.append(encode_episodes(read_records([str(path)], Episode, run)))
    for other in corpora[1:]:
        assert_equal(other, corpora[0])


def assert_equal(one: CodedCorpus, other: CodedCorpus) -> None:
    for name in ("tokens", "actions", "ids", "n_duplicates"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("token_of", "steps", "starts", "outcome"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("question", "task_type", "env"):
        assert getattr(one, name).names == getattr(other, name).names
        np.testing.assert_array_equal(getattr(one, name).codes, getattr(other, name).codes)


def test_repeated_records_count_once() -> None:
    episodes = random_episodes(random.Random(7))
    twice = encode_episodes([*episodes, *episodes])
    assert twice.n_duplicates == len(episodes)
    once = encode_episodes(episodes)
    assert bytes_of(mine(twice, RULES)) == bytes_of(mine(once, RULES))


def test_one_id_with_two_contents_is_two_episodes() -> None:
    pair = [Episode(id="x", actions=["a", "b"], success=True), Episode(id="x", actions=["b", "c"], success=True)]
    forward, backward = encode_episodes(pair), encode_episodes(pair[::-1])
    assert forward.n_episodes == 2
    assert_equal(forward, backward)


def test_long_episodes_of_one_symbol() -> None:
    """100,000 equal steps: merges double, 2, 4, 8; what is left over stays single."""
    tree = mine(encode_episodes([Episode(id="0", actions=["a"] * 100_001, success=True)]), MineRules(max_length=64))
    assert [node.length for node in tree.nodes[:6]] == [2, 4, 8, 16, 32, 64]
    assert [node.count for node in tree.nodes[:6]] == [50_000, 25_000, 12_500, 6_250, 3_125, 1_562]
    assert [node.frequency for node in tree.nodes[:2]] == [100_000, 49_999]


def test_disjoint_runs_in_long_episodes() -> None:
    actions = (["a"] * 1001 + ["b"]) * 50
    rules = MineRules(self_pairs="disjoint", max_length=4)
    tree = mine(encode_episodes([Episode(id="0", actions=actions, success=True)]), rules)
    assert [(node.children, node.frequency) for node in tree.nodes[:2]] == [
        (("a", "a"), 25_000),
        (("S0", "S0"), 12_500),
    ]


def test_fifty_thousand_distinct_actions() -> None:
    tokens = [f"v{number}" for number in range(50_000)]
    episodes = [Episode(id=str(n), actions=tokens[:-2] + [f"v{49_998 + n % 2}"], success=True) for n in range(6)]
    tree = mine(encode_episodes(episodes), MineRules(max_skills=20))
    assert tree.header.n_primitives == 50_000
    assert tree.header.n_nodes == 20
    assert {node.frequency for node in tree.nodes} == {6}
    # 49,997 pairs tie: the smallest expansion merges first, and then grows as the longer pair
    assert tree.nodes[0].children == ("v0", "v1")
    assert tree.nodes[1].children == ("S0", "v2")


def test_empty_and_one_step_episodes() -> None:
    episodes = [Episode(id=str(n), actions=["a"] * (n % 2), success=n == 1) for n in range(10)]
    tree = mine(encode_episodes(episodes), RULES)
    assert tree.nodes == ()
    assert tree.header.stats["steps"] == 5
    nothing = mine(encode_episodes([Episode(id="0", actions=[])]), RULES)
    assert nothing.nodes == ()


def command(*args: str, cwd: Path, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    run = xskill if "-j" in args else within  # whose workers are forked
    return run("mine", *args, cwd=cwd, stdin=data, check=None)


@pytest.fixture
def episodes() -> list[Episode]:
    return list(random_episodes(random.Random(11), max_episodes=60))


def test_command_gives_the_same_bytes_for_every_input(tmp_path: Path, episodes: list[Episode]) -> None:
    for ending in ("jsonl", "jsonl.gz", "jsonl.zst", "parquet"):
        write(tmp_path / f"e.{ending}", episodes)
    write(tmp_path / "first.jsonl", episodes[1::2][::-1])
    write(tmp_path / "second.jsonl.gz", episodes[::2])
    options = ("--min-frequency", "2", "--eta", "0")
    expected = command("e.jsonl", *options, cwd=tmp_path)
    assert expected.returncode == 0, expected.stderr
    assert expected.stdout.count(b"\n") > 5
    for files in (["e.jsonl.gz"], ["e.jsonl.zst"], ["e.parquet"], ["first.jsonl", "second.jsonl.gz"]):
        assert command(*files, *options, cwd=tmp_path).stdout == expected.stdout
    piped = command("-", *options, cwd=tmp_path, data=(tmp_path / "e.jsonl").read_bytes())
    assert piped.stdout == expected.stdout


def test_two_environments_warn_and_stratify(tmp_path: Path, episodes: list[Episode]) -> None:
    mixed = [
        Episode(id=f"{env}{n}", env=env, actions=["a", "b", *("c" * (n % 3))], success=n % ease != 0)
        for env, ease in (("hard", 2), ("easy", 9))
        for n in range(40)
    ]
    write(tmp_path / "e.jsonl", mixed)
    done = command("e.jsonl", cwd=tmp_path)
    assert b"2 environments in one stream (easy, hard): association is tested within each env" in done.stderr
    assert b'"stratify":"env"' in done.stdout
    off = command("e.jsonl", "--stratify", "none", cwd=tmp_path)
    assert b"association is not stratified" in off.stderr


@pytest.mark.parametrize(
    ("options", "success", "code", "said"),
    [
        ([], False, 65, b"--outcome failure mines"),
        (["--outcome", "failure"], True, 65, b"succeeded"),
        (["--successes-only"], None, 65, b"none of the 3 episodes is a success"),
        (["--successes-only", "--outcome", "failure"], True, 2, b"contradicts"),
        (["--preset", "atari"], True, 2, b"choose one of webarena, scienceworld, webshop, miniwob"),
        (["--eta", "-1"], True, 2, b"--eta -1.0: must be between 0"),
        (["--self-pairs", "twice"], True, 2, b"choose overlapping or disjoint"),
        (["--stratify", "colour"], True, 2, b"choose one of env, task_type"),
    ],
)
def test_errors_say_what_to_do(
    tmp_path: Path, options: list[str], success: bool | None, code: int, said: bytes
) -> None:
    write(tmp_path / "e.jsonl", [Episode(id=str(n), actions=["a", "b"], success=success) for n in range(3)])
    done = command("e.jsonl", *options, cwd=tmp_path)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_token_like_a_node_id_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "e.jsonl", [Episode(id="0", actions=["S12", "b"], success=True)])
    done = command("e.jsonl", cwd=tmp_path)
    assert done.returncode == 65
    assert b"'S12' has the form of a node id" in done.stderr


def test_preset_with_an_option_on_top(tmp_path: Path, episodes: list[Episode]) -> None:
    write(tmp_path / "e.jsonl", episodes)
    done = command("e.jsonl", "--preset", "webarena", "--eta", "0.1", "--all-outcomes", cwd=tmp_path)
    assert done.returncode == 0
    for part in (b'"eta":0.1', b'"max_length":12', b'"self_pairs":"disjoint"', b'"successes_only":false'):
        assert part in done.stdout
