"""The four conversions from Renyi privacy, and the Renyi divergences that have a closed form."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    LaplaceTradeoff,
    Minimum,
    Mixture,
    PiecewiseLinear,
    WithFailure,
    renyi_epsilon,
    zcdp_epsilon,
)
from shiftdp.fdp.renyi.conversions import (
    epsilon_asoodeh,
    epsilon_balle,
    epsilon_bun_steinke,
    epsilon_mironov,
)
from tests.fdp.catalogue import log_uniform

mus, deltas = log_uniform(1e-4, 30.0), log_uniform(1e-200, 0.9)
orders = st.floats(1.001, 500.0)


def published_rho(regularisation: float, epochs: int) -> float:
    """The prior bound of the MNIST table [YS22, Thm 3.3], as theory.md states it."""
    r, batches, c = 2 / 3, 40, 1 - 0.05 * regularisation
    fading = c ** (batches - 2) * (1 - c * c) * (1 - c ** (batches * (epochs - 1)))
    return r * r / 2 * (1 + fading / (1 - c**batches) ** 2)


@pytest.mark.parametrize(
    ("regularisation", "epochs", "published"),
    [
        (0.002, 50, 5.82),
        (0.002, 100, 7.61),
        (0.002, 200, 9.88),
        (0.004, 50, 5.61),
        (0.004, 100, 7.00),
        (0.004, 200, 8.38),
    ],
)
def test_the_published_figures(regularisation: float, epochs: int, published: float) -> None:
    epsilon = zcdp_epsilon(published_rho(regularisation, epochs), delta=1e-5).epsilon
    assert round(epsilon, 2) == published


@settings(max_examples=60)
@given(mus, deltas)
def test_all_four_are_above_the_truth(mu: float, delta: float) -> None:
    """G(mu) has rho = mu^2/2 exactly, so no conversion may go below its own epsilon."""
    f = GaussianTradeoff(mu)
    truth = f.epsilon(delta) * (1 - 1e-12)
    conversion = zcdp_epsilon(f.zcdp, delta=delta)
    assert conversion.bun_steinke is not None
    values = (conversion.mironov, conversion.balle, conversion.asoodeh, conversion.bun_steinke)
    assert min(values) >= truth
    assert conversion.epsilon == min(values)
    # the closed form of the optimum over orders [Mir17]
    rho = mu * mu / 2
    best = rho + 2 * math.sqrt(-rho * math.log(delta))
    if 1.01 < 1 + math.sqrt(-math.log(delta) / rho) < 1e5:
        assert conversion.mironov == pytest.approx(best, rel=1e-9)
    assert conversion.bun_steinke <= best * (1 + 1e-12)


@settings(max_examples=300)
@given(st.sampled_from([GaussianTradeoff, LaplaceTradeoff, ApproxDPTradeoff]), mus, orders, deltas)
def test_every_single_order_is_valid(
    family: type[GaussianTradeoff] | type[LaplaceTradeoff] | type[ApproxDPTradeoff],
    mu: float,
    order: float,
    delta: float,
) -> None:
    f = family(mu)
    divergence = f.renyi(order)
    truth = f.epsilon(delta) * (1 - 1e-12)
    for formula in (epsilon_mironov, epsilon_balle, epsilon_asoodeh):
        assert formula(order, divergence, delta) >= truth


@given(orders, log_uniform(1e-6, 50.0), deltas)
def test_the_refined_formulas_refine(order: float, divergence: float, delta: float) -> None:
    """Both later formulas improve on the first, at every order."""
    plain = epsilon_mironov(order, divergence, delta) * (1 + 1e-13)
    assert epsilon_balle(order, divergence, delta) <= plain
    assert epsilon_asoodeh(order, divergence, delta) <= plain


@given(orders, log_uniform(1e-6, 30.0), log_uniform(1e-30, 0.9))
def test_the_formulas_by_hand(order: float, divergence: float, delta: float) -> None:
    a, r = order, divergence
    assert epsilon_mironov(a, r, delta) == pytest.approx(r + math.log(1 / delta) / (a - 1))
    balle = r + math.log((a - 1) / a) - (math.log(delta) + math.log(a)) / (a - 1)
    assert epsilon_balle(a, r, delta) == pytest.approx(max(0.0, balle), rel=1e-9, abs=1e-9)
    if (a - 1) * r < 600.0:
        asoodeh = math.log1p(math.expm1((a - 1) * r) / (a * delta)) / (a - 1)
        assert epsilon_asoodeh(a, r, delta) == pytest.approx(asoodeh, rel=1e-9)


@given(log_uniform(1e-8, 100.0), deltas)
def test_bun_steinke_solves_its_equation(rho: float, delta: float) -> None:
    epsilon = float(epsilon_bun_steinke(np.array([rho]), delta)[0])
    assert epsilon >= rho
    x = 1 + (epsilon - rho) / (2 * rho)
    tail = 2 / (x + math.sqrt(x * x + 4 / (math.pi * rho)))
    factor = min(1.0, math.sqrt(math.pi * rho), 1 / x, tail)
    log_delta = -((epsilon - rho) ** 2) / (4 * rho) + math.log(factor)
    assert log_delta <= math.log(delta) * (1 + 1e-15)
    if epsilon > rho:
        assert log_delta == pytest.approx(math.log(delta), rel=1e-9, abs=1e-9)


def test_extremes_do_not_overflow() -> None:
    for rho, delta in itertools.product(
        (0.0, 5e-324, 1e-300, 1e-9, 1e9, 1e300), (5e-324, 1e-5, 0.99)
    ):
        conversion = zcdp_epsilon(rho, delta=delta)
        assert conversion.epsilon >= 0.0
        assert math.isfinite(conversion.epsilon)
        if rho == 0.0:
            assert conversion.epsilon <= 1e-3
    everything = renyi_epsilon(lambda order: math.inf, delta=1e-5)
    assert everything.epsilon == math.inf
    assert everything.bun_steinke is None
    with pytest.raises(InvalidInput, match="curve"):
        renyi_epsilon(lambda order: -order, delta=1e-5)
    undefined = renyi_epsilon(lambda order: 0.5 * order if order < 50 else math.nan, delta=1e-5)
    assert undefined.epsilon == pytest.approx(renyi_epsilon(lambda a: 0.5 * a, delta=1e-5).epsilon)


def test_only_finitely_many_orders_known() -> None:
    known = {2.0: 0.5, 8.0: 2.0}

    def curve(order: float) -> float:
        return known[min(k for k in known if k >= order)] if order <= 8 else math.inf

    steps = renyi_epsilon(curve, delta=1e-6)
    expected = min(epsilon_mironov(order, value, 1e-6) for order, value in known.items())
    assert steps.mironov == pytest.approx(expected, rel=0.02)
    assert steps.mironov >= expected


@given(log_uniform(1e-12, 20.0), st.floats(1.0000001, 100.0))
def test_small_parameters_keep_their_digits(e: float, order: float) -> None:
    """log E r^a is near a (a-1)/2 times the variance of the loss, mu^2 in all three families."""
    assert GaussianTradeoff(e).renyi(order) == pytest.approx(order * e * e / 2, rel=1e-14)
    laplace, pure = LaplaceTradeoff(e).renyi(order), ApproxDPTradeoff(e).renyi(order)
    assert 0.0 < laplace <= e * (1 + 1e-14)
    assert 0.0 < pure <= e * (1 + 1e-14)
    if order * e < 1e-4:
        assert laplace == pytest.approx(order * e * e / 2, rel=1e-3)
        assert pure == pytest.approx(order * e * e / 2, rel=1e-3)


@given(log_uniform(1e-6, 5.0), st.floats(1.001, 30.0))
def test_closed_forms_of_renyi_divergence(e: float, order: float) -> None:
    import mpmath
    from mpmath import mpf

    a, m = mpf(order), mpf(e)
    two_atoms = (mpmath.exp(a * m) + mpmath.exp((1 - a) * m)) / (1 + mpmath.exp(m))
    laplace = (a * mpmath.exp((a - 1) * m) + (a - 1) * mpmath.exp(-a * m)) / (2 * a - 1)
    for f, moment in ((ApproxDPTradeoff(e), two_atoms), (LaplaceTradeoff(e), laplace)):
        true = mpmath.log(moment) / (a - 1)
        assert mpf(f.renyi(order)) >= true
        assert f.renyi(order) == pytest.approx(float(true), rel=1e-11)


def test_renyi_of_composites() -> None:
    f, g = GaussianTradeoff(1.0), GaussianTradeoff(2.0)
    moments = [math.exp(h.renyi(3.0) * 2.0) for h in (f, g)]
    assert Mixture([f, g]).renyi(3.0) == pytest.approx(math.log(sum(moments) / 2) / 2)
    worst = Minimum([f, g]).renyi(3.0)
    assert g.renyi(3.0) <= worst <= math.log(sum(moments)) / 2
    assert Minimum([GaussianTradeoff(50.0), f]).renyi(9.0) == pytest.approx(9 * 1250.0)
    assert WithFailure(f, 0.0).renyi(3.0) == f.renyi(3.0)
    assert WithFailure(f, 1e-9).renyi(3.0) == math.inf
    assert ApproxDPTradeoff(1.0, 1e-9).renyi(2.0) == math.inf
    corner = PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0])
    assert corner.renyi(2.0) == pytest.approx(math.log(0.25 * 9 + 0.75 / 9))
    steep = PiecewiseLinear([0, 1e-200, 1], [1, 0.5, 0])
    assert steep.renyi(3.0) == math.inf
    assert f.renyi(2.0) * 0.25 < f.subsample(0.5).renyi(2.0) < f.renyi(2.0)


@given(mus)
def test_zcdp_is_rounded_up(mu: float) -> None:
    from fractions import Fraction

    rho = GaussianTradeoff(mu).zcdp
    assert Fraction(rho) >= Fraction(mu) ** 2 / 2
    assert rho == pytest.approx(mu * mu / 2, rel=1e-15)
    assert np.isfinite(rho)
