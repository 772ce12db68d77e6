"""Profiles of pairs of mixtures, against 60 digits: never below, and barely above."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_profiles import (
    backward_profile,
    forward_profile,
    gaussian_terms,
    two_sided_profile,
)
from shiftdp.fdp.pairs.profiles import (
    between,
    epsilon_from_profile,
    reflected,
    sum_up,
    tangents,
    upper_point,
    widest,
)
from tests.fdp import exact
from tests.fdp.mixtures import Mixture, threshold_profile

PAIRS = [(0.5, 0.0, 1.0), (0.01, 0.3, 2.0), (1e-4, 0.02, 0.05), (0.9, 1.0, 6.0), (0.2, 0.0, 1e-3)]
LOSSES = np.array([0.0, 1e-9, 1e-3, 0.1, 0.7, 2.0, 9.0])
CLOSE = 1e-9
"""How far above a profile may be, as a part: small ones lose digits to the difference of tails."""


ALPHAS = np.array([1e-300, 1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0 - 2.0**-53])


def step(p: float, a: float, d: float) -> MeanLaw:
    return MeanLaw.of((a, d), (1.0 - p, p))


def laws(kind: str, p: float, a: float, s: float) -> tuple[Mixture, Mixture]:
    """(P, Q) with a rising quotient of densities; d = a + s as the profile takes it."""
    q, d = 1 - mpf(p), mpf(sum_up(a, s))
    mixture, normal = [(q, mpf(a)), (mpf(p), d)], [(mpf(1), mpf(0))]
    if kind == "forward":
        return mixture, normal
    if kind == "backward":
        return normal, [(w, -m) for w, m in mixture]
    return mixture, [(q, mpf(0)), (mpf(p), -mpf(s))]


def profile(kind: str, p: float, a: float, s: float, epsilon: np.ndarray) -> np.ndarray:
    if kind == "two-sided":
        return two_sided_profile(step(p, 0.5 * a, sum_up(0.5 * a, s)), epsilon)[0]
    one_sided = forward_profile if kind == "forward" else backward_profile
    return one_sided(step(p, a, sum_up(a, s)), epsilon)[0]


@pytest.mark.parametrize("kind", ["forward", "backward", "two-sided"])
@pytest.mark.parametrize(("p", "a", "s"), PAIRS)
def test_a_profile_is_an_upper_bound_and_close(kind: str, p: float, a: float, s: float) -> None:
    found = profile(kind, p, a, s, LOSSES)
    for epsilon, bound in zip(LOSSES.tolist(), found.tolist(), strict=True):
        true = threshold_profile(*laws(kind, p, a, s), epsilon)
        assert bound >= true
        assert bound <= true * (1 + CLOSE) + mpf(1e-300)


@pytest.mark.parametrize(("p", "a", "s"), PAIRS)
def test_terms_of_gaussians_are_their_sum(p: float, a: float, s: float) -> None:
    d = sum_up(a, s)
    found, _ = gaussian_terms(step(p, a, d), LOSSES)
    for epsilon, bound in zip(LOSSES.tolist(), found.tolist(), strict=True):
        parts = [(1 - mpf(p), a), (mpf(p), d)]
        true = sum(w * exact.gaussian_delta(m, epsilon) for w, m in parts if m > 0)
        assert true <= bound * (1 + mpf(2) ** -52)
        assert bound <= true * (1 + CLOSE) + mpf(1e-300)


def test_negative_losses_are_those_of_the_other_direction() -> None:
    p, a, d = 0.1, 0.2, 1.2
    e = np.array([0.3, 2.0])

    def forth(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return forward_profile(step(p, a, d), x)

    def back(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return backward_profile(step(p, a, d), x)

    found = reflected(np.concatenate([-e, e]), forth, back)
    np.testing.assert_array_equal(found[2:], forth(e)[0])
    np.testing.assert_allclose(found[:2], 1 - np.exp(-e) * (1 - back(e)[0]), rtol=1e-14)
    assert (found[:2] >= 1 - np.exp(-e) * (1 - back(e)[0])).all()


def test_a_tangent_is_below_the_profile() -> None:
    points = np.linspace(0.0, 4.0, 41)
    delta, tail = tangents(lambda e: forward_profile(step(0.1, 0.2, 1.2), e), points)
    lines = delta[:, None] - tail[:, None] * (np.exp(points) - np.exp(points)[:, None])
    assert (lines <= delta * (1 + 1e-9)).all()


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.1, 0.9])
@pytest.mark.parametrize(("p", "a", "s"), PAIRS)
def test_epsilon_is_the_last_that_the_profile_certifies(
    p: float, a: float, s: float, delta: float
) -> None:
    d = sum_up(a, s)

    def curve(e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return forward_profile(step(p, a, d), e)

    epsilon = epsilon_from_profile(curve, np.array([delta]), widest(d))
    assert curve(epsilon)[0][0] <= delta
    if epsilon[0] > 0.0:
        assert curve(epsilon * (1 - 1e-11))[0][0] > delta


def test_an_impossible_delta_has_no_epsilon() -> None:
    def stubborn(e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(e.shape, 0.5), np.zeros(e.shape)

    assert epsilon_from_profile(stubborn, np.array([0.4, 0.6]), 9.0).tolist() == [math.inf, 0.0]


def test_an_upper_point_is_rounded_down() -> None:
    with mpmath.workdps(60):
        for alpha, x in zip(ALPHAS.tolist(), upper_point(ALPHAS).tolist(), strict=True):
            assert exact.upper_tail(mpf(x)) >= mpf(alpha)
            assert exact.upper_tail(mpf(x) + 1e-12 * (1 + abs(mpf(x)))) < mpf(alpha)


def test_the_ends_of_a_curve_need_no_formula() -> None:
    def curve(alpha: np.ndarray) -> np.ndarray:
        assert ((alpha > 0.0) & (alpha < 1.0)).all()
        return 1.0 - alpha

    assert between(curve, np.array([0.0, 0.25, 1.0])).tolist() == [1.0, 0.75, 0.0]
