"""Profiles of mixtures with many means, against 60 digits and against each other."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from shiftdp.fdp.pairs import mean_profiles
from shiftdp.fdp.pairs.mean_law import MeanLaw
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, capped_integrand, caught, laws
from tests.fdp.mixtures import Mixture, threshold_profile
from tests.fdp.pairs.test_mean_thresholds import in_digits

MEANS = np.linspace(0.0, 20.0, 61)
WIDE = MeanLaw.of(MEANS.tolist(), (np.exp(-MEANS) / np.exp(-MEANS).sum()).tolist())
NORMAL = [(mpf(1), mpf(0))]


def mirrored(law: Mixture) -> Mixture:
    return [(w, -m) for w, m in law]


@settings(max_examples=15)
@given(
    laws(log_uniform(1e-3, 20.0), log_uniform(1e-12, 1.0), 6),
    st.floats(0.0, 200.0) | log_uniform(1e-9, 1.0),
)
def test_every_profile_is_above_the_exact_one_and_close(law: Law, epsilon: float) -> None:
    means, e = MeanLaw.of(*law), np.array([epsilon])
    if means.largest == 0.0:
        return
    digits = in_digits(means)
    for profile, P, Q in (
        (mean_profiles.forward_profile, digits, NORMAL),
        (mean_profiles.backward_profile, NORMAL, mirrored(digits)),
        (mean_profiles.two_sided_profile, digits, mirrored(digits)),
    ):
        exact = threshold_profile(P, Q, epsilon)
        delta = mpf(float(profile(means, e)[0][0]))
        assert delta >= exact - mpf("1e-330")
        assert delta <= exact * (1 + mpf("2e-11")) + mpf("4e-15")


@settings(max_examples=10)
@given(laws(log_uniform(1e-2, 8.0), log_uniform(1e-6, 1.0), 4), st.floats(0.01, 30.0))
def test_the_capped_profile_against_quadrature_of_the_integral_of_b7(
    law: Law, epsilon: float
) -> None:
    """int_0^inf phi(y) (E exp(y m - m^2/2) - gamma)_+ dy, m = min(W, y), as the theorem says it."""
    means = MeanLaw.of(*law)
    if means.largest == 0.0:
        return
    digits, gamma = in_digits(means), mpmath.exp(mpf(epsilon))

    def integrand(y: mpf) -> mpf:
        return mpmath.npdf(y) * max(capped_integrand(digits, y) - gamma, mpf(0))

    with mpmath.workdps(25):
        start = mpmath.findroot(
            lambda y: mpmath.log(capped_integrand(digits, y)) - epsilon,
            (mpf(0), 60 + means.largest), solver="anderson", tol=mpf(10) ** -30, verify=False,
        )  # fmt: skip
        ends = sorted({start, *(m for _, m in digits if m > start), start + means.largest + 15})
        exact = mpmath.quad(integrand, ends)
    delta = float(mean_profiles.capped_profile(means, np.array([epsilon]))[0][0])
    assert delta == pytest.approx(float(exact), rel=1e-10, abs=1e-16)
    x = float(start)
    assert float(caught(digits, start) - gamma * mpmath.ncdf(-start)) == pytest.approx(
        float(exact), rel=1e-9, abs=1e-15
    ), x


def test_deltas_of_300_decades_keep_their_digits() -> None:
    e = np.linspace(60.0, 700.0, 33)
    for profile, Q in (
        (mean_profiles.forward_profile, NORMAL),
        (mean_profiles.two_sided_profile, mirrored(in_digits(WIDE))),
    ):
        delta = profile(WIDE, e)[0]
        for value, epsilon in zip(delta[::8].tolist(), e[::8].tolist(), strict=True):
            exact = threshold_profile(in_digits(WIDE), Q, epsilon)
            assert exact <= mpf(value) <= exact * (1 + mpf("1e-10")) + mpf("1e-318")


def test_rare_values_far_out_do_no_harm() -> None:
    """Weights of 1e-14 at means up to 1e4: exponents of up to 1e8."""
    law = MeanLaw.of((0.0, 1.0, 50.0, 1e4), (0.9, 0.1 - 2e-14, 1e-14, 1e-14))
    digits, e = in_digits(law), np.array([0.0, 1.0, 30.0, 1e3, 1e6, 4.9e7])
    for profile, P, Q in (
        (mean_profiles.forward_profile, digits, NORMAL),
        (mean_profiles.two_sided_profile, digits, mirrored(digits)),
        (mean_profiles.backward_profile, NORMAL, mirrored(digits)),
    ):
        for epsilon, delta in zip(e.tolist(), profile(law, e)[0].tolist(), strict=True):
            exact = threshold_profile(P, Q, epsilon)
            assert exact - mpf("1e-330") <= mpf(delta) <= exact * (1 + mpf("1e-6")) + mpf("1e-16")


def test_a_slope_is_that_of_its_profile() -> None:
    e, h = np.array([0.3, 2.0, 7.0]), 1e-6
    for profile in (
        mean_profiles.forward_profile, mean_profiles.backward_profile,
        mean_profiles.two_sided_profile, mean_profiles.capped_profile,
    ):  # fmt: skip
        law = MeanLaw.of((0.1, 1.0, 2.0), (0.5, 0.4, 0.1))
        _, slope = profile(law, e)
        change = (profile(law, e - h)[0] - profile(law, e + h)[0]) / (2 * h)
        np.testing.assert_allclose(slope, change, rtol=1e-5, atol=1e-9)


def test_many_epsilons_are_cut_into_blocks() -> None:
    e = np.linspace(0.0, 40.0, 3000)
    delta, slope = mean_profiles.forward_profile(WIDE, e)
    assert delta.shape == slope.shape == e.shape
    parts = [mean_profiles.forward_profile(WIDE, e[i : i + 100])[0] for i in range(0, 3000, 100)]
    np.testing.assert_allclose(delta, np.concatenate(parts), rtol=1e-12)
    assert math.isclose(float(delta[0]), float(parts[0][0]), rel_tol=1e-12)


FAR = MeanLaw.of((0.0, 0.7, 3e8, 4e12), (0.4, 0.3, 0.2, 0.1))


@pytest.mark.parametrize("name", ["forward_profile", "backward_profile", "two_sided_profile"])
def test_means_too_far_for_a_threshold_count_as_infinite(name: str) -> None:
    """They gave 1 for some eps and less for smaller ones; now all fall, and are above the truth."""
    e = np.array([0.0, 1e-3, 0.1, 0.5, 0.9, 1.0, 3.0, 50.0, 1e6, 1e13, 1e20])
    found = getattr(mean_profiles, name)(FAR, e)[0]
    assert np.all(np.diff(found) <= 0.0)
    # with 60 digits, the far ones never being mistaken
    near: Mixture = [(mpf("0.4"), mpf(0)), (mpf("0.3"), mpf("0.7"))]
    for epsilon, delta in zip(e[:7].tolist(), found[:7].tolist(), strict=True):
        P, Q = {
            "forward_profile": (near, NORMAL),
            "backward_profile": (NORMAL, mirrored(near)),
            "two_sided_profile": (near, mirrored(near)),
        }[name]
        far = 0.0 if name == "backward_profile" else 0.3
        exact = float(best_test(P, Q, epsilon)) + far
        assert exact <= delta * (1.0 + 1e-15) <= exact * (1.0 + 1e-9) + 1e-15


def best_test(P: Mixture, Q: Mixture, epsilon: float) -> mpf:
    """The largest P(X > x) - e^eps Q(X > x), for weights of any sum; the ratio rises with x."""

    def mass(law: Mixture, x: mpf) -> mpf:
        return mpmath.fsum(w * mpmath.ncdf(m - x) for w, m in law)

    def ratio(x: mpf) -> mpf:
        top = mpmath.fsum(w * mpmath.npdf(x - m) for w, m in P)
        return top - mpmath.exp(epsilon) * mpmath.fsum(w * mpmath.npdf(x - m) for w, m in Q)

    low, high = mpf(-60), mpf(60)
    if ratio(low) >= 0:
        return mass(P, low) - mpmath.exp(epsilon) * mass(Q, low)
    for _ in range(120):
        x = (low + high) / 2
        low, high = (x, high) if ratio(x) < 0 else (low, x)
    return mass(P, high) - mpmath.exp(epsilon) * mass(Q, high)
