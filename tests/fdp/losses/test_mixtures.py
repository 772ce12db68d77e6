"""The laws of steps with random participation."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import (
    GaussianTradeoff,
    HiddenReplaceOne,
    HiddenZeroOut,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    privacy_loss,
)
from shiftdp.fdp.losses.law import Side
from tests.fdp import exact, mixtures
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, laws, on_the_line
from tests.fdp.losses.reference import (
    Number,
    Triple,
    assert_right,
    integral,
    on_line,
    signed,
    step,
)


@given(log_uniform(1e-4, 12.0), log_uniform(1e-6, 0.999), log_uniform(1e-9, 1e3))
def test_subsampled_gaussian(mu: float, p: float, x: float) -> None:
    """The distribution function F_Y of the paper; under P the loss is -Y. [prop subgdpcdf]"""
    f = GaussianTradeoff(mu).subsample(p)

    def distribution(t: Number) -> tuple[Number, Number]:
        m, q, half = mpf(mu), mpf(p), mpf(mu) / 2
        e = mpmath.log((q - 1 + mpmath.exp(abs(t))) / q) / m
        if t <= 0:
            return exact.upper_tail(e + half), exact.upper_tail(-e - half)
        up = q * exact.upper_tail(e - half) + (1 - q) * exact.upper_tail(e + half)
        down = q * exact.upper_tail(half - e) + (1 - q) * exact.upper_tail(-e - half)
        return down, up

    def reference(at: Number, side: Side) -> Triple:
        t = at if side == "Q" else -at
        left, right = distribution(t)
        e = mpmath.exp(abs(t))
        inner = mpmath.log((mpf(p) - 1 + e) / mpf(p)) / mpf(mu) + mpf(mu) / 2
        # of z = eps/mu + mu/2, N(0) under P; d eps/dt = e^t/(p - 1 + e^t)
        density = mpmath.npdf(inner) * e / (mpf(p) - 1 + e) / mpf(mu)
        density *= e if t > 0 else 1
        return (left, right, density) if side == "Q" else (right, left, density)

    for point in (x, -x):
        assert_right(f, point, reference)


@settings(max_examples=15)
@given(
    st.booleans() | st.none(),
    log_uniform(1e-6, 0.999),
    st.just(0.0) | log_uniform(1e-4, 8.0),
    log_uniform(1e-3, 8.0),
    signed(1e-6, 1e3),
)
def test_poisson(swapped: bool | None, p: float, a: float, s: float, x: float) -> None:
    f = PoissonReplaceOne(p, a, s) if swapped is None else PoissonZeroOut(p, a, s, swapped)
    with mpmath.workdps(60):
        upper, lower = mixtures.sides(f)
    assert_right(f, x, lambda at, side: on_line(upper, lower, at, side))


@settings(max_examples=15)
@given(
    st.booleans() | st.none(),
    laws(log_uniform(0.01, 8.0), log_uniform(1e-6, 1.0), 4),
    signed(1e-6, 1e3),
)
def test_hidden_participation(swapped: bool | None, law: Law, x: float) -> None:
    f = HiddenReplaceOne(*law) if swapped is None else HiddenZeroOut(*law, swapped=swapped)
    assume(f.gdp_mu is None)
    with mpmath.workdps(60):
        upper, lower = on_the_line(f)
    assert_right(f, x, lambda at, side: on_line(upper, lower, at, side))


@settings(max_examples=15)
@given(
    log_uniform(1e-6, 0.999),
    log_uniform(1e-4, 8.0),
    log_uniform(1e-3, 8.0),
    signed(1e-6, 1e3),
    st.booleans(),
)
def test_shifted_subsampled(p: float, a: float, s: float, x: float, inside: bool) -> None:
    f = ShiftedSubsampled(p, a, s)
    x = 0.5 * a * (a + s) * math.tanh(x) if inside else x
    assert_right(f, x, lambda at, side: step(f, at, side))


@pytest.mark.parametrize("x", [5e3, 1e4, -5e3, -1e4])
@pytest.mark.parametrize("p", [1e-3, 0.5])
def test_ten_thousand_below_zero(x: float, p: float) -> None:
    """Logarithms down to some -1e4 and below, of each step."""
    steps: list[PoissonZeroOut | PoissonReplaceOne] = [
        PoissonZeroOut(p, 1.0, 40.0), PoissonZeroOut(p, 1.0, 40.0, True),
        PoissonReplaceOne(p, 1.0, 40.0),
    ]  # fmt: skip
    for f in steps:
        with mpmath.workdps(60):
            upper, lower = mixtures.sides(f)
        assert_right(f, x, lambda at, side: on_line(upper, lower, at, side))  # noqa: B023
    g = ShiftedSubsampled(p, 1.0, 40.0)
    assert_right(g, x, lambda at, side: step(g, at, side))
    assert privacy_loss(g).log_cdf(-abs(x)) < -5e3


def test_atom_of_subsampled_gaussian() -> None:
    """(1-p) erf(mu/sqrt 8), which is what F_Y jumps by at 0."""
    for mu, p in ((1.0, 0.1), (1e-5, 1e-3), (10.0, 0.9)):
        atoms = privacy_loss(GaussianTradeoff(mu).subsample(p)).atoms
        jump = (1 - mpf(p)) * mpmath.erf(mpf(mu) / mpmath.sqrt(8))
        assert atoms.loss.tolist() == [0.0]
        assert atoms.log_mass[0] == pytest.approx(float(mpmath.log(jump)), rel=1e-14)


@settings(max_examples=20)
@given(
    log_uniform(1e-6, 0.999),
    st.just(0.0) | log_uniform(1e-3, 5.0),
    log_uniform(1e-3, 5.0),
    st.integers(2, 60) | st.integers(500, 600),
)
def test_moment_of_one_sided_mixtures(p: float, a: float, s: float, n: int) -> None:
    """E_{N(0)}[r^n] for whole n: the binomial sum over products of components.

    The product of n components with means m_i has expectation exp(sum_{i<j} m_i m_j).
    """
    with mpmath.workdps(60):
        w, low, high = mpf(p), mpf(a), mpf(a) + mpf(s)
        total = mpf(0)
        for k in range(n + 1):
            mean = (n - k) * low + k * high
            squares = (n - k) * low**2 + k * high**2
            weight = mpmath.binomial(n, k) * (1 - w) ** (n - k) * w**k
            total += weight * mpmath.exp((mean**2 - squares) / 2)
        want = float(mpmath.log(total))
    # z^2/2 is rounded where the integrand has its maximum, up to z = n d
    room = 1e-13 + 4e-16 * (n * (a + s)) ** 2 / max(want, 1.0)
    for f, order in ((PoissonZeroOut(p, a, s, True), n - 1.0), (PoissonZeroOut(p, a, s), -n)):
        assert privacy_loss(f).log_mgf(order) == pytest.approx(want, rel=room)


TWO_SIDED = [
    (0.1, 0.0, 1.0, 3.5), (0.01, 0.1, 1.0, -0.5), (0.3, 0.5, 2.0, 1e-3), (0.9, 0.2, 0.5, -8.25),
    (3e-4, 0.0, 3.0, 5e-6),  # log M is some 1e-10
]  # fmt: skip


@pytest.mark.parametrize(("p", "a", "s", "order"), TWO_SIDED)
def test_moment_of_two_sided_mixtures(p: float, a: float, s: float, order: float) -> None:
    with mpmath.workdps(30):
        upper, lower = mixtures.sides(PoissonReplaceOne(p, a, s))
        t = mpf(order)

        def integrand(z: Number) -> Number:
            q = sum(w * mpmath.npdf(z - m) for w, m in upper)
            return q * mpmath.exp(t * mixtures.log_ratio(upper, lower, z))

        # where q^{1+t} p^{-t} and q have their maxima, and 12 standard deviations more
        ends = [(1 + k) * m - k * n for k in (t, 0) for _, m in upper for _, n in lower]
        want = float(mpmath.log(integral(integrand, min(ends) - 12, max(ends) + 12)))
    assert privacy_loss(PoissonReplaceOne(p, a, s)).log_mgf(order) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(("p", "a", "s", "order"), TWO_SIDED)
def test_moment_of_shifted_subsampling(p: float, a: float, s: float, order: float) -> None:
    """M = 1 + t (t + 1) int_0^inf (e^{te} + e^{-(t+1)e}) delta(e) de, of the profile of B2."""
    f = ShiftedSubsampled(p, a, s)
    with mpmath.workdps(30):
        t, w, low = mpf(order), mpf(p), mpf(a)
        high = low + mpf(s)
        knot, edge = low * high / 2, (low + high) / 2

        # outside the knot over z, with eps = log r and r' = d r/dz
        def outer(z: Number) -> Number:
            first = (1 - w) * mpmath.exp(low * (z - low / 2))
            second = w * mpmath.exp(high * (z - high / 2))
            r = first + second
            delta = (1 - w) * exact.upper_tail(z - low) + w * exact.upper_tail(z - high)
            delta -= r * exact.upper_tail(z)
            rise = (low * first + high * second) / r
            return (r**t + r ** (-t - 1)) * delta * rise

        def inner(e: Number) -> Number:
            return (mpmath.exp(t * e) + mpmath.exp(-(t + 1) * e)) * exact.delta(f, e)

        reach = max(edge, (abs(t) + 1) * high) + 10
        total = integral(outer, edge, reach) + (integral(inner, 0, knot) if a > 0 else 0)
        want = float(mpmath.log1p(t * (t + 1) * total))
    assert privacy_loss(f).log_mgf(order) == pytest.approx(want, rel=1e-12)
