"""Renyi moments of steps with random participation: never below the exact ones, and close."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    LaplaceTradeoff,
    Minimum,
    PiecewiseLinear,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    Subsampled,
    TradeoffFunction,
    WithFailure,
)
from shiftdp.fdp._quadrature import legendre
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.functions.sampled_step import SampledStep
from shiftdp.fdp.renyi.conversions import epsilon_balle
from shiftdp.fdp.renyi.halves import halves_log_moment
from shiftdp.fdp.renyi.line import line_log_moment, log_excess, participating
from shiftdp.fdp.renyi.sampled_profile import sampled_log_moment
from tests.fdp.catalogue import log_uniform

Pair = tuple[float, float]
ORDERS = [1.01, 1.1, 1.5, 2.0, 3.7, 8.0, 32.0, 64.0, 128.0, 256.0]
CLOSE = 1e-9  # of M - 1
probabilities, sizes = log_uniform(1e-5, 0.9), log_uniform(0.01, 4.0)
orders = st.sampled_from(ORDERS[:7]) | st.floats(1.001, 20.0)


def exact_line(p: float, above: Pair, below: Pair, order: float) -> mpf:
    """M - 1 in 40 digits, by a trapezoid sum ten times as fine and to 16 standard deviations."""
    with mpmath.workdps(40):
        (a, d), (b, e) = [tuple(map(mpf, pair)) for pair in (above, below)]
        q, k, s = 1 - mpf(p), mpf(order), mpf(order) - 1

        def g(x: mpf) -> mpf:
            up = q * mpmath.exp(a * (x - a / 2)) + p * mpmath.exp(d * (x - d / 2))
            down = q * mpmath.exp(-b * (x + b / 2)) + p * mpmath.exp(-e * (x + e / 2))
            return mpmath.npdf(x) * (up**k * down**-s - k * up + s * down)

        h = 1 / (6 * (1 + (d - a) + (e - b) * mpmath.sqrt(1 + s)))
        left, right = int((e + 16) / h), int((k * d + s * e + 16) / h)
        return h * mpmath.fsum(g(h * j) for j in range(-left, right + 1))


def exact_halves(p: float, a: float, d: float, order: float) -> mpf:
    """M - 1 in 30 digits, by mpmath's own quadrature."""
    with mpmath.workdps(30):
        w, m, n, k = mpf(p), mpf(a), mpf(d), mpf(order)

        def h(loss: mpf) -> mpf:
            return -mpmath.expm1(k * loss) * mpmath.expm1((1 - k) * loss)

        def far(x: mpf) -> mpf:
            up = (1 - w) * mpmath.exp(m * (x - m / 2)) + w * mpmath.exp(n * (x - n / 2))
            return mpmath.npdf(x) * h(mpmath.log(up))

        knot, end = (m + n) / 2, k * n + n + 14
        total = mpmath.quad(far, mpmath.linspace(knot, end, int(end - knot) + 2))
        for weight, mu in ((1 - w, m), (w, n)):
            if a > 0:
                last = m * n / (2 * mu)
                cells = mpmath.linspace(0, last, int(last) + 3)
                near = mpmath.quad(
                    lambda v, mu=mu: mpmath.npdf(v + mu / 2) * h(mu * v), cells
                )  # the loop's own mu
                total += weight * near
        return total


def agrees(found: float, exact: mpf, close: float = CLOSE) -> bool:
    """Not below, and above by no more than a part of M - 1."""
    with mpmath.workdps(40):
        excess = mpmath.expm1(mpf(found))
        return bool(exact <= excess <= exact * (1 + close))


# --- on the line ---


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
        assert agrees(line_log_moment(p, above, below, order), exact)


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
    assert agrees(both._log_moment(order), exact_line(p, (a, both._d), (0, s), order))
    shifted = ShiftedSubsampled(p, a, s)
    assert agrees(shifted._log_moment(order), exact_halves(p, a, shifted._d, order))
    sampled = GaussianTradeoff(s).subsample(p)
    assert agrees(sampled._log_moment(order), exact_halves(p, 0.0, s, order))


@given(st.floats(0.01, 0.99), log_uniform(1e-3, 5.0), st.floats(1.001, 60.0))
def test_two_equal_components_are_one_gaussian(p: float, mu: float, order: float) -> None:
    exact = order * (order - 1.0) * mu * mu / 2.0
    for pair in (((mu, mu), (0.0, 0.0)), ((0.0, 0.0), (mu, mu))):
        found = line_log_moment(p, *pair, order)
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


# --- on half-lines ---


@settings(max_examples=10)
@given(probabilities, st.sampled_from([0.0, 0.02, 0.5, 0.98]), sizes, orders)
def test_symmetric_steps_against_mpmath(p: float, share: float, d: float, order: float) -> None:
    assume(order * d <= 10.0)
    exact = exact_halves(p, share * d, d, order)
    assert agrees(halves_log_moment(p, share * d, d, order), exact)


def test_nodes_and_weights_are_those_of_gauss() -> None:
    """What the error bound takes for granted: nodes to 8u, weights to 1024u."""
    nodes, weights = legendre()
    with mpmath.workdps(40):
        for x, weight in zip(nodes, weights, strict=True):
            root = mpmath.findroot(lambda t: mpmath.legendre(nodes.size, t), mpf(float(x)))
            before = nodes.size * mpmath.legendre(nodes.size - 1, root)
            exact = 2 * (1 - root**2) / before**2
            assert abs(root - mpf(float(x))) <= 8 * mpf(2) ** -53
            assert abs(weight / exact - 1) <= 1024 * mpf(2) ** -53


# --- from the profile ---


