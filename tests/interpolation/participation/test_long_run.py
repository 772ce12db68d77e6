"""Long runs under a line: no pattern is above the law, which is tight where very many take part."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.interpolation.participation.long_run import long_run_law, recent_steps, slope_law
from shiftdp.interpolation.participation.sticks import Sticks
from tests.interpolation.participation.patterns import all_patterns, violation


@pytest.mark.parametrize(("p", "t", "recent"), [(0.5, 10, 3), (0.1, 9, 1), (0.8, 11, 6)])
def test_no_pattern_is_above_the_law(p: float, t: int, recent: int) -> None:
    ones = np.ones(t)
    law, _ = long_run_law(p, t, recent, delta=1e-3)
    assert violation(law, *all_patterns(p * ones, ones, ones, ones)) <= 1e-15
    assert math.fsum(law.weight) == pytest.approx(1.0, abs=1e-14)
    assert list(law.mu) == sorted(set(law.mu))


@pytest.mark.parametrize(("p", "recent"), [(0.5, 4), (0.05, 20)])
def test_walks_are_seldom_above_the_line(p: float, recent: int) -> None:
    """The law of max N_n / (J + n), by 20,000 walks of 400 steps."""
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.random((20_000, 400)) < p, axis=1)
    steepest = (walks / (recent + np.arange(1, 401))).max(axis=1)
    law = slope_law(p, recent, 1e-9)
    beyond = np.cumsum(law.probabilities[::-1])[::-1]
    assert np.all(np.diff(law.values) >= 0.0)
    for value, tail in zip(law.values[:-1], beyond[1:], strict=True):
        share = float(np.mean(steepest > value))
        assert share <= tail + 4.0 * math.sqrt(tail / 20_000)


def test_a_run_of_a_trillion_steps_costs_what_its_mean_path_does() -> None:
    p, t = 0.01, 10**12
    law, grid = long_run_law(p, t, 800, delta=1e-3)
    assert 1.0 <= law.mean / (p * math.sqrt(t)) < 1.08
    assert isinstance(grid, Sticks)  # of the last 800 steps: there are none for all


def test_short_runs_are_followed_to_their_end() -> None:
    assert recent_steps(0.1, 15_000) == 15_000
    assert recent_steps(1.0, 10**6) < 10**6
