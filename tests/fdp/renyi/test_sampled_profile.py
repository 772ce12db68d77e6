"""Renyi moments of C_p(f) from the profile of f: never below the exact ones."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from shiftdp.fdp import (
    GaussianTradeoff,
    LaplaceTradeoff,
    PiecewiseLinear,
    Subsampled,
)
from shiftdp.fdp.renyi.sampled_profile import sampled_log_moment
from tests.fdp.renyi.exact_moments import (
    agrees,
    exact_halves,
)


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