@pytest.mark.parametrize(
    ("p", "mu", "order"), [(0.01, 1.0, 2.0), (0.1, 0.3, 8.0), (0.5, 2.0, 64.0)]
)
def test_sampled_laplace_against_mpmath(p: float, mu: float, order: float) -> None:
    with mpmath.workdps(30):
        w, m, k = mpf(p), mpf(mu), mpf(order)

        def h(u: mpf) -> mpf:
            loss = mpmath.log1p(w * mpmath.expm1(u))
            return -mpmath.expm1(k * loss) * mpmath.expm1((1 - k) * loss)

        between = mpmath.quad(lambda u: mpmath.exp(-(u + m) / 2) / 4 * h(u), [0, m / 2, m])
        exact = between + mpmath.exp(-m) / 2 * h(m)
    assert agrees(LaplaceTradeoff(mu).subsample(p)._log_moment(order), exact, 1e-5)


@pytest.mark.parametrize(("p", "order"), [(0.05, 1.5), (0.3, 2.0), (0.1, 8.0)])
def test_the_profile_of_a_gaussian_gives_its_moment(p: float, order: float) -> None:
    """Losses without end: the tail is bounded by the moment of twice the order."""
    base = GaussianTradeoff(1.0)
    exact = exact_halves(p, 0.0, 1.0, order)
    assert agrees(sampled_log_moment(base.subsample(p), base, p, order), exact, 0.01)


def test_sampling_what_is_not_symmetric() -> None:
    """f_p has the moment of (1-p) P + p Q, and C_p(f) leaks no less."""
    f = PiecewiseLinear([0.0, 0.1, 0.6, 1.0], [1.0, 0.5, 0.1, 0.0])
    p, order = 0.2, 3.0
    alpha, beta = np.diff(f.alpha), -np.diff(f.beta)
    forward = float(alpha @ (1 - p + p * beta / alpha) ** order)
    backward = float((alpha + p * (beta - alpha)) @ (alpha / (alpha + p * (beta - alpha))) ** order)
    found = math.exp(Subsampled(f, p)._log_moment(order))
    assert max(forward, backward) <= found <= 1 + p * (math.exp(f._log_moment(order)) * 2)


# --- what has no finite moment, or no sum ---


@pytest.mark.parametrize(
    "f",
    [
        WithFailure(GaussianTradeoff(1.0).subsample(0.1), 1e-9),
        ApproxDPTradeoff(1.0, 1e-9).subsample(0.1),
        GaussianTradeoff(math.inf).subsample(0.1),
        PiecewiseLinear([0.0, 1.0], [0.9, 0.0]),
    ],
)
def test_infinite_losses(f: TradeoffFunction) -> None:
    assert f.renyi(2.0) == math.inf


@pytest.mark.parametrize("order", [1 + 1e-9, 1.5, 50.0, 1e4, 1e8])
@pytest.mark.parametrize(
    ("p", "a", "s"), [(1e-300, 0.0, 1.0), (0.5, 1e-9, 1e-9), (0.1, 3.0, 200.0)]
)
def test_far_from_the_ordinary(p: float, a: float, s: float, order: float) -> None:
    """Between the moment of either component alone, by its weight, and that of taking part."""
    steps: list[SampledStep] = [
        ShiftedSubsampled(p, a, s),
        PoissonZeroOut(p, a, s, swapped=True),
        PoissonReplaceOne(p, a, s),
    ]
    for f in steps:
        found = f._log_moment(order)
        pure = order * (order - 1.0) / 2.0
        assert max(0.0, order * math.log(p) + pure * (a + s) ** 2) * (1 - 1e-9) <= found
        assert order * math.log1p(-p) + pure * a * a <= found * (1 + 1e-9) + 1e-15
        assert found <= participating(p, a, f._span, order) * (1 + 1e-12)


# --- products ---


def test_moments_of_products_are_multiplied() -> None:
    parts: list[tuple[TradeoffFunction, int]] = [
        (GaussianTradeoff(0.5), 2),
        (GaussianTradeoff(1.0).subsample(0.01), 1000),
        (ShiftedSubsampled(0.01, 0.1, 1.0), 10**6),
    ]
    product = Composite(tuple(parts))
    for order in (1.01, 2.0, 30.0):
        expected = math.fsum(k * f._log_moment(order) for f, k in parts)
        assert expected <= product._log_moment(order) <= expected * (1 + 1e-14)
        assert product.renyi(order) == product._log_moment(order) / (order - 1.0)


@pytest.mark.parametrize(
    "f",
    [
        GaussianTradeoff(1.0).subsample(0.02),
        ShiftedSubsampled(0.02, 0.01, 1.0),
        PoissonReplaceOne(0.02, 0.01, 0.5),
        PoissonZeroOut(0.02, 0.0, 1.0),
        PoissonZeroOut(0.02, 0.0, 1.0, swapped=True),
    ],
)
def test_divergences_rise_with_the_order_and_prove_less_than_the_profile(
    f: TradeoffFunction,
) -> None:
    product = f.power(300)
    values = [product.renyi(order) for order in ORDERS]
    assert all(one < two * (1 + 1e-9) for one, two in pairwise(values))
    orders = 1.0 + np.geomspace(0.5, 100.0, 12)
    converted = min(epsilon_balle(k, product.renyi(k), 1e-5) for k in orders.tolist())
    low, _ = product.epsilon_interval(1e-5)  # type: ignore[attr-defined]
    assert low <= converted <= 1.5 * low + 0.1


def test_the_worse_of_two_leaks_more_than_both() -> None:
    there = PoissonZeroOut(0.1, 0.0, 1.0)
    both = Minimum((there, there.inverse()))
    assert max(there.renyi(4.0), there.inverse().renyi(4.0)) <= both.renyi(4.0)
