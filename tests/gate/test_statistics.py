"""Every test against an oracle (scipy, statsmodels) or a plain enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from xskill.gate.statistics import holm, mcnemar_exact, paired_permutation, regression_chance

SMALL = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.25, 1.0]), min_size=1, max_size=9)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (8, 1), (5, 5), (0, 12), (30, 17), (600, 520)])
def test_mcnemar_is_the_exact_one(wins, losses):
    if wins + losses:
        assert mcnemar_exact(wins, losses) == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=1e-9)
    oracle = mcnemar([[3, wins], [losses, 4]], exact=True).pvalue if wins + losses else 1.0
    assert mcnemar_exact(wins, losses) == pytest.approx(oracle, rel=1e-9)


def test_mcnemar_by_hand():
    # 8 wins, 1 loss: 2 (C(9,0) + C(9,1)) / 2^9
    assert mcnemar_exact(8, 1) == pytest.approx(20 / 512)


@given(SMALL)
@settings(max_examples=60, deadline=None)
def test_permutation_counts_every_sign_pattern(differences):
    x = np.asarray(differences)
    sums = [
        abs(sum(s * d for s, d in zip(signs, x, strict=True))) for signs in itertools.product((1, -1), repeat=x.size)
    ]
    expected = np.mean(np.asarray(sums) >= abs(x.sum()) - 1e-9)
    assert paired_permutation(x).p_value == pytest.approx(expected)


def test_permutation_agrees_with_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=12), rng.normal(0.4, size=12)
    oracle = stats.permutation_test(
        (b, a),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10**6,
    )
    assert paired_permutation(b - a).p_value == pytest.approx(oracle.pvalue, abs=1e-9)


def test_permutation_of_many_is_seeded_and_close():
    x = np.random.default_rng(2).normal(0.2, size=80)
    first, again = paired_permutation(x, seed=3), paired_permutation(x, seed=3)
    assert first == again
    assert first.method == "paired permutation, 20000 draws"
    assert first.p_value == pytest.approx(stats.ttest_1samp(x, 0).pvalue, abs=0.01)


def test_no_difference_is_no_evidence():
    assert paired_permutation(np.zeros(5)).p_value == 1.0
    assert mcnemar_exact(0, 0) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_holm_agrees_with_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_one_repeat_makes_half_of_the_discordant_tasks_regress():
    assert regression_chance([1.0], [0.0], 0.0) == 0.5
    assert regression_chance([0.0], [1.0], 0.0) == 0.5
    assert regression_chance([1.0], [1.0], 0.0) == 0.0
    assert regression_chance([1.0], [0.9], 0.2) == 0.0


def test_two_repeats_by_hand():
    # pool {1, 1, 0, 0}: of 6 splits 1 gives the candidate 0 against 1, 4 tie, 1 the other way round
    assert regression_chance([1.0, 1.0], [0.0, 0.0], 0.0) == pytest.approx(1 / 6)
    # pool {1, 0, 0, 0}: the single 1 is with the current side in half of the splits, a loss of .5
    assert regression_chance([1.0, 0.0], [0.0, 0.0], 0.0) == pytest.approx(1 / 2)
    assert regression_chance([1.0, 0.0], [0.0, 0.0], 0.5) == 0.0


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4),
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.3]),
)
@settings(deadline=None)
def test_regression_chance_enumerates_the_splits(current, candidate, tolerance):
    pooled = current + candidate
    worse = total = 0
    for chosen in itertools.combinations(range(len(pooled)), len(candidate)):
        new = [pooled[i] for i in chosen]
        old = [pooled[i] for i in range(len(pooled)) if i not in chosen]
        worse += math.fsum(new) / len(new) - math.fsum(old) / len(old) < -tolerance - 1e-12
        total += 1
    assert regression_chance(current, candidate, tolerance) == pytest.approx(worse / total)
