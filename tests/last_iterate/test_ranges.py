"""Inside the stated ranges nothing overflows or underflows; outside of them numbers are refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import Geometry, LangevinMC, NoisyCGD, NoisyGD, NoisySGD, certify
from shiftdp._checks import GREATEST, LEAST
from shiftdp._errors import OutOfRange

MOST = 2**53
BEYOND = [LEAST / 2, GREATEST * 2, 5e-324, 1.7e308, -1.0]
GD: dict[str, Any] = {"n": 10, "steps": 3, "learning_rate": 0.1, "noise": 1.0}
LOSSES: dict[str, Any] = {"strong_convexity": 0.0, "smoothness": 1.0, "sensitivity": 1.0}


def exactly(mu: float, square: Fraction, rel: float = 1e-10) -> None:
    """mu is an upper bound on the root of `square`, and hardly more."""
    assert square <= Fraction(mu) ** 2 <= square * (1 + Fraction(rel)) ** 2


@pytest.mark.parametrize("value", BEYOND, ids=repr)
def test_a_run_beyond_the_range_is_refused_by_name(value: Any) -> None:
    for name in ("learning_rate", "noise"):
        for given_ in (value, [1.0, value, 1.0]):
            with pytest.raises(OutOfRange, match=rf"{name}=.* range; give .*1e-40, 1e\+40"):
                NoisyGD(**{**GD, name: given_})
            with pytest.raises(OutOfRange, match=name):
                NoisyCGD(**{**GD, name: given_}, batch_size=5)
        with pytest.raises(OutOfRange, match=name):
            NoisySGD(**{**GD, name: value}, batch_size=5)
    with pytest.raises(OutOfRange, match="learning_rate"):
        LangevinMC(steps=3, learning_rate=value)


@pytest.mark.parametrize("value", BEYOND, ids=repr)
def test_losses_beyond_the_range_are_refused_by_name(value: Any) -> None:
    for name in ("smoothness", "sensitivity", "diameter"):
        with pytest.raises(OutOfRange, match=name):
            Geometry(**{**LOSSES, name: value})
    if value != -1.0:
        for m in (value, -value):
            with pytest.raises(OutOfRange, match="strong_convexity"):
                Geometry(**{**LOSSES, "strong_convexity": m, "smoothness": math.inf})


@pytest.mark.parametrize("sizes", [*itertools.product([1, 3, MOST], [LEAST, 1.0, GREATEST])])
@pytest.mark.parametrize("sigma", [LEAST, GREATEST])
@pytest.mark.parametrize("L", [LEAST, GREATEST])
def test_convex_full_batches_are_exact_at_every_corner(
    sizes: tuple[int, float], sigma: float, L: float
) -> None:
    n, eta = sizes
    # c = 1: B1 and composition agree, mu^2 = t (L / (n sigma))^2
    smooth = min(max(1.0 / eta, LEAST), GREATEST)
    geometry = Geometry(strong_convexity=0.0, smoothness=smooth, sensitivity=L)
    for steps in (1, 7, MOST):
        cert = certify(NoisyGD(n=n, steps=steps, learning_rate=eta, noise=sigma), geometry)
        assert cert.mu is not None
        exactly(cert.mu, steps * (Fraction(L) / (n * Fraction(sigma))) ** 2)
        if steps < MOST:
            cert.verify()


@pytest.mark.parametrize("D", [LEAST, 1.0, GREATEST])
@pytest.mark.parametrize("eta", [LEAST, 1.0, GREATEST])
@pytest.mark.parametrize("sigma", [LEAST, GREATEST])
@pytest.mark.parametrize("L", [LEAST, GREATEST])
def test_constrained_full_batches_are_exact_at_every_corner(
    D: float, eta: float, sigma: float, L: float
) -> None:
    # c = 1: mu^2 = min over K <= t of (D + K s)^2 / (K sd^2), or from the start t (s/sd)^2
    geometry = Geometry(strong_convexity=0.0, smoothness=0.0, sensitivity=L, diameter=D)
    steps, n = 1000, 7
    s, sd = Fraction(eta) * Fraction(L) / n, Fraction(eta) * Fraction(sigma)
    d = Fraction(D)
    windows = [(d + k * s) ** 2 / (k * sd**2) for k in range(1, steps)]
    cert = certify(NoisyGD(n=n, steps=steps, learning_rate=eta, noise=sigma), geometry)
    assert cert.mu is not None
    best = min(*windows, steps * (s / sd) ** 2)
    assert Fraction(cert.mu) ** 2 >= best * (1 - Fraction(1e-9)) or d < s
    assert Fraction(cert.mu) ** 2 <= best * (1 + Fraction(1e-9))
    cert.verify()


powers = st.floats(-12.0, 12.0).map(lambda x: 2.0 ** round(x * math.log2(10.0)))


@settings(max_examples=30)
@given(
    st.sampled_from(["fixed", "shuffled_once", "reshuffled"]),
    st.sampled_from([0.0, 0.3, -0.2, 2.0]),
    st.sampled_from([0.5, math.inf]),
    powers,
    powers,
    st.sampled_from([1e-25, 1.0, 1e25]),
)
def test_units_of_gradients_and_of_parameters_do_not_matter(
    order: Any, m: float, D: float, k: float, j: float, far: float
) -> None:
    # powers of two are exact, the other factor is rounded
    k, j = k * far, j * far
    run = NoisyCGD(n=11, batch_size=3, steps=18, learning_rate=0.4, noise=0.7, order=order)
    geometry = Geometry(strong_convexity=m, smoothness=2.0, sensitivity=2.0, diameter=D)
    scaled_run = NoisyCGD(
        n=11, batch_size=3, steps=18, learning_rate=0.4 * j / k, noise=0.7 * k, order=order
    )
    scaled = Geometry(
        strong_convexity=m * k / j, smoothness=2.0 * k / j, sensitivity=2.0 * k, diameter=D * j
    )
    plain, other = certify(run, geometry), certify(scaled_run, scaled)
    assert other.bound == plain.bound
    for delta in (1e-300, 1e-5, 0.1):
        assert other.epsilon(delta) == pytest.approx(plain.epsilon(delta), rel=1e-9, abs=1e-12)


@settings(max_examples=8)
@given(st.sampled_from(["without_replacement", "poisson"]), powers, st.sampled_from([1e-25, 1e25]))
def test_units_do_not_matter_to_random_batches(sampling: Any, k: float, far: float) -> None:
    adjacency: Any = "zero_out" if sampling == "poisson" else "replace_one"
    common: dict[str, Any] = {"n": 20, "batch_size": 2, "steps": 2, "sampling": sampling}
    losses: dict[str, Any] = {"strong_convexity": 0.0, "adjacency": adjacency}
    plain = certify(
        NoisySGD(**common, learning_rate=0.1, noise=1.0),
        Geometry(**losses, smoothness=1.0, sensitivity=2.0, diameter=1.0),
        bounds="composition",
    )
    other = certify(
        NoisySGD(**common, learning_rate=0.1 / far, noise=k * far),
        Geometry(**losses, smoothness=far, sensitivity=2.0 * k * far, diameter=k),
        bounds="composition",
    )
    assert other.epsilon(1e-5) == pytest.approx(plain.epsilon(1e-5), rel=1e-9)
