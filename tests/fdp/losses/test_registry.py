"""Privacy-loss laws against the definitions of the pairs, in 45 digits, far into both tails.

A logarithm is held to 1e-13 of its size (at least 1), about the rounding of z^2/2 at a Gaussian
tail, and beyond that to the change of the exact value when x is moved by 8 units in the last place:
where the law ends, as that of a Poisson step at log(1 - p), no formula in floats can do better.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp._errors import InvalidInput, NoClosedForm
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Mixture,
    PiecewiseLinear,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    TradeoffFunction,
    WithFailure,
    privacy_loss,
)
from shiftdp.fdp.losses import PrivacyLoss, loss_law
from shiftdp.fdp.losses.law import Side
from tests.fdp import exact, mixtures
from tests.fdp.catalogue import CATALOGUE, asymmetric, log_uniform, symmetric

Number = Any
Triple = tuple[Number, Number, Number]
"""Pr(L <= x), Pr(L > x) and the density."""

SIDES: tuple[Side, Side] = ("Q", "P")
_KINDS = (
    "Identity", "Gaussian", "ApproxDP", "Laplace", "PiecewiseLinear", "PiecewiseLinear, symmetric",
    "PiecewiseLinear of guarantees", "Mixture", "WithFailure", "Subsampled Identity",
    "Subsampled Gaussian", "Subsampled ApproxDP", "ShiftedSubsampled", "PoissonZeroOut",
    "PoissonReplaceOne",
)  # fmt: skip
KINDS = {name: CATALOGUE[name] for name in _KINDS}
KINDS["Subsampled symmetric PiecewiseLinear"] = st.builds(
    lambda f, p: f.subsample(p), symmetric, log_uniform(1e-6, 1.0)
)
STEPS = st.one_of(
    KINDS["ShiftedSubsampled"],
    KINDS["PoissonZeroOut"],
    KINDS["PoissonReplaceOne"],
    st.builds(
        lambda mu, p: GaussianTradeoff(mu).subsample(p),
        log_uniform(1e-4, 12.0),
        log_uniform(1e-6, 0.999),
    ),
)
every_kind = pytest.mark.parametrize("kind", KINDS)


def signed(low: float, high: float) -> st.SearchStrategy[float]:
    return st.builds(math.copysign, log_uniform(low, high), st.sampled_from([-1.0, 1.0]))


def log_of(value: Number) -> float:
    return float(mpmath.log(value)) if value > 0 else -math.inf


def assert_close(got: float, ends: Sequence[float]) -> None:
    low, high = min(ends), max(ends)
    assert not math.isnan(got)
    if math.isinf(got):
        assert low <= got <= high
    else:
        room = 1e-13 * max(1.0, abs(got))
        assert low - room <= got <= high + room


def assert_right(
    f: TradeoffFunction, x: float, reference: Callable[[Number, Side], Triple | None]
) -> None:
    with mpmath.workdps(60):
        nearby = [mpf(x) * (1 + k * mpf(2) ** -50) for k in (-2, 0, 2)]
        for side in SIDES:
            law = privacy_loss(f, under=side)
            triples = [reference(point, side) for point in nearby]
            got = (law.log_cdf(x), law.log_survival(x), law.log_density(x))
            for i, value in enumerate(got):
                ends = [log_of(t[i]) for t in triples if t is not None]
                assert_close(value, ends)


# --- from the definitions ----------------------------------------------------------------------


def place(upper: mixtures.Mixture, lower: mixtures.Mixture, x: Number) -> Number | None:
    """Where on the line the rising log ratio is x; None beyond what it reaches."""
    low, high = mpf(-1), mpf(1)
    while mixtures.log_ratio(upper, lower, low) > x and low > -1e9:
        low *= 2
    while mixtures.log_ratio(upper, lower, high) < x and high < 1e9:
        high *= 2
    if low < -1e9 or high > 1e9:
        return None
    return mixtures.rising_root(lambda z: mixtures.log_ratio(upper, lower, z) - x, low, high)


def on_line(
    upper: mixtures.Mixture, lower: mixtures.Mixture, x: Number, side: Side
) -> Triple | None:
    z = place(upper, lower, x)
    if z is None:
        below = mixtures.log_ratio(upper, lower, mpf(0)) > x
        return (mpf(0), mpf(1), mpf(0)) if below else (mpf(1), mpf(0), mpf(0))
    mixture = upper if side == "Q" else lower
    left = mixtures.mass_right([(w, -m) for w, m in mixture], -z)

    def density(side_of: mixtures.Mixture, power: int = 0) -> Number:
        return sum(w * m**power * mpmath.npdf(z - m) for w, m in side_of)

    slope = density(upper, 1) / density(upper) - density(lower, 1) / density(lower)
    return left, mixtures.mass_right(mixture, z), density(mixture) / slope


def gaussian(mu: Number, x: Number, side: Side) -> Triple:
    v = x / mu + (-mu / 2 if side == "Q" else mu / 2)
    return exact.upper_tail(-v), exact.upper_tail(v), mpmath.npdf(v) / mu


def mirrored(triple: Triple | None) -> Triple | None:
    return None if triple is None else (triple[1], triple[0], triple[2])


def step(f: ShiftedSubsampled, x: Number, side: Side) -> Triple | None:
    """As Theorem B2 says which pair attains the profile at each eps."""
    p, a = mpf(f.p), mpf(f.a)
    d = a + mpf(f.s)
    if x < 0:
        return mirrored(step(f, -x, "P" if side == "Q" else "Q"))
    if x <= a * d / 2 and a > 0:
        first, second = gaussian(a, x, side), gaussian(d, x, side)
        return tuple((1 - p) * u + p * v for u, v in zip(first, second, strict=True))
    return on_line([(1 - p, a), (p, d)], [(mpf(1), mpf(0))], x, side)


@given(log_uniform(1e-6, 1e3), signed(1e-12, 140.0))
def test_gaussian(mu: float, v: float) -> None:
    x = v * mu + 0.5 * mu * mu
    assume(x != 0.0)
    assert_right(GaussianTradeoff(mu), x, lambda at, side: gaussian(mpf(mu), at, side))


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


@given(log_uniform(1e-6, 800.0), st.floats(-1.5, 1.5))
def test_laplace(mu: float, share: float) -> None:
    """|Z| - |Z - mu| for Z from Lap(mu), or from Lap(0)."""
    assume(abs(abs(share) - 1.0) > 1e-9 and share != 0.0)

    def reference(at: Number, side: Side) -> Triple:
        if abs(at) >= mu:
            return (mpf(1), mpf(0), mpf(0)) if at > 0 else (mpf(0), mpf(1), mpf(0))
        v = (at + mpf(mu)) / 2 - (mpf(mu) if side == "Q" else 0)
        tail = mpmath.exp(-abs(v)) / 2
        # the density of Z, twice as dense as that of the loss
        return (tail, 1 - tail, tail / 2) if v < 0 else (1 - tail, tail, tail / 2)

    assert_right(LaplaceTradeoff(mu), share * mu, reference)
    atoms = privacy_loss(LaplaceTradeoff(mu)).atoms
    assert atoms.loss.tolist() == [-mu, mu]
    assert atoms.log_mass == pytest.approx([-mu - math.log(2), -math.log(2)], rel=1e-15)


def pieces(f: PiecewiseLinear) -> list[tuple[Number, Number]]:
    """The masses of P and Q on each piece, which the knots have exactly."""
    alpha, beta = [mpf(a) for a in f.alpha], [mpf(b) for b in f.beta]
    return [(alpha[i + 1] - alpha[i], beta[i] - beta[i + 1]) for i in range(len(alpha) - 1)]


@given(asymmetric, st.floats(-15.0, 15.0))
def test_finitely_many_losses(f: PiecewiseLinear, x: float) -> None:
    losses = [float(mpmath.log(q / p)) for p, q in pieces(f)]
    assume(all(abs(loss - x) > 1e-9 for loss in losses))
    for side, which in (("P", 0), ("Q", 1)):
        law = privacy_loss(f, under=side)  # type: ignore[arg-type]
        masses = list(zip(losses, (piece[which] for piece in pieces(f)), strict=True))
        left = sum((m for loss, m in masses if loss < x), mpf(0))
        right = sum((m for loss, m in masses if loss > x), mpf(0))
        assert_close(law.log_cdf(x), [log_of(left)])
        assert_close(law.log_survival(x), [log_of(right)])
        assert law.log_density(x) == -math.inf
        together = sorted(losses)
        apart = [b - a > 1e-9 for a, b in itertools.pairwise(together)]
        if all(apart):
            assert law.atoms.loss == pytest.approx(together, rel=1e-13, abs=1e-15)


def test_failure_and_pure_privacy() -> None:
    """(eps, delta)-DP: revealed with probability delta, else two atoms."""
    law = privacy_loss(ApproxDPTradeoff(1000.0, 1e-6))
    assert law.atoms.loss.tolist() == [-1000.0, 1000.0, math.inf]
    rest = math.log1p(-1e-6)
    assert law.atoms.log_mass == pytest.approx([rest - 1000.0, rest, math.log(1e-6)], rel=1e-15)
    assert law.log_survival(2000.0) == pytest.approx(math.log(1e-6), rel=1e-15)
    assert law.log_cdf(math.inf) == 0.0
    assert law.log_survival(math.inf) == -math.inf
    assert law.log_mgf(1e-9) == math.inf
    assert law.log_mgf(0.0) == 0.0
    assert law.log_mgf(-1.0) == pytest.approx(rest, rel=1e-12)
    back = privacy_loss(ApproxDPTradeoff(1000.0, 1e-6), under="P")
    assert back.atoms.loss.tolist() == [-math.inf, -1000.0, 1000.0]
    assert back.log_cdf(-math.inf) == pytest.approx(math.log(1e-6), rel=1e-15)
    assert back.log_survival(-math.inf) == pytest.approx(rest, rel=1e-12)
    nothing, all_of_it = privacy_loss(Identity()), privacy_loss(GaussianTradeoff(math.inf))
    assert nothing.atoms.loss.tolist() == [0.0]
    assert nothing.log_mgf([-7.0, 3.0]).tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    assert all_of_it.atoms.loss.tolist() == [math.inf]
    assert all_of_it.log_mgf(-1.0) == -math.inf


def test_atom_of_subsampled_gaussian() -> None:
    """(1-p) erf(mu/sqrt 8), which is what F_Y jumps by at 0."""
    for mu, p in ((1.0, 0.1), (1e-5, 1e-3), (10.0, 0.9)):
        atoms = privacy_loss(GaussianTradeoff(mu).subsample(p)).atoms
        jump = (1 - mpf(p)) * mpmath.erf(mpf(mu) / mpmath.sqrt(8))
        assert atoms.loss.tolist() == [0.0]
        assert atoms.log_mass[0] == pytest.approx(float(mpmath.log(jump)), rel=1e-14)


# --- identities --------------------------------------------------------------------------------


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_tails_are_slopes_of_the_profile(kind: str, data: st.DataObject) -> None:
    """P(L > x) = -d delta/d gamma and Q(L > x) = delta - gamma d delta/d gamma, gamma = e^x.

    A central difference of width 1e-14 in 45 digits is right to some 1e-24, atoms aside.
    """
    f = data.draw(KINDS[kind])
    x = data.draw(st.floats(-3.0, 3.0) | signed(1e-3, 20.0))
    laws = [privacy_loss(f, under=side) for side in SIDES]
    finite = laws[0].atoms.loss[np.isfinite(laws[0].atoms.loss)]
    assume(np.all(np.abs(finite - x) > 1e-9))
    if isinstance(f, ShiftedSubsampled):
        assume(abs(abs(x) - 0.5 * f.a * (f.a + f.s)) > 1e-9)
    gamma, h = mpmath.exp(mpf(x)), mpf(10) ** -14
    around = [exact.delta(f, mpf(x) + mpmath.log1p(k * h)) for k in (-1, 0, 1)]
    beyond_p = (around[0] - around[2]) / (2 * h * gamma)
    beyond_q = around[1] + gamma * beyond_p
    for law, beyond in zip(laws, (beyond_q, beyond_p), strict=True):
        assert math.exp(law.log_survival(x)) == pytest.approx(float(beyond), rel=1e-11, abs=1e-18)
        assert math.exp(law.log_cdf(x)) == pytest.approx(float(1 - beyond), rel=1e-11, abs=1e-18)


@every_kind
@settings(max_examples=15)
@given(st.data())
def test_laws_are_laws(kind: str, data: st.DataObject) -> None:
    """Nothing is ever nan; tails add up to 1; e^x dP = dQ; Q(L > x) = delta(x) + e^x P(L > x)."""
    f = data.draw(KINDS[kind])
    wild = data.draw(st.lists(st.floats(allow_nan=False) | signed(1e-9, 1e3), min_size=1))
    x = np.array([*wild, 0.0, math.inf, -math.inf, 5e-324, 1e300, -1e300])
    finite = np.isfinite(x) & (np.abs(x) < 500.0)
    laws = {side: privacy_loss(f, under=side) for side in SIDES}
    tails: dict[Side, Any] = {}
    for side, law in laws.items():
        left, right, density = law.log_cdf(x), law.log_survival(x), law.log_density(x)
        tails[side] = right
        assert not any(np.isnan(values).any() for values in (left, right, density))
        assert np.logaddexp(left, right) == pytest.approx(0.0, abs=1e-15)
        rising = np.asarray(left)[np.argsort(x)]
        assert np.all(rising[1:] >= rising[:-1] - 1e-15)
    q, p = (np.asarray(laws[side].log_density(x)) for side in SIDES)
    both = (q > -math.inf) & (p > -math.inf) & finite
    q, p, at = q[both], p[both], x[both]
    # z^2/2 is rounded on both sides
    assert np.all(np.abs(q - p - at) <= 1e-14 * (np.abs(q) + np.abs(p) + np.abs(at) + 1.0))
    e = x[finite]
    right = np.exp(tails["P"][finite] + e) + np.asarray(f.delta(e))
    # delta is rounded up, by at most a relative 1e-11, or what 1 - beta - gamma alpha loses
    knots = kind in ("Mixture", "WithFailure") or "PiecewiseLinear" in kind
    assert np.exp(tails["Q"][finite]) == pytest.approx(
        right, rel=2e-11, abs=4e-15 if knots else 1e-300
    )


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_exchanging_the_worlds(kind: str, data: st.DataObject) -> None:
    """L of f under P is -L of the inverse under Q."""
    f = data.draw(KINDS[kind])
    here, there = privacy_loss(f, under="P"), privacy_loss(f.inverse())
    x = data.draw(signed(1e-6, 100.0))
    assume(np.all(np.abs(here.atoms.loss - x) > 1e-9 * abs(x)))
    assert here.atoms.loss == pytest.approx(-there.atoms.loss[::-1], rel=1e-12)
    assert here.atoms.log_mass == pytest.approx(there.atoms.log_mass[::-1], rel=1e-12, abs=1e-12)
    assert here.log_cdf(x) == pytest.approx(there.log_survival(-x), rel=1e-12, abs=1e-12)
    assert here.log_density(x) == pytest.approx(there.log_density(-x), rel=1e-12, abs=1e-12)
    s = data.draw(st.floats(-20.0, 20.0))
    assert here.log_mgf(s) == pytest.approx(there.log_mgf(-s), rel=1e-11, abs=1e-13)


@given(STEPS | KINDS["Gaussian"] | KINDS["Laplace"], signed(1e-3, 10.0), log_uniform(1e-3, 0.1))
def test_density_integrates_to_the_tails(f: TradeoffFunction, v: float, width: float) -> None:
    """Gauss-Legendre with 40 nodes, over a part of a standard deviation."""
    law = privacy_loss(f)
    scale = math.sqrt(2.0 * abs(float(law.log_mgf(-0.5)))) * 2.0
    assume(scale > 0.0)
    low, high = v * scale, (v + width) * scale
    breaks = [0.0, *law.atoms.loss]
    if isinstance(f, ShiftedSubsampled):
        breaks += [0.5 * f.a * (f.a + f.s), -0.5 * f.a * (f.a + f.s)]
    if isinstance(f, PoissonZeroOut):
        breaks += [math.log1p(-f.p), -math.log1p(-f.p)]
    # not near a place where the law begins, or its density jumps
    assume(all(b < low - 2 * (high - low) or b > high + 2 * (high - low) for b in breaks))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x = low + 0.5 * (high - low) * (1.0 + nodes)
    density = np.asarray(law.log_density(x))
    right, left = np.asarray(law.log_survival([low, high])), np.asarray(law.log_cdf([low, high]))
    top = float(density.max())
    assume(top > -600.0)
    total = 0.5 * (high - low) * float(weights @ np.exp(density))
    tail = right if right[0] < left[1] else left[::-1]
    gap = math.exp(tail[0]) * -math.expm1(tail[1] - tail[0])
    # the difference of two tails loses what their ratio is close to 1
    assert total == pytest.approx(gap, rel=1e-10, abs=1e-13 * math.exp(tail[0]))


# --- the moment generating function ------------------------------------------------------------


@every_kind
@settings(max_examples=10)
@given(st.data())
def test_moment_is_one_at_zero_and_minus_one(kind: str, data: st.DataObject) -> None:
    f = data.draw(KINDS[kind])
    law = privacy_loss(f)
    assert law.log_mgf(0.0) == 0.0
    lost = privacy_loss(f, under="P").atoms
    missing = float(np.exp(lost.log_mass[lost.loss == -math.inf]).sum())
    assert law.log_mgf(-1.0) == pytest.approx(math.log1p(-missing), rel=1e-12, abs=1e-15)
    s = data.draw(st.floats(-30.0, 30.0))
    value = law.log_mgf(s)
    assert not math.isnan(value)
    if missing == 0.0 and math.isfinite(value):
        # convex, and 0 at both
        assert value >= -1e-13 if s * (s + 1.0) > 0 else value <= 1e-13
        assert privacy_loss(f, under="P").log_mgf(s + 1.0) == pytest.approx(value, rel=1e-12)


@given(log_uniform(1e-6, 1e3), st.floats(-1e3, 1e3))
def test_moment_of_gaussian(mu: float, s: float) -> None:
    want = mpf(s) * (mpf(s) + 1) * mpf(mu) ** 2 / 2
    assert privacy_loss(GaussianTradeoff(mu)).log_mgf(s) == pytest.approx(float(want), rel=1e-14)


@settings(max_examples=200)
@given(
    log_uniform(1e-6, 300.0),
    st.floats(-5.0, 5.0) | signed(1e-8, 1e3) | signed(1e-8, 1.0).map(lambda t: t - 0.5),
)
def test_moment_of_laplace(mu: float, s: float) -> None:
    """Two atoms and an exponential between them, integrated in 60 digits."""
    assume(abs(s + 0.5) > 1e-9 and abs(s) > 1e-9 and abs(s + 1) > 1e-9)
    with mpmath.workdps(60):
        m, t = mpf(mu), mpf(s)
        atoms = (mpmath.exp(t * m) + mpmath.exp(-(t + 1) * m)) / 2
        rate = t + mpf(1) / 2
        between = mpmath.exp(-m / 2) * (mpmath.exp(rate * m) - mpmath.exp(-rate * m)) / (4 * rate)
        want = float(mpmath.log(atoms + between))
    # s + 1 is rounded
    assert privacy_loss(LaplaceTradeoff(mu)).log_mgf(s) == pytest.approx(
        want, rel=1e-13 + 1e-15 / min(abs(s), abs(s + 1.0))
    )
    middle = m / 2 - mpmath.log1p(m / 2)
    assert privacy_loss(LaplaceTradeoff(mu)).log_mgf(-0.5) == pytest.approx(
        float(-middle), rel=1e-13
    )


@given(asymmetric, st.floats(-50.0, 50.0) | signed(1e-6, 1.0))
def test_moment_of_finitely_many_losses(f: PiecewiseLinear, s: float) -> None:
    """sum q_i (q_i/p_i)^s over the pieces."""
    want = mpmath.log(sum(q * (q / p) ** mpf(s) for p, q in pieces(f)))
    # masses are differences of knots, rounded, and so are the losses
    largest = max(abs(float(mpmath.log(q / p))) for p, q in pieces(f))
    assert privacy_loss(f).log_mgf(s) == pytest.approx(
        float(want), rel=1e-12, abs=4e-16 * (1 + abs(s)) * (1 + largest)
    )


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


def integral(function: Callable[[Number], Number], low: Number, high: Number) -> Number:
    count = int(1.5 * (high - low)) + 1
    edges = mpmath.linspace(low, high, count + 1)
    return mpmath.quad(function, edges, maxdegree=4, method="gauss-legendre")


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


@given(STEPS, st.floats(-2.0, 2.0) | signed(1e-6, 0.1))
def test_moment_agrees_with_the_contour(f: TradeoffFunction, s: float) -> None:
    """The quadrature of the contour, where floats hold its masses."""
    d = getattr(f, "a", 0.0) + getattr(f, "s", getattr(getattr(f, "base", None), "mu", 0.0))
    assume(d < 4.0)
    spread = 3.0 * (d + getattr(f, "s", 0.0)) + 9.0
    quadrature = loss_law(f).quadrature(-0.5 * spread * spread, 3.0)
    want = math.log1p(quadrature.excess(s))
    assert privacy_loss(f).log_mgf(s) == pytest.approx(want, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("s", [-1e6, -1e4, 1e3, 1e6])
def test_moment_of_any_order(s: float) -> None:
    """With t = max(s + 1, -s), M is p^t e^{t(t-1)d^2/2} but for what N(a) adds, which is less by a
    factor of e^{-t s d} for each time that it is chosen.
    """
    p, d, t = 0.01, 1.1, max(s + 1.0, -s)
    whole = 0.5 * t * (t - 1.0) * d * d
    for f in (PoissonZeroOut(p, 0.1, 1.0, s > 0), ShiftedSubsampled(p, 0.1, 1.0)):
        value = privacy_loss(f).log_mgf(s)
        assert value == pytest.approx(whole + t * math.log(p), rel=1e-12)


# --- refusals ----------------------------------------------------------------------------------


def test_refusals_name_what_works() -> None:
    product = GaussianTradeoff(1.0).subsample(0.1).power(10)
    for f in (product, LaplaceTradeoff(1.0).subsample(0.1)):
        with pytest.raises(NoClosedForm, match="ShiftedSubsampled, PoissonZeroOut"):
            privacy_loss(f)
    with pytest.raises(NoClosedForm, match="of a symmetric function"):
        privacy_loss(PiecewiseLinear([0, 0.2, 1], [1, 0.5, 0]).subsample(0.5))
    with pytest.raises(InvalidInput, match="under='R'"):
        privacy_loss(Identity(), under="R")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"f=3\.0"):
        privacy_loss(3.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="x=nan"):
        privacy_loss(Identity()).log_cdf(math.nan)
    with pytest.raises(InvalidInput, match="s=inf"):
        privacy_loss(Identity()).log_mgf(math.inf)
    with pytest.raises(InvalidInput, match="too large"):
        privacy_loss(PoissonReplaceOne(0.75, 0.0, 12.0)).log_mgf(1e9)


def test_shapes_and_kinds() -> None:
    law: PrivacyLoss = privacy_loss(WithFailure(GaussianTradeoff(1.0), 1e-3))
    assert isinstance(law.log_cdf(0.5), float)
    assert np.shape(law.log_survival(np.zeros((2, 3)))) == (2, 3)
    assert np.shape(law.log_mgf([[-0.5]])) == (1, 1)
    blend = privacy_loss(Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)], [0.5, 0.5]))
    parts = [privacy_loss(GaussianTradeoff(mu)).log_cdf(0.7) for mu in (0.5, 1.0)]
    assert blend.log_cdf(0.7) == pytest.approx(math.log(np.exp(parts).mean()), rel=1e-14)
