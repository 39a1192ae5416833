"""Shared runs equal separate ones; folds keep tasks together; the choice is explained by its trials."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.mine.corpora import random_episodes, random_rules
from tests.mine.test_invariance import command, write
from tests.mine.test_resampling import planted
from xskill.errors import NoSuccess
from xskill.mine.corpus import encode_episodes
from xskill.mine.held_out import score
from xskill.mine.outcomes import classify
from xskill.mine.prepare import check_outcomes, merge_all, prepare
from xskill.mine.rules import Gate, MineRules
from xskill.mine.tiled_corpus import tiled as tile
from xskill.mine.tuning import FOLDS, Grid, explore, folds, tune
from xskill.records import Episode

GATES = [Gate(eta, least) for eta, least in product((0.0, 0.5, 1.0, 2.0), (2, 3, 5))]


@pytest.mark.parametrize("block", range(8))
def test_shared_runs_equal_separate_ones(block: int) -> None:
    """Every gate, on 80 random corpora and rules: the same merges, scores and positions."""
    for seed in range(10 * block, 10 * block + 10):
        rng = random.Random(seed)
        corpus, rules = encode_episodes(random_episodes(rng)), random_rules(rng)
        try:
            check_outcomes(corpus, rules)
        except NoSuccess:
            continue
        ready = prepare(corpus, rules.max_skills)
        classes = classify(corpus.outcome, rules)
        shared = {gate: run.merges for run in explore(ready, classes, rules, GATES) for gate in run.gates}
        assert set(shared) == set(GATES)
        for gate in GATES:
            alone = merge_all(ready, classes, replace(rules, eta=gate.eta, min_frequency=gate.min_frequency))
            assert len(alone) == len(shared[gate])
            for one, other in zip(alone, shared[gate], strict=True):
                assert (one.left, one.right, one.score, one.rate) == (other.left, other.right, other.score, other.rate)
                np.testing.assert_array_equal(one.positions, other.positions)


def test_folds_keep_tasks_together() -> None:
    def corpus(n_questions: int, n_types: int) -> list[Episode]:
        return [
            Episode(id=f"{n:03d}", question_id=f"q{n % n_questions}", task_type=f"t{n % n_types}", actions=["a"])
            for n in range(60)
        ]

    for n_questions, n_types, field in ((10, 6, "question_id"), (2, 6, "task_type")):
        episodes = corpus(n_questions, n_types)
        fold = folds(encode_episodes(episodes), seed=3).tolist()
        assert sorted({fold.count(number) for number in range(FOLDS)}) in ([20], [18, 24])
        for episode, number in zip(episodes, fold, strict=True):
            same = [f for e, f in zip(episodes, fold, strict=True) if getattr(e, field) == getattr(episode, field)]
            assert set(same) == {number}
    assert sorted(set(folds(encode_episodes(corpus(1, 1)), seed=3).tolist())) == [0, 1, 2]


def test_step_bits_by_hand() -> None:
    """Training `ab ab`, held out `ab`, no tree: counts with .5 are ⊥ 2.5, a 2.5, b 2.5 of 7.5, so 3 x log2 3 bits."""
    corpus = encode_episodes([Episode(id=str(n), actions=["a", "b"], success=n != 1) for n in range(3)])
    ready = prepare(corpus, 2)
    held = np.array([False, False, True])
    bare = score(ready, [], held)
    assert bare.step_bits == pytest.approx(3 * np.log2(3))
    assert bare.tree_bits == 0
    rules = MineRules(min_frequency=2, eta=0.0, max_skills=1)
    merges = merge_all(ready, classify(corpus.outcome, rules), rules)
    # one node (a, b): ⊥ 2.5, a .5, b .5, S0 2.5 of 6; the held-out episode is ⊥ S0
    merged = score(ready, merges, held)
    assert merged.step_bits == pytest.approx(-2 * np.log2(2.5 / 6))
    assert merged.tree_bits == pytest.approx(2 * np.log2(3))
    assert tile(ready.sequence, merges).symbol.tolist() == [0, 3, 0, 3, 0, 3]


def test_evidence_predicts_held_out_success() -> None:
    """`k l m` makes success likely: with the tree the held-out outcomes take fewer bits than at the base rate."""
    corpus = encode_episodes(planted(300))
    rules = MineRules()
    held = np.arange(300) % 3 == 0
    ready = prepare(corpus, rules.max_skills)
    bits = score(ready, merge_all(ready, classify(corpus.outcome, rules), rules), held).outcome_bits
    base = float((corpus.outcome == 1).mean())
    entropy = -base * np.log2(base) - (1 - base) * np.log2(1 - base)
    assert len(bits) == 100
    assert bits.mean() < entropy - 0.05


def test_noise_gets_a_strict_gate() -> None:
    """In pure noise every node costs more than it saves: the choice leaves (almost) none."""
    rng = random.Random(2)
    episodes = [
        Episode(id=str(n), actions=[rng.choice("abcdefgh") for _ in range(12)], success=rng.random() < 0.5)
        for n in range(100)
    ]
    grid = Grid(eta=(0.0, 1.0), min_frequency=(2, 1000), p_success=(1.0,))
    rules, trials = tune(encode_episodes(episodes), MineRules(), grid, seed=1)
    assert rules.min_frequency == 1000
    assert [trial.nodes for trial in trials if trial.min_frequency == 1000] == [0.0, 0.0]


def test_chosen_is_the_shortest_of_those_that_predict_as_well() -> None:
    rules, trials = tune(encode_episodes(planted(120)), MineRules(max_skills=30), Grid(), seed=1)
    chosen = next(trial for trial in trials if trial.chosen)
    assert (rules.eta, rules.min_frequency, rules.p_success) == (chosen.eta, chosen.min_frequency, chosen.p_success)
    as_good = [trial for trial in trials if trial.excess is not None and trial.excess <= 1]
    assert min(trial.bits_per_step for trial in as_good) == pytest.approx(chosen.bits_per_step)
    assert len(trials) == 125


def test_command_tunes_and_writes_the_grid(tmp_path: Path) -> None:
    write(tmp_path / "e.jsonl", planted(60))
    done = command("e.jsonl", "--auto", "--eta", "0.5", "--seed", "4", "--sweep", "grid.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "grid.jsonl").read_text().splitlines()]
    assert len(rows) == 25
    assert {row["eta"] for row in rows} == {0.5}
    chosen = next(row for row in rows if row["chosen"])
    header = json.loads(done.stdout.splitlines()[0])
    for name in ("eta", "min_frequency", "p_success"):
        assert header["config"][name] == chosen[name]
    assert header["config"]["auto"] == {"trials": 25, "folds": 3, "seed": 4}
    assert b"bits/step" in done.stderr
    again = command("e.jsonl", "--auto", "--eta", "0.5", "--seed", "4", "-j", "2", cwd=tmp_path)
    assert again.stdout == done.stdout


def test_a_sweep_alone_leaves_the_rules(tmp_path: Path) -> None:
    write(tmp_path / "e.jsonl", planted(60))
    plain = command("e.jsonl", cwd=tmp_path)
    swept = command("e.jsonl", "--sweep", "grid.jsonl", cwd=tmp_path)
    assert swept.stdout == plain.stdout
    assert len((tmp_path / "grid.jsonl").read_text().splitlines()) == 125
