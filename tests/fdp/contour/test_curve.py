"""Estimated tradeoff curves against closed forms, certified bounds and their own duality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import Uncertified
from shiftdp._errors import InvalidInput
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Identity,
    Minimum,
    PoissonReplaceOne,
    PoissonZeroOut,
    ShiftedSubsampled,
    TradeoffFunction,
    WithFailure,
)
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.contour.curve import estimate_tradeoff
from shiftdp.fdp.contour.estimate import estimate_delta

ALPHA = np.concatenate([np.linspace(0.0, 1.0, 201), [1e-6, 1e-4, 0.9999, 1 - 1e-6]])
PRODUCTS: list[tuple[TradeoffFunction, int]] = [
    (GaussianTradeoff(2 / 3).subsample(0.025), 2000),
    (GaussianTradeoff(2 / 3).subsample(0.025), 8000),
    (GaussianTradeoff(1.0).subsample(0.3), 50),
    (ShiftedSubsampled(0.02, 0.1, 0.8), 500),
    (PoissonZeroOut(0.025, 0.0, 2 / 3), 2000),
    (PoissonZeroOut(0.025, 0.0, 2 / 3).inverse(), 2000),
    (PoissonReplaceOne(0.01, 0.0, 1.0), 2000),
]


@given(mu=st.floats(0.02, 3.0), parts=st.integers(1, 5))
def test_a_product_of_gaussians_is_one(mu: float, parts: int) -> None:
    found = estimate_tradeoff([(GaussianTradeoff(mu / parts**0.5), parts)], ALPHA)
    assert isinstance(found, Uncertified)
    assert np.allclose(found.value, GaussianTradeoff(mu)(ALPHA), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("f", "count"), PRODUCTS, ids=lambda x: str(x)[:40])
def test_it_lies_on_the_certified_curve(f: TradeoffFunction, count: int) -> None:
    found = estimate_tradeoff([(f, count)], ALPHA)
    assert found is not None
    # an interval of 1e-5 in eps moves f by less than that times its largest density
    certified = np.asarray(Composite(((f, count),), 1e-5)(ALPHA))
    assert np.all(found.value >= certified - 1e-12)
    assert np.all(found.value <= certified + 5e-6)


@pytest.mark.parametrize(("f", "count"), PRODUCTS, ids=lambda x: str(x)[:40])
def test_its_lines_are_the_estimated_profile(f: TradeoffFunction, count: int) -> None:
    """sup_alpha 1 - f(alpha) - e^eps alpha is delta(eps), by other lines of integration."""
    alpha = np.linspace(0.0, 1.0, 20_001)
    curve = estimate_tradeoff([(f, count)], alpha)
    assert curve is not None
    for epsilon in (0.1, 0.5, 1.0):
        delta = estimate_delta([(f, count)], epsilon)
        assert delta is not None
        # on a grid of alpha the supremum is too small, by the square of its spacing
        found = float(np.max(1.0 - curve.value - np.exp(epsilon) * alpha))
        assert -1e-6 < found - delta.value < 1e-9


def test_what_is_released_with_some_probability() -> None:
    f, q = GaussianTradeoff(1.0).subsample(0.3), 1e-3
    found = estimate_tradeoff([(WithFailure(f, q), 50)], ALPHA)
    assert found is not None
    certified = np.asarray(WithFailure(f, q).power(50)(ALPHA))
    assert np.all(found.value >= certified - 1e-12)
    assert np.all(found.value <= certified + 2e-3)
    nothing = estimate_tradeoff([(WithFailure(Identity(), q), 1)], ALPHA)
    assert nothing is not None
    assert np.allclose(nothing.value, np.maximum(1 - q - ALPHA, 0.0), atol=1e-15)


@pytest.mark.parametrize(
    "product",
    [[(ApproxDPTradeoff(0.5), 10)], [(ApproxDPTradeoff(0.5, 0.01), 10)],
     [(GaussianTradeoff(2 / 3).subsample(0.025), 20)]],
)  # fmt: skip
def test_atoms_are_refused(product: list[tuple[TradeoffFunction, int]]) -> None:
    assert estimate_tradeoff(product, 0.1) is None


def test_an_alpha_outside_is_refused() -> None:
    with pytest.raises(InvalidInput, match="alpha"):
        estimate_tradeoff([(GaussianTradeoff(1.0), 1)], [0.5, 1.5])


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4])
def test_certified_curves_of_poisson_sampling_are_tight_at_both_ends(accuracy: float) -> None:
    f = PoissonZeroOut(0.025, 0.0, 2 / 3)
    exact = estimate_tradeoff([(f, 2000)], ALPHA)
    back = estimate_tradeoff([(f.inverse(), 2000)], ALPHA)
    assert exact is not None
    assert back is not None
    certified = np.asarray(Composite(((f, 2000),), accuracy)(ALPHA))
    assert np.all(certified <= exact.value + 1e-12)
    assert np.all(certified >= exact.value - 0.1 * accuracy)
    # both directions: the envelope is below either, and no lower than where they touch it
    both = np.asarray(Minimum([f.power(2000), f.inverse().power(2000)])(ALPHA))
    assert np.all(both <= np.minimum(exact.value, back.value) + 1e-12)
    ends = (ALPHA < 0.2) | (ALPHA > 0.8)
    lower = np.minimum(exact.value, back.value)
    assert np.all(both[ends] >= lower[ends] - 1e-4)
