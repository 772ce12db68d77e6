"""Discrete laws that dominate, or are dominated: checked against the function they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._checks import Array
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    LaplaceTradeoff,
    Mixture,
    PiecewiseLinear,
    TradeoffFunction,
)
from shiftdp.fdp.composition.connect_the_dots import Coarsening, LossAtoms, connect_the_dots

EPSILON = np.concatenate([np.linspace(-6.0, 6.0, 241), [0.013, 0.0291, 1.2345, 3.3333]])
FUNCTIONS = [
    GaussianTradeoff(0.3),
    GaussianTradeoff(2.0),
    GaussianTradeoff(1.0).subsample(0.1),
    GaussianTradeoff(3.0).subsample(0.001),
    LaplaceTradeoff(1.3),
    ApproxDPTradeoff(0.7),
    ApproxDPTradeoff(0.7, 0.01),
    PiecewiseLinear([0, 0.1, 0.5, 1], [1, 0.6, 0.1, 0]),
    Mixture([GaussianTradeoff(0.5), LaplaceTradeoff(0.4)], [0.25, 0.75]),
]


def profile(dots: LossAtoms, epsilon: Array) -> Array:
    """delta(eps) of the discrete law, by its definition."""
    j, i = dots.right_place * dots.mesh, dots.left_place * dots.mesh
    losses = np.concatenate([-i[::-1], [0.0], j])
    masses = np.concatenate([dots.left[::-1], [dots.centre], dots.right])
    gains = np.maximum(0.0, 1.0 - np.exp(epsilon[:, None] - losses))
    return np.asarray(gains @ masses + dots.infinite)


COARSENINGS: list[tuple[Coarsening, Coarsening]] = [
    ((), ()),
    (((0.3, 4), (2.0, 16)), ((0.1, 8), (1.0, 64))),
    (((0.0, 2),), ((0.0, 3), (0.5, 5))),
]


@pytest.mark.parametrize("coarsening", COARSENINGS, ids=["even", "graded", "graded from the start"])
@pytest.mark.parametrize("mesh", [0.2, 0.05, 0.011])
@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_one_law_is_above_and_the_other_below(
    f: TradeoffFunction, mesh: float, coarsening: tuple[Coarsening, Coarsening]
) -> None:
    above, below = connect_the_dots(f, mesh, 9.0, coarsening=coarsening)
    truth = f._delta(EPSILON)
    assert np.all(profile(above, EPSILON) >= truth * (1 - 1e-11) - 1e-14)
    assert np.all(profile(below, EPSILON) <= truth + 1e-14)


@pytest.mark.parametrize("coarsening", COARSENINGS, ids=["even", "graded", "graded from the start"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_both_are_probability_laws(
    f: TradeoffFunction, coarsening: tuple[Coarsening, Coarsening]
) -> None:
    for dots in connect_the_dots(f, 0.05, 9.0, coarsening=coarsening):
        assert np.all(dots.right >= 0)
        assert np.all(dots.left >= 0)
        assert dots.centre >= -1e-12
        # under P: e^-loss times the masses, and what has loss -infinity
        j, i = dots.right_place * dots.mesh, dots.left_place * dots.mesh
        under_p = dots.right @ np.exp(-j) + dots.left @ np.exp(i) + dots.centre
        assert under_p <= 1 + 1e-10


@given(mu=st.floats(0.05, 4.0), p=st.floats(1e-3, 1.0))
def test_the_gap_closes_as_the_square_of_the_mesh(mu: float, p: float) -> None:
    f = GaussianTradeoff(mu).subsample(p)
    scale = f.epsilon(f.advantage() / 50)
    at = np.array([0.37 * scale])
    gaps = []
    for mesh in (scale / 40, scale / 160):
        above, below = connect_the_dots(f, mesh, float(f.epsilon(1e-15)))
        gaps.append((profile(above, at) - profile(below, at))[0])
    assert gaps[1] <= gaps[0] / 6 + 1e-10 * f.delta(float(at[0]))


def test_cells_widen_where_they_are_told_to() -> None:
    f = GaussianTradeoff(1.0).subsample(0.1)
    above, _ = connect_the_dots(f, 0.01, 5.0, coarsening=(((0.2, 8), (1.0, 64)), ()))
    strides = np.diff(above.right_place)
    assert above.right_place[0] == 1
    assert np.array_equal(np.unique(strides[:-1]), [1, 8, 64])
    assert np.all(np.diff(strides[:-1]) >= 0)
    assert above.right_place[-1] == 500  # and no farther: beyond 709 there are no numbers
    assert above.right.size < 40


def test_the_far_tail_keeps_its_digits() -> None:
    f = GaussianTradeoff(1.0)
    above, below = connect_the_dots(f, 0.01, 25.0)
    at = np.array([12.0, 18.0, 22.0])
    truth = f._delta(at)
    assert truth[-1] < 1e-100
    assert np.all(profile(above, at) >= truth * (1 - 1e-11))
    assert np.all(profile(above, at) <= truth * 1.01)
    assert np.all(profile(below, at) >= truth * 0.99)
