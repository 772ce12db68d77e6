"""Every kind of tradeoff function, as a hypothesis strategy. A new one joins by adding a line."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    HiddenExchange,
    HiddenReplaceOne,
    HiddenZeroOut,
    Identity,
    LaplaceTradeoff,
    Maximum,
    Minimum,
    Mixture,
    PiecewiseLinear,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    TradeoffFunction,
    WithFailure,
)
from tests.fdp import mixtures  # noqa: F401  (what the sampled steps are, to 60 digits)
from tests.fdp.hidden_laws import laws

__all__ = ["CATALOGUE", "log_uniform"]

Functions = SearchStrategy[TradeoffFunction]


def log_uniform(low: float, high: float) -> SearchStrategy[float]:
    exponents = st.floats(math.log(low), math.log(high))
    return exponents.map(lambda t: min(max(math.exp(t), low), high))


def knots(masses: list[tuple[float, float]]) -> PiecewiseLinear:
    """T(P, Q) of two laws on finitely many points: sorted by likelihood ratio, then summed."""
    p, q = (np.array(side) / sum(side) for side in zip(*masses, strict=True))
    order = np.argsort(-q / p)
    alpha = np.concatenate([[0.0], np.cumsum(p[order])])
    beta = np.concatenate([np.cumsum(q[order][::-1])[::-1], [0.0]])
    alpha[-1], beta[0] = 1.0, 1.0
    return PiecewiseLinear(alpha, np.minimum(beta, 1.0 - alpha))


mass = log_uniform(1e-6, 1.0)
mu, rate, small = log_uniform(1e-4, 12.0), log_uniform(1e-6, 1.0), log_uniform(1e-14, 0.5)
gaussian: Functions = (st.just(0.0) | mu).map(GaussianTradeoff)
approx_dp: Functions = st.builds(ApproxDPTradeoff, st.just(0.0) | mu, st.just(0.0) | small)
laplace: Functions = mu.map(LaplaceTradeoff)
asymmetric: Functions = st.lists(st.tuples(mass, mass), min_size=2, max_size=6).map(knots)
symmetric: Functions = st.builds(
    lambda x: PiecewiseLinear([0, x, 1], [1, x, 0]), log_uniform(1e-6, 0.5)
)
base = gaussian | approx_dp | laplace | asymmetric
several = st.lists(base, min_size=1, max_size=3)


def subsampled(f: Functions) -> Functions:
    return st.builds(lambda g, p: g.subsample(p), f, rate)


some = log_uniform(1e-6, 0.999)  # p = 1 is Gaussian

CATALOGUE: dict[str, Functions] = {
    "Identity": st.just(Identity()),
    "Gaussian": gaussian,
    "ApproxDP": approx_dp,
    "Laplace": laplace,
    "PiecewiseLinear": asymmetric,
    "PiecewiseLinear, symmetric": symmetric,
    "PiecewiseLinear of guarantees": st.builds(PiecewiseLinear.from_guarantees, mu, small),
    "PiecewiseLinear below": base.map(lambda f: PiecewiseLinear.below(f, np.linspace(-9, 9, 37))),
    "Mixture": st.tuples(base, base, rate).map(lambda t: Mixture(t[:2], [1.0, t[2]])),
    "Minimum": several.map(Minimum),
    "Maximum": several.map(Maximum),
    "symmetrised": asymmetric.map(lambda f: f.symmetrize()),
    "WithFailure": st.builds(WithFailure, base, st.just(0.0) | small),
    "Subsampled Identity": subsampled(st.just(Identity())),
    "Subsampled Gaussian": subsampled(gaussian),
    "Subsampled ApproxDP": subsampled(approx_dp),
    "Subsampled Laplace": subsampled(laplace),
    "Subsampled PiecewiseLinear": subsampled(asymmetric),
    "Subsampled WithFailure": subsampled(st.builds(WithFailure, base, small)),
    "ShiftedSubsampled": st.builds(ShiftedSubsampled, some, st.just(0.0) | mu, mu),
    "PoissonZeroOut": st.builds(PoissonZeroOut, some, st.just(0.0) | mu, mu, st.booleans()),
    "PoissonReplaceOne": st.builds(PoissonReplaceOne, some, st.just(0.0) | mu, mu),
    "HiddenExchange": laws(mu, mass).map(lambda law: HiddenExchange(*law)),
    "HiddenZeroOut": st.builds(
        lambda law, swapped: HiddenZeroOut(law[0], law[1], swapped), laws(mu, mass), st.booleans()
    ),
    "HiddenReplaceOne": laws(mu, mass).map(lambda law: HiddenReplaceOne(*law)),
}
