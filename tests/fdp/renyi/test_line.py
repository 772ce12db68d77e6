"""Renyi moments of Poisson steps: never below the exact ones, and close."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import (
    GaussianTradeoff,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
)
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.renyi.line import line_log_moment, log_excess, revealed
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, laws
from tests.fdp.renyi.exact_moments import (
    ORDERS,
    agrees,
    exact_halves,
    exact_line,
    exact_mixtures,
    orders,
    probabilities,
    sizes,
)


@settings(max_examples=10)
@given(probabilities, st.sampled_from([0.0, 0.02, 0.5, 0.98]), sizes, orders)
def test_poisson_steps_against_mpmath(p: float, share: float, d: float, order: float) -> None:
    assume(order * d <= 20.0)
    a = share * d
    for above, below in (
        ((a, d), (0.0, 0.0)),
        ((0.0, 0.0), (a, d)),
        ((a, d), (0.0, d - a)),
    ):
        exact = exact_line(p, above, below, order)
        assert agrees(line_log_moment((1.0 - p, p), above, below, order), exact)


@settings(max_examples=6)
@given(laws(log_uniform(0.01, 2.0), log_uniform(1e-5, 1.0), 4), orders)
def test_many_components_against_mpmath(law: Law, order: float) -> None:
    law_of = MeanLaw.of(*law)
    weights, means = law_of.weight.ravel().tolist(), law_of.mean.ravel().tolist()
    assume(0.0 < order * means[-1] <= 10.0)
    nothing = [0.0] * len(means)
    for above, below in ((means, nothing), (nothing, means), (means, means)):
        exact = exact_mixtures(weights, above, below, order)
        assert agrees(line_log_moment(weights, above, below, order), exact)


def test_too_many_numbers_are_answered_by_what_is_revealed() -> None:
    weights, means = [1.0 / 400] * 400, np.linspace(0.0, 30.0, 400).tolist()
    found = line_log_moment(weights, means, [0.0] * 400, 30.0)
    assert found == pytest.approx(revealed(weights, means, 30.0), rel=1e-14)


@pytest.mark.parametrize(
    "order", [*ORDERS[:-2], *(pytest.param(k, marks=pytest.mark.slow) for k in ORDERS[-2:])]
)
def test_every_order(order: float) -> None:
    p, a, s = 0.03, 0.02, 0.2
    d = math.nextafter(a + s, 1.0)
    forward, backward = exact_line(p, (a, d), (0, 0), order), exact_line(p, (0, 0), (a, d), order)
    step = PoissonZeroOut(p, a, s)
    assert agrees(step.inverse()._log_moment(order), forward)
    assert agrees(step._log_moment(order), backward)
    both = PoissonReplaceOne(p, a, s)
    assert agrees(both._log_moment(order), exact_line(p, (a, d), (0, s), order))
    shifted = ShiftedSubsampled(p, a, s)
    assert agrees(shifted._log_moment(order), exact_halves(p, a, shifted._span, order))
    sampled = GaussianTradeoff(s).subsample(p)
    assert agrees(sampled._log_moment(order), exact_halves(p, 0.0, s, order))


@given(st.floats(0.01, 0.99), log_uniform(1e-3, 5.0), st.floats(1.001, 60.0))
def test_two_equal_components_are_one_gaussian(p: float, mu: float, order: float) -> None:
    exact = order * (order - 1.0) * mu * mu / 2.0
    for pair in (((mu, mu), (0.0, 0.0)), ((0.0, 0.0), (mu, mu))):
        found = line_log_moment((1.0 - p, p), *pair, order)
        assert exact <= found * (1 + 1e-15) <= exact * (1 + 1e-9)


@settings(max_examples=40)
@given(st.floats(0.1, 1.7) | st.floats(-0.6, -0.1), st.floats(1e-6, 300.0), st.floats(0.0, 12.0))
def test_the_integrand_near_one(size: float, s: float, decades: float) -> None:
    """F(1 + w) for w down to 1e-12, where it is the difference of nearly equal terms."""
    w = size * 10.0**-decades
    with mpmath.workdps(60):
        exact = mpmath.log((1 + mpf(w)) ** (1 + mpf(s)) - 1 - (1 + mpf(s)) * mpf(w))
        found = float(log_excess(np.array([w]), s)[0])
        assert exact <= found <= exact + mpf("1e-11") * (1 + s)


@pytest.mark.parametrize("s", [1e-20, 1.0, 1e5])
@pytest.mark.parametrize("order", [1.0 + 1e-9, 2.0, 1e5])
def test_a_shift_so_large_that_both_densities_vanish_in_between(s: float, order: float) -> None:
    """Halfway between two means that are 1e5 apart neither mixture has a float of mass."""
    for p in (1e-9, 0.5):
        found = PoissonReplaceOne(p, 1e5, s).renyi(order)
        least = GaussianTradeoff(1e5).renyi(order)
        most = GaussianTradeoff(1e5 + 2.0 * s).renyi(order)
        assert least * (1.0 - 1e-9) <= found <= most * (1.0 + 1e-9)
