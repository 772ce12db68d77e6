"""Lower ends of hidden mixtures: never above the exact value, where that is known, and close."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import ndtr

import shiftdp as sdp
from shiftdp.fdp import GaussianTradeoff, HiddenExchange, Mixture, shifted_subsampled
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.composition.hidden_mixture import HiddenMixture
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.theorems.prefix import PREFIX
from tests.last_iterate.theorems.test_hidden import setting

MU, WEIGHTS = (0.2, 0.6, 1.0, 1.7), (0.6, 0.3, 0.09, 0.01)
PARTS = [GaussianTradeoff(mu) for mu in MU]
DELTAS = (0.1, 1e-2, 1e-4, 1e-6, 1e-9)


def test_of_gaussians_with_a_shared_measure_the_exact_value_is_enclosed() -> None:
    """E N(mu, 1) against N(0, 1): tests are half-lines."""
    x = np.linspace(-12.0, 14.0, 400_001)
    power = sum(w * ndtr(mu - x) for mu, w in zip(MU, WEIGHTS, strict=True))
    f = HiddenMixture(PARTS, WEIGHTS, "first")
    for g, first, second in ((f, power, ndtr(-x)), (f.inverse(), 1 - ndtr(-x), 1 - power)):
        for delta in DELTAS[:-1]:
            low, high = g.epsilon_below(delta), g.epsilon(delta)
            assert 0.99 * high - 1e-9 <= low <= high
            exact = float(np.max(first - math.exp(low) * second))
            assert exact >= delta * (1 - 1e-6)


def test_of_a_part_that_is_told_the_mean_is_enclosed() -> None:
    f, exact = HiddenMixture(PARTS, WEIGHTS, "told"), Mixture(PARTS, WEIGHTS)
    for delta in DELTAS:
        low, high = f.epsilon_below(delta), exact.epsilon(delta)
        assert 0.995 * high <= low <= high


def test_of_gaussians_with_nothing_shared_the_integral_is_enclosed() -> None:
    """Of Gaussians the bound is that of Theorem B7, which has a closed form."""
    f, exact = HiddenMixture(PARTS, WEIGHTS, "neither"), HiddenExchange(MU, WEIGHTS)
    for delta in DELTAS:
        low, high = f.epsilon_below(delta), exact.epsilon(delta)
        assert 0.99 * high - 1e-9 <= low <= high * (1 + 1e-9)


def test_one_part_has_the_interval_of_that_part() -> None:
    part = Composite(((shifted_subsampled(0.05, 0.1, 1.0), 20),), 1e-3)
    for shared in ("first", "second", "neither", "told"):
        f = HiddenMixture([part], [1.0], cast(Any, shared))
        low = f.epsilon_below(1e-5)
        _, high = part.epsilon_interval(1e-5)
        assert 0.99 * high <= low <= high


def test_what_is_as_good_as_nothing_has_no_lower_end_above_it() -> None:
    for shared in ("first", "second", "neither", "told"):
        f = HiddenMixture([GaussianTradeoff(0.0)] * 2, [0.5, 0.5], cast(Any, shared))
        assert f.epsilon_below(1e-5) == 0.0
        assert HiddenMixture(PARTS, WEIGHTS, cast(Any, shared)).epsilon_below(0.9) == 0.0


@pytest.mark.parametrize(
    ("sampling", "adjacency"),
    [
        ("without_replacement", "replace_one"),
        ("poisson", "zero_out"),
        ("poisson", "replace_one"),
    ],
)
def test_a_certificate_by_theorem_b6_has_an_interval(sampling: str, adjacency: str) -> None:
    (theorem,) = PREFIX
    run, geometry = setting(0.05, 1.0, 0.9, 60, sampling, adjacency=adjacency)
    certificate = certificate_of(bound_by(theorem, run, geometry, 1e-5), run, geometry)
    low, high = certificate.epsilon_interval(1e-5)
    assert 0.99 * high <= low <= high == certificate.epsilon(1e-5)
    attained = certificate.lower_epsilon(1e-5)
    assert attained is None or attained <= high
    assert isinstance(certificate, sdp.Certificate)
