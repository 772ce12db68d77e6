"""Piecewise linear power functions, and means of their slopes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.fdp import GaussianTradeoff
from shiftdp.fdp.composition.levels import Lines, MeanSlopes

GRID = np.append(0.0, np.geomspace(1e-4, 600.0, 1500))
MUS = (0.3, 1.0, 2.0)
LINES = Lines(GRID, np.array([GaussianTradeoff(mu)._delta(GRID) for mu in MUS]))


def test_one_part_alone_keeps_its_profile() -> None:
    alone = Lines(GRID, LINES.delta[1:2])
    eps = np.array([0.0, 0.1, 1.0, 3.0, 8.0])
    exact = GaussianTradeoff(1.0)._delta(eps)
    for found in (
        MeanSlopes.above(alone, np.ones(1), worst=True),
        MeanSlopes.above(alone, np.ones(1), worst=False),
        MeanSlopes.below(alone, np.ones(1)),
    ):
        h = found.profile(eps)
        assert np.all(h >= exact)
        assert h == pytest.approx(exact, rel=1e-2, abs=1e-12)


def test_the_slopes_are_those_of_the_power_function() -> None:
    """F_mu(q) = Phi(Phi^-1(q) + mu): its slope at q = Phi(-y) is exp(y mu - mu^2/2)."""
    levels, slopes = LINES.slopes_of_power()
    i = int(np.searchsorted(levels, 0.02275013194817921))  # y = 2
    for row, mu in zip(slopes, MUS, strict=True):
        assert row[i] == pytest.approx(math.exp(2.0 * mu - mu * mu / 2), rel=0.02)


def test_a_profile_that_is_not_convex_is_made_so() -> None:
    bent = LINES.delta[1:2].copy()
    bent[0, 900] *= 1.5  # a guarantee that says less than its neighbours
    smooth = MeanSlopes.above(Lines(GRID, LINES.delta[1:2]), np.ones(1), worst=False)
    found = MeanSlopes.above(Lines(GRID, bent), np.ones(1), worst=False)
    eps = np.array([0.5, 2.0])
    assert found.profile(eps) == pytest.approx(smooth.profile(eps), rel=1e-2)


def test_what_is_given_up_at_once_is_given_up_by_the_mean() -> None:
    table = np.maximum(LINES.delta, 1e-3)
    found = MeanSlopes.above(Lines(GRID, table), np.full(3, 1 / 3), worst=True)
    assert found.profile(np.array([500.0]))[0] == pytest.approx(1e-3, rel=1e-6)


def test_without_a_piece_everything_may_be_revealed() -> None:
    nothing = np.zeros(0)
    found = MeanSlopes(nothing, nothing, nothing, 0.0).profile(np.array([0.0, 1.0, 100.0]))
    assert np.array_equal(found, np.ones(3))
