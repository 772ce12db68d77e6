"""Privacy-loss laws from the definitions of the pairs, in 45 digits, far into both tails.

A logarithm is held to 1e-13 of its size (at least 1), about the rounding of z^2/2 at a Gaussian
tail, and beyond that to the change of the exact value when x is moved by 8 units in the last place:
where the law ends, as that of a Poisson step at log(1 - p), no formula in floats can do better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import pytest
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp import (
    GaussianTradeoff,
    PiecewiseLinear,
    ShiftedSubsampled,
    TradeoffFunction,
    privacy_loss,
)
from shiftdp.fdp.losses.law import Side
from tests.fdp import exact, mixtures
from tests.fdp.catalogue import CATALOGUE, log_uniform, symmetric

Number = Any


Triple = tuple[Number, Number, Number]


"""Pr(L <= x), Pr(L > x) and the density."""


SIDES: tuple[Side, Side] = ("Q", "P")


_KINDS = (
    "Identity", "Gaussian", "ApproxDP", "Laplace", "PiecewiseLinear", "PiecewiseLinear, symmetric",
    "PiecewiseLinear of guarantees", "Mixture", "WithFailure", "Subsampled Identity",
    "Subsampled Gaussian", "Subsampled ApproxDP", "ShiftedSubsampled", "PoissonZeroOut",
    "PoissonReplaceOne", "HiddenExchange", "HiddenZeroOut", "HiddenReplaceOne",
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


def pieces(f: PiecewiseLinear) -> list[tuple[Number, Number]]:
    """The masses of P and Q on each piece, which the knots have exactly."""
    alpha, beta = [mpf(a) for a in f.alpha], [mpf(b) for b in f.beta]
    return [(alpha[i + 1] - alpha[i], beta[i] - beta[i + 1]) for i in range(len(alpha) - 1)]


def integral(function: Callable[[Number], Number], low: Number, high: Number) -> Number:
    count = int(1.5 * (high - low)) + 1
    edges = mpmath.linspace(low, high, count + 1)
    return mpmath.quad(function, edges, maxdegree=4, method="gauss-legendre")
