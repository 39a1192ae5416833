"""Strata and the header, by hand."""

from __future__ import annotations

import pytest

from xskill.errors import UsageError
from xskill.mine.association import stratify
from xskill.mine.corpus import encode_episodes
from xskill.mine.from_corpus import Questions
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import PRESETS, MineRules, choose
from xskill.records import Episode, Parent


def test_length_tertiles_of_own_steps() -> None:
    """Own lengths 1 … 9, of which a branch of 12 actions forked at 3 is the longest."""
    episodes = [Episode(id=str(n), actions=["a"] * n, success=n % 2 == 0) for n in range(1, 9)]
    episodes.append(Episode(id="9", actions=["a"] * 12, success=True, parent=Parent(id="8", turn=3)))
    strata, field = stratify(encode_episodes(episodes), "length")
    assert field == "length"
    assert strata.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_env_is_the_default_when_there_are_several() -> None:
    def field(*envs: str | None) -> str:
        episodes = [Episode(id=str(n), env=env, actions=["a"]) for n, env in enumerate(envs)]
        return stratify(encode_episodes(episodes), None)[1]

    assert field("e", "f") == "env"
    assert field("e", "e") == field(None, "e") == "none"
    with pytest.raises(UsageError, match="choose one of env"):
        stratify(encode_episodes([]), "colour")


def test_a_routine_of_the_easy_environment_loses_its_star() -> None:
    """`a b` is all of the easy environment (9 of 10 succeed) and none of the hard one (1 of 10)."""
    episodes = [
        Episode(id=f"{env}{n:02d}", env=env, actions=list(actions), success=n % 10 < wins)
        for env, actions, wins in (("easy", "ab", 9), ("hard", "xy", 1))
        for n in range(40)
    ]
    corpus = encode_episodes(episodes)
    blind = mine(corpus, MineRules(), Questions(stratify="none")).nodes[0]
    fair = mine(corpus, MineRules()).nodes[0]
    assert blind.expansion == fair.expansion == ["a", "b"]
    assert blind.p_value is not None
    assert blind.p_value < 1e-9
    assert blind.lift == pytest.approx(0.9 / 0.5)
    assert fair.p_value == pytest.approx(1.0)
    assert fair.lift == pytest.approx(1.0)


def test_header_holds_every_choice_and_the_corpus() -> None:
    episodes = [Episode(id=str(n), env="e", actions=["a", "b"], success=n < 3) for n in range(5)]
    episodes.append(Episode(id="u", env="e", task_type="t", actions=["a", "c"]))
    header = mine(encode_episodes(episodes), MineRules(), name="mine").header
    assert header.environment == "e"
    assert header.corpus.name == "mine"
    assert header.corpus.n_trajectories == 6
    assert (header.n_primitives, header.n_nodes) == (3, 1)
    assert header.config == {
        "p_length": 1.0,
        "p_success": 1.0,
        "epsilon": 0.0,
        "eta": 0.5,
        "min_frequency": 5,
        "max_length": 8,
        "max_skills": 256,
        "min_success_rate": 0.0,
        "min_families": 1,
        "self_pairs": "overlapping",
        "successes_only": False,
        "outcome": "success",
        "stratify": "none",
        "association": "descriptive",
    }
    assert header.stats == {
        "steps": 12,
        "steps_success": 6,
        "steps_failure": 4,
        "symbols": 7,
        "episodes_known": 5,
        "episodes_success": 3,
        "base_rate": 0.6,
        "environments": ["e"],
        "task_types": 1,
        "vocabulary": 3,
    }


def test_presets_are_the_released_settings() -> None:
    assert choose("scienceworld", {"eta": 0.7, "max_skills": None}) == MineRules(
        max_skills=80, successes_only=True, min_success_rate=0.9, min_families=2, eta=0.7
    )
    assert PRESETS["miniwob"] == MineRules(
        max_skills=200, min_frequency=4, eta=0.3, max_length=10, p_success=1.5, self_pairs="disjoint"
    )


def test_wide_vocabulary() -> None:
    """More symbols than 16 bits hold."""
    tokens = [f"v{number:05d}" for number in range(70_000)]
    episodes = [Episode(id=str(n), actions=tokens) for n in range(5)]
    tree = mine(encode_episodes(episodes), MineRules(max_skills=3))
    assert [node.expansion for node in tree.nodes] == [tokens[:2], tokens[:3], tokens[:4]]
