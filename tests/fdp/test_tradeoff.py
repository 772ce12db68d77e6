"""What every tradeoff function answers beyond its curve (`test_conformance` has more)."""

from __future__ import annotations

import math

import pytest

from shiftdp import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Minimum,
    PiecewiseLinear,
    PoissonZeroOut,
    WithFailure,
    dominates,
)
from shiftdp.fdp.composition.composite import Composite

STEP = PoissonZeroOut(p=0.01, a=0.1, s=1.0)


@pytest.mark.parametrize(
    "f",
    [
        GaussianTradeoff(1.0),
        PoissonZeroOut(1.0, 0.1, 1.0).worse_direction(),
        PiecewiseLinear([0, 0.1, 1], [1, 0.6, 0]).worse_direction(),
        Minimum((STEP, PoissonZeroOut(0.02, 0.1, 1.0).inverse())),
        Minimum((STEP, STEP.inverse(), GaussianTradeoff(1.0))),
        # which comes first is not the same in its factors
        Composite(((STEP, 1), (PoissonZeroOut(0.02, 0.1, 1.0).inverse(), 1))).worse_direction(),
    ],
    ids=repr,
)
def test_directions_that_are_not_known_are_not_told_apart(f: Minimum) -> None:
    assert f.directions == (f, f)


def test_symmetric_factors_have_no_say_in_the_direction() -> None:
    product = STEP.power(3).compose(GaussianTradeoff(0.5))
    assert product.worse_direction().directions == (product.inverse(), product)


def test_a_product_implies_the_gaussian_of_its_factors() -> None:
    f = GaussianTradeoff(0.3).subsample(0.2).power(5)
    mu = f.implied_mu()
    assert mu == pytest.approx(0.3 * math.sqrt(5.0), rel=1e-12)
    assert dominates(f, GaussianTradeoff(mu), tolerance=1e-6)


def test_what_implies_a_gaussian_and_what_is_one() -> None:
    assert ApproxDPTradeoff(1.0, 1e-5).implied_mu() == math.inf
    assert WithFailure(GaussianTradeoff(1.0), 0.0).implied_mu() == 1.0
    assert LaplaceTradeoff(0.5).implied_mu() == ApproxDPTradeoff(0.5).implied_mu()
    assert (Identity().implied_mu(), Identity().gdp_mu) == (0.0, 0.0)
    assert PoissonZeroOut(0.0, 0.3, 1.0).gdp_mu == 0.3


def test_an_interval_of_a_product_is_as_narrow_as_it_was_asked_for() -> None:
    product = GaussianTradeoff(1.0).subsample(0.01).power(100)
    assert isinstance(product, Composite)
    for f in (product, product.within(1e-2), Minimum((product,)), WithFailure(product, 1e-9)):
        assert f.composed
        low, high = f.epsilon_below(1e-5), f.epsilon(1e-5)
        assert 0.0 < high - low <= f.accuracy * 1.01


def test_more_factors_than_floats_count_are_refused() -> None:
    """Found by fuzzing."""
    for f in (GaussianTradeoff(1.0), LaplaceTradeoff(1.0)):
        with pytest.raises(InvalidInput, match="k="):
            f.power(10**400)
