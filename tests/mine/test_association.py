"""Lift, exact tests, false discovery rates and intervals, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from xskill.mine.association import Tables, benjamini_hochberg, fisher, lift, wilson


def tables(*strata: tuple[int, int, int, int]) -> Tables:
    """One node; each stratum as (hits, holders, positives, total)."""
    hits, holders, positives, totals = (np.array(column) for column in zip(*strata, strict=True))
    return Tables(hits[None, :], holders[None, :], positives, totals)


@st.composite
def stratum(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int, int]:
    total = draw(st.integers(1, most))
    positives = draw(st.integers(0, total))
    holders = draw(st.integers(0, total))
    hits = draw(st.integers(max(0, holders + positives - total), min(holders, positives)))
    return hits, holders, positives, total


def convolved(strata: list[tuple[int, int, int, int]]) -> float:
    """P(sum >= hits) from scipy's distributions."""
    total = np.ones(1)
    for _, holders, positives, n in strata:
        total = np.convolve(total, stats.hypergeom(n, positives, holders).pmf(np.arange(n + 1)))
    return float(total[sum(hits for hits, *_ in strata) :].sum())


def test_lift_and_fisher_by_hand() -> None:
    """8 of 10 holders succeed, 10 of 20 episodes do: lift 1.6; p = (2,025 + 100 + 1) / 184,756 by counting."""
    table = tables((8, 10, 10, 20))
    assert lift(table)[0] == pytest.approx(1.6)
    assert fisher(table)[0] == pytest.approx((45 * 45 + 10 * 10 + 1) / 184756, rel=1e-12)


def test_a_routine_of_easy_tasks_loses_its_star() -> None:
    """Easy tasks succeed 90 of 100 and all hold it, hard ones 10 of 100 and none does: within strata, nothing."""
    assert fisher(tables((90, 100, 100, 200)))[0] < 1e-20
    stratified = tables((90, 100, 90, 100), (0, 0, 10, 100))
    assert fisher(stratified)[0] == pytest.approx(1.0)
    assert lift(stratified)[0] == pytest.approx(1.0)


@given(stratum(most=400))
def test_fisher_is_scipys(one: tuple[int, int, int, int]) -> None:
    hits, holders, positives, total = one
    p = fisher(tables(one))[0]
    if holders == 0:
        assert np.isnan(p)
    else:
        expected = stats.fisher_exact(
            [[hits, holders - hits], [positives - hits, total - positives - holders + hits]], alternative="greater"
        ).pvalue
        assert p == pytest.approx(expected, rel=1e-9, abs=1e-300)


@settings(deadline=None)
@given(st.lists(stratum(), min_size=2, max_size=5))
def test_stratified_p_is_the_convolution(strata: list[tuple[int, int, int, int]]) -> None:
    p = fisher(tables(*strata))[0]
    if all(holders == 0 for _, holders, *_ in strata):
        assert np.isnan(p)
    else:
        assert p == pytest.approx(convolved(strata), rel=1e-9)


@pytest.mark.parametrize("excess", [0, 150, 1500])
def test_large_strata_keep_relative_precision(excess: int) -> None:
    """Tilted and cut distributions agree with the whole ones, also far in the tail."""
    strata = [(1500 + excess, 3000, 5000, 10000), (1000, 2500, 3000, 7500), (700, 2000, 2000, 6000)]
    p = fisher(tables(*strata))[0]
    assert p == pytest.approx(convolved(strata), rel=1e-8, abs=1e-290)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_q_values_are_scipys(p: list[float]) -> None:
    assert benjamini_hochberg(np.array(p)) == pytest.approx(stats.false_discovery_control(p, method="bh"))


def test_q_values_skip_untested_nodes() -> None:
    q = benjamini_hochberg(np.array([0.01, np.nan, 0.04]))
    assert q[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(q[1])


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(case: tuple[int, int]) -> None:
    hits, n = case
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    low, high = wilson(np.array([hits]), np.array([n]))
    assert low[0] == pytest.approx(expected.low, abs=1e-12)
    assert high[0] == pytest.approx(expected.high, abs=1e-12)
    assert (hits != 0) or low[0] == 0.0
    assert (hits != n) or high[0] == 1.0
