"""The law of the bound for batches without replacement, far into both tails."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from mpmath import mpf

from shiftdp.fdp import HiddenExchange, privacy_loss
from shiftdp.fdp.losses.law import Side
from tests.fdp import exact
from tests.fdp.catalogue import log_uniform
from tests.fdp.hidden_laws import Law, atoms, capped_integrand, caught, fixed_point, laws
from tests.fdp.losses.reference import Number, Triple, assert_right, mirrored, signed
from tests.fdp.mixtures import rising_root

some = laws(log_uniform(0.05, 6.0), log_uniform(1e-6, 1.0), 4)


def reference(f: HiddenExchange, x: Number, side: Side) -> Triple:
    """Of losses log B(y) with density phi(y) under P and phi(y) B(y) under Q, and their opposites.

    What lies between the two smallest losses in size is where f has its kink.
    """
    if x < 0:
        found = mirrored(reference(f, -x, "P" if side == "Q" else "Q"))
        assert found is not None
        return found
    law = atoms(f)
    start = fixed_point(law)
    inside = x <= mpmath.log(capped_integrand(law, start))
    far = 100 * (1 + abs(x)) + law[-1][1]
    y = start if inside else rising_root(
        lambda y: mpmath.log(capped_integrand(law, y)) - x, start, far
    )  # fmt: skip
    right = caught(law, y) if side == "Q" else exact.upper_tail(y)
    left = 1 - right if side == "Q" else exact.upper_tail(-y)
    if inside:
        return left, right, mpf(0)
    h = mpf(10) ** -25
    slope = mpmath.log(capped_integrand(law, y + h) / capped_integrand(law, y - h)) / (2 * h)
    density = mpmath.npdf(y) / slope * (mpmath.exp(x) if side == "Q" else 1)
    return left, right, density


@settings(max_examples=20)
@given(some, signed(1e-3, 300.0))
def test_tails_and_density_against_the_definition(law: Law, x: float) -> None:
    f = HiddenExchange(*law)
    assume(f.gdp_mu is None)
    knot = f._fixed[1]
    assume(abs(abs(x) - knot) > 1e-9)
    assert_right(f, x, lambda at, side: reference(f, at, side))


def test_there_are_no_small_losses() -> None:
    f = HiddenExchange((0.5, 2.0), (0.7, 0.3))
    knot = f._fixed[1]
    law = privacy_loss(f)
    x = knot * np.array([-0.999, -0.5, 0.0, 0.5, 0.999])
    assert np.all(np.asarray(law.log_density(x)) == -math.inf)
    np.testing.assert_allclose(law.log_cdf(x), math.log(0.5 * (1.0 - f.advantage())), rtol=1e-12)
    assert law.log_density(1.01 * knot) > -math.inf
    assert law.atoms.loss.size == 0


@pytest.mark.parametrize("order", [-3.5, -0.5, 0.7, 4.0])
def test_moments_against_quadrature(order: float) -> None:
    f = HiddenExchange((0.2, 1.0, 2.5), (0.6, 0.3, 0.1))
    law = atoms(f)
    with mpmath.workdps(30):
        t, start = mpf(order), fixed_point(law)

        def g(y: Number) -> Number:
            b = capped_integrand(law, y)
            return mpmath.npdf(y) * (b ** (1 + t) + b**-t)

        ends = [start, 1, mpf(2.5), *mpmath.linspace(3, 30, 28)]
        want = float(mpmath.log(mpmath.quad(g, ends)))
    assert privacy_loss(f).log_mgf(order) == pytest.approx(want, rel=1e-12)
