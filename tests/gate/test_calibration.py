"""At a true loss of exactly the margin, the margin policy accepts in at most alpha of the runs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from xskill.gate.intervals import paired_t, tango

RUNS = 2_000
ALPHA = 0.05
ALLOWED = stats.binom.ppf(0.999, RUNS, ALPHA) / RUNS
"""A gate with exactly this error rate passes with probability .999."""


@cache
def tango_low(wins, losses, n):
    return tango(wins, losses, n, ALPHA).low


@pytest.mark.parametrize("n", [5, 20, 60, 200])
@pytest.mark.parametrize(
    ("p_loss", "p_win"),
    [(0.05, 0.0), (0.05, 0.02), (0.15, 0.05), (0.3, 0.2), (0.5, 0.4), (0.02, 0.0)],
    ids=["rare losses", "few discordant", "some", "many", "nearly all", "almost all tie"],
)
def test_binary_metric(n, p_loss, p_win):
    margin = p_loss - p_win
    rng = np.random.default_rng(n)
    cells = rng.multinomial(n, [p_win, p_loss, 1 - p_win - p_loss], size=RUNS)
    accepted = np.mean([tango_low(int(w), int(lost), n) > -margin for w, lost, _ in cells])
    assert accepted <= ALLOWED


@pytest.mark.parametrize("n", [5, 20, 60, 200])
@pytest.mark.parametrize("repeats", [2, 4])
@pytest.mark.parametrize(
    ("base", "margin", "kind"),
    [
        (0.95, 0.05, "all tasks a little"),
        (0.5, 0.1, "all tasks a little"),
        (1.0, 0.05, "few tasks much"),
        (1.0, 0.1, "few tasks much"),
    ],
)
def test_shares_from_repeats(n, repeats, base, margin, kind):
    """Task means of repeated runs: no binary metric; mostly ties with rare losses in the hard cases."""
    rng = np.random.default_rng([n, repeats])
    accepted = 0
    for _ in range(RUNS):
        if kind == "few tasks much":
            new = rng.binomial(repeats, np.where(rng.random(n) < 2 * margin, 0.5, 1.0))
        else:
            new = rng.binomial(repeats, base - margin, n)
        differences = (new - rng.binomial(repeats, base, n)) / repeats
        accepted += paired_t(differences, ALPHA, reach=1.0).low > -margin
    assert accepted / RUNS <= ALLOWED


def test_an_equal_bank_is_accepted_once_there_are_tasks_enough():
    """The other side of the coin: conservative is not useless."""
    rng = np.random.default_rng(0)
    cells = rng.multinomial(200, [0.05, 0.05, 0.9], size=RUNS)
    accepted = np.mean([tango_low(int(w), int(lost), 200) > -0.1 for w, lost, _ in cells])
    assert accepted > 0.97
