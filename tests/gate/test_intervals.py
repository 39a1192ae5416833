"""Intervals against oracles, and the calibration that the margin policy rests on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.proportion import proportion_confint

from xskill.gate.intervals import cluster_bootstrap, newcombe, paired_t, student_quantile, tango, wider, wilson

TABLES = [(0, 0, 10), (3, 1, 44), (0, 5, 20), (12, 4, 56), (7, 7, 30), (20, 0, 20), (1, 0, 1), (150, 130, 1000)]


def tango_plain(wins, losses, n, alpha):
    """The same interval by maximising the constrained likelihood numerically at every candidate difference."""
    z = stats.norm.ppf(1 - alpha / 2)

    def statistic(delta):
        low, high = max(0.0, -delta), (1 - delta) / 2

        def negative_log_likelihood(q):
            terms = [(wins, q + delta), (losses, q), (n - wins - losses, 1 - 2 * q - delta)]
            return -sum(k * math.log(max(p, 1e-300)) for k, p in terms if k)

        q = optimize.minimize_scalar(
            negative_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
        )
        variance = n * (2 * q.x + delta - delta * delta)
        return (wins - losses - n * delta) / math.sqrt(variance)

    estimate = (wins - losses) / n
    inside = 1e-9
    low = optimize.brentq(lambda d: statistic(d) - z, -1 + inside, estimate - inside, xtol=1e-10)
    high = optimize.brentq(lambda d: statistic(d) + z, estimate + inside, 1 - inside, xtol=1e-10)
    return low, high


@pytest.mark.parametrize(("wins", "losses", "n"), [t for t in TABLES if t[0] != t[2]])
def test_tango_solves_the_score_equation(wins, losses, n):
    interval = tango(wins, losses, n, 0.05)
    assert (interval.low, interval.high) == pytest.approx(tango_plain(wins, losses, n, 0.05), abs=2e-5)


@pytest.mark.parametrize("n", [3, 10, 60])
def test_tango_has_width_when_all_tasks_tie(n):
    z2 = stats.norm.ppf(0.975) ** 2
    interval = tango(0, 0, n, 0.05)
    assert interval.high == pytest.approx(z2 / (n + z2), abs=1e-9)
    assert interval.low == pytest.approx(-interval.high, abs=1e-9)


@given(st.integers(0, 15), st.integers(0, 15), st.integers(0, 30))
@settings(deadline=None, max_examples=80)
def test_tango_is_antisymmetric_and_holds_the_estimate(wins, losses, ties):
    n = wins + losses + ties
    if n == 0:
        return
    one, other = tango(wins, losses, n, 0.05), tango(losses, wins, n, 0.05)
    assert one.low == pytest.approx(-other.high, abs=1e-9)
    assert -1 <= one.low <= (wins - losses) / n <= one.high <= 1


def test_newcombe_is_his_formula_on_the_wilson_limits():
    # Newcombe 1998, Statistics in Medicine 17:2635, method 10, written out for 36, 12, 2, 6 of 56
    interval = newcombe(36, 12, 2, 6, 0.05)
    n = 56
    low1, high1 = proportion_confint(48, n, method="wilson")
    low2, high2 = proportion_confint(38, n, method="wilson")
    phi = (36 * 6 - 12 * 2 - n / 2) / math.sqrt(48 * 8 * 38 * 18)
    below = math.sqrt((48 / n - low1) ** 2 - 2 * phi * (48 / n - low1) * (high2 - 38 / n) + (high2 - 38 / n) ** 2)
    above = math.sqrt((38 / n - low2) ** 2 - 2 * phi * (38 / n - low2) * (high1 - 48 / n) + (high1 - 48 / n) ** 2)
    assert (interval.low, interval.high) == pytest.approx((10 / n - below, 10 / n + above))


def test_newcombe_with_an_empty_margin():
    interval = newcombe(10, 0, 0, 0, 0.05)
    assert interval.low < 0 < interval.high
    assert interval.low == pytest.approx(-interval.high)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (55, 100)])
def test_wilson_agrees_with_statsmodels(k, n):
    assert wilson(k, n, 0.05) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)


def test_wilson_without_trials():
    assert wilson(0, 0, 0.05) == (0.0, 1.0)


@pytest.mark.parametrize("df", [1, 2, 5, 30, 1000])
@pytest.mark.parametrize("p", [0.6, 0.95, 0.975, 0.9995])
def test_student_quantile_agrees_with_scipy(p, df):
    assert student_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8)


def test_paired_t_agrees_with_scipy():
    x = np.random.default_rng(0).normal(size=17)
    oracle = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    assert (paired_t(x, 0.05).low, paired_t(x, 0.05).high) == pytest.approx((oracle.low, oracle.high))


def test_added_tasks_give_ties_a_width():
    interval = paired_t(np.zeros(3), 0.05, reach=1.0)
    assert interval.high == pytest.approx(stats.t.ppf(0.975, 4) * math.sqrt(0.5) / math.sqrt(5))
    assert paired_t(np.zeros(3), 0.05).high == 0


def test_a_single_task_tells_nothing():
    assert paired_t(np.asarray([0.3]), 0.05).low == -math.inf


def test_bootstrap_is_seeded_and_close_to_scipy():
    x = np.random.default_rng(0).exponential(size=40)
    mine = cluster_bootstrap(x, 0.05, seed=4)
    assert mine == cluster_bootstrap(x, 0.05, seed=4)
    oracle = stats.bootstrap((x,), np.mean, method="percentile", rng=np.random.default_rng(1)).confidence_interval
    assert (mine.low, mine.high) == pytest.approx((oracle.low, oracle.high), abs=0.03)


def test_the_wider_of_two():
    narrow, wide = paired_t(np.asarray([0.0, 1.0, 0.5]), 0.5), paired_t(np.asarray([0.0, 1.0, 0.5]), 0.05)
    assert wider(narrow, wide) == wide
