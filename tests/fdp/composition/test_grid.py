"""Composition by FFT, against sums over all combinations of atoms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp.fdp import ApproxDPTradeoff, LaplaceTradeoff, PiecewiseLinear, TradeoffFunction
from shiftdp.fdp.composition.connect_the_dots import LossAtoms, connect_the_dots
from shiftdp.fdp.composition.grid import MOST_ATOMS, GridTooFine, compose_atoms

MESH = 0.25
STEP = PiecewiseLinear([0, 0.1, 0.5, 1], [1, 0.6, 0.1, 0])
OTHER = PiecewiseLinear([0, 0.2, 1], [1, 0.4, 0])


def dense(law: LossAtoms) -> tuple[NDArray[np.int64], Array]:
    """All places and their probabilities under Q."""
    place = np.concatenate([-law.left_place[::-1], [0], law.right_place])
    return place, np.concatenate([law.left[::-1], [law.centre], law.right])


def convolved(laws: list[tuple[LossAtoms, int]]) -> tuple[int, Array, float]:
    """The first place, the probabilities from there on, and that of an infinite loss."""
    first, total, finite = 0, np.ones(1), 1.0
    for law, k in laws:
        place, mass = dense(law)
        full = np.zeros(int(place[-1] - place[0]) + 1)
        full[place - place[0]] = mass
        for _ in range(k):
            first, total, finite = (
                first + int(place[0]),
                np.convolve(total, full),
                finite * (1.0 - law.infinite),
            )
    return first, total, 1.0 - finite


def profile(laws: list[tuple[LossAtoms, int]], epsilon: Array) -> Array:
    first, mass, infinite = convolved(laws)
    loss = MESH * (first + np.arange(mass.size))
    gain = -np.expm1(np.minimum(epsilon[:, None] - loss, 0.0))
    return np.asarray(gain @ mass + infinite)


@pytest.mark.parametrize("theta", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("side", [+1, -1])
def test_products_against_all_combinations(theta: float, side: int) -> None:
    factors: list[tuple[TradeoffFunction, int]] = [(STEP, 3), (OTHER, 2)]
    atoms = [connect_the_dots(f, MESH, 3.0)[0 if side > 0 else 1] for f, _ in factors]
    laws = [(law, k) for law, (_, k) in zip(atoms, factors, strict=True)]
    product = compose_atoms([([law], k) for law, k in laws], theta, [side])[0]
    epsilon = np.array([0.0, 0.1, MESH, 1.0, 2.3, 4.0])
    exact, bound = profile(laws, epsilon), product.delta(epsilon)
    assert np.all(side * (bound - exact) >= 0.0)
    # the tilted errors, untilted
    assert bound == pytest.approx(exact, rel=1e-6, abs=1e-9)


def test_infinite_losses_add_up() -> None:
    above, below = connect_the_dots(PiecewiseLinear([0, 1], [0.99, 0]), MESH, 3.0)
    assert above.infinite == pytest.approx(0.01)
    law = compose_atoms([([above], 5)], 1.0, [+1])[0]
    assert 0.05 <= law.beyond <= 0.05 + 1e-9
    assert below.infinite == 0.0


def test_a_grid_that_is_too_fine_is_refused() -> None:
    law = connect_the_dots(STEP, MESH, 3.0)[0]
    wide = LossAtoms(
        law.mesh,
        np.array([MOST_ATOMS]),
        law.left_place,
        np.array([0.1]),
        law.left,
        np.zeros(1),
        law.left_error,
        0.0,
    )
    with pytest.raises(GridTooFine, match="more than"):
        compose_atoms([([wide], 2)], math.ulp(1.0), [+1])


def test_atoms_that_overflow_when_they_are_tilted_are_refused() -> None:
    law = connect_the_dots(STEP, MESH, 3.0)[0]
    far = LossAtoms(
        law.mesh,
        np.array([round(800.0 / law.mesh)]),
        law.left_place,
        np.array([0.1]),
        law.left,
        np.zeros(1),
        law.left_error,
        0.0,
    )
    with pytest.raises(GridTooFine, match="cannot be tilted"):
        compose_atoms([([far], 2)], 1.0, [+1])


def test_products_beyond_all_grids_still_have_a_bound() -> None:
    """Found by fuzzing: the size of the grid was more than integers of C hold."""
    f = LaplaceTradeoff(0.3).subsample(0.1).power(2**62)
    assert 1e12 < f.epsilon(1e-5) < 1e19
    assert f.delta(1.0) == 1.0


def test_so_many_factors_that_their_rounding_overflows_still_have_a_bound() -> None:
    """Found by fuzzing: (|F| + e)^k overflowed."""
    f = ApproxDPTradeoff(12.1794588356653, 0.0).power(2**53 - 1)
    assert f.delta(1.0) == 1.0
    assert f(0.5) == 0.0
    assert f.epsilon(1e-5) <= 12.18 * 2.0**53
