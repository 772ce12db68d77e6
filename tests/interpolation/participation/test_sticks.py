"""The law of mu(V) by broken sticks: against all patterns, and against rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiftdp.fdp import HiddenExchange
from shiftdp.interpolation.participation.law import Grid, ParticipationLaw
from shiftdp.interpolation.participation.sticks import Sticks, is_for_sticks, stick_law, walk_law
from tests.interpolation.participation.patterns import (
    all_patterns,
    long_sticks,
    stick_breaking,
    violation,
)


@settings(max_examples=40)
@given(
    p=st.floats(1e-3, 0.95),
    t=st.integers(1, 8),
    delta=st.floats(-12.0, -2.0).map(lambda log: 10.0**log),
)
@example(p=0.5, t=1, delta=1e-5)
def test_no_pattern_is_above_the_law(p: float, t: int, delta: float) -> None:
    ones = np.ones(t)
    law, _ = stick_law(p, t, delta=delta)
    assert violation(law, *all_patterns(p * ones, ones, ones, ones)) <= 1e-15
    assert math.fsum(law.weight) == pytest.approx(1.0, abs=1e-12)
    assert list(law.mu) == sorted(set(law.mu))


@pytest.mark.parametrize(("p", "delta"), [(0.05, 1e-5), (0.4, 1e-5), (0.05, 1e-12)])
def test_the_tail_is_close_to_that_in_rational_arithmetic(p: float, delta: float) -> None:
    exact = stick_breaking(12, Fraction(p))
    mu = np.sqrt([float(energy) for energy in exact])
    chance = np.array([float(q) for q in exact.values()])
    law, _ = stick_law(p, 12, delta=delta)
    assert violation(law, mu, chance) <= 1e-15
    assert law.mean == pytest.approx(float(mu @ chance), rel=5e-3)
    # quantiles: what is exceeded with a probability of delta, and a tenth, and ten times that
    at, above = np.array(law.mu), np.cumsum(law.weight[::-1])[::-1]
    order = np.argsort(mu)
    beyond = np.cumsum(chance[order][::-1])[::-1]
    for part in (0.1, 1.0, 10.0):
        true = mu[order][np.count_nonzero(beyond > part * delta) - 1]
        assert true <= at[np.count_nonzero(above > part * delta) - 1] * (1 + 1e-9)
        assert at[np.count_nonzero(above > 1.1 * part * delta) - 1] <= 1.005 * true


@pytest.mark.parametrize(("p", "s", "t"), [(0.02, 2.0, 120), (0.1, 0.5, 80)])
def test_hundreds_of_steps_cost_hardly_more_than_the_exact_law(p: float, s: float, t: int) -> None:
    law, _ = stick_law(p, t, delta=1e-5)
    energy, chance = long_sticks(t, p, 0.01, 600)
    tails = np.append(np.cumsum(chance[::-1])[::-1], 0.0)
    mu, above = np.array(law.mu), np.append(np.cumsum(law.weight[::-1])[::-1], 0.0)
    more = tails[np.searchsorted(np.sqrt(energy), mu * (1.0 + 1e-12), side="right")]
    assert np.all(more <= above[1:] + 1e-12)
    energy, chance = long_sticks(t, p, 0.01, 600, down=False)
    some = chance > 1e-15
    exact = ParticipationLaw(
        tuple(np.sqrt(energy[some]).tolist()), tuple((chance[some] / chance[some].sum()).tolist())
    )
    assert 1.0 <= _epsilon(law, s) / _epsilon(exact, s) <= 1.004


def _epsilon(law: ParticipationLaw, s: float) -> float:
    return HiddenExchange(tuple(s * mu for mu in law.mu), law.weight).epsilon(1e-5)


@pytest.mark.parametrize(("p", "t"), [(0.05, 40), (0.3, 60), (0.01, 1000)])
def test_the_mean_energy_is_the_exact_one(p: float, t: int) -> None:
    """E mu^2 = p^2 t + p (1 - p) H_t."""
    law, _ = stick_law(p, t, delta=1e-6)
    energy = math.fsum(w * mu * mu for mu, w in zip(law.mu, law.weight, strict=True))
    exact = p * p * t + p * (1 - p) * math.fsum(1 / k for k in range(1, t + 1))
    assert 1.0 <= energy / exact <= 1.015


def test_where_vertices_are_as_good_they_are_taken() -> None:
    assert isinstance(walk_law(0.1, 50, delta=1e-5)[1], Sticks)
    assert isinstance(walk_law(0.1, 5, delta=1e-5)[1], Grid)
    assert not is_for_sticks(0.001, 3000)
    assert not is_for_sticks(0.5, 4000)
