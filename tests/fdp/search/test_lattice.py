"""Products on a lattice: close, or refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.fdp import PoissonReplaceOne, ShiftedSubsampled, TradeoffFunction, shifted_subsampled
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.composition.hidden_mixture import HiddenMixture
from shiftdp.fdp.search.lattice import hidden_epsilon, lattice_epsilon
from shiftdp.fdp.search.sampled_estimates import Pair
from tests.fdp.search.steps import STEPS


@pytest.mark.parametrize(
    ("pair", "step"),
    [("symmetric", ShiftedSubsampled(0.05, 0.1, 0.8)), *STEPS.items()],
    ids=["symmetric", *STEPS],
)
def test_the_lattice_is_right_to_a_percent(pair: Pair, step: TradeoffFunction) -> None:
    exact = step.power(60).epsilon(1e-5)
    # the tilt of a Gaussian with the same epsilon will do
    theta = 9.0 / exact
    found = lattice_epsilon(pair, 0.05, 0.8, [(0.1, 60)], 1e-5, theta, 0.8 * exact)
    assert found == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(
    ("p", "s", "steps", "tilt"), [(0.025, 1.2, 300, 2.9), (0.01, 4, 300, 0.26)]
)
def test_records_that_are_exchanged_under_poisson_sampling(
    p: float, s: float, steps: int, tilt: float
) -> None:
    """All mass is at losses other than 0 then: none may be counted twice where the sign changes."""
    exact = PoissonReplaceOne(p, 0.0, s).power(steps).epsilon(1e-5)
    found = lattice_epsilon("two_sided", p, s, [(0.0, steps)], 1e-5, tilt, exact)
    assert found == pytest.approx(exact, rel=0.01)


def test_a_lattice_that_would_be_too_large_is_refused() -> None:
    assert lattice_epsilon("symmetric", 0.5, 30.0, [(0.0, 10)], 1e-5, 4.0, 100.0) is None
    assert lattice_epsilon("symmetric", 0.5, 1.0, [(0.0, 10**9)], 1e-5, 4.0, 1.0) is None


GROUPS = ((0.01, 1.0, 10), (0.03, 1.0, 10))
Groups = tuple[tuple[float, float, int], ...]
LAW = np.array([0.2, 1.0, 3.0]), np.array([0.8, 0.19, 0.01])


@pytest.mark.parametrize("guess", [0.6, 1.0])
@pytest.mark.parametrize("groups", [GROUPS, ((0.01, 1.0, 10), (0.03, 0.5, 10), (0.02, 1.0, 3))])
def test_it_is_close_to_what_is_certified(guess: float, groups: Groups) -> None:
    parts = [
        Composite(tuple((shifted_subsampled(0.02, z * u, s), n) for u, s, n in groups))
        for z in LAW[0].tolist()
    ]
    certified = HiddenMixture(parts, LAW[1].tolist(), "neither").epsilon(1e-5)
    found = hidden_epsilon("symmetric", 0.02, groups, LAW, 0.0, 1e-5, guess)
    assert found == pytest.approx(certified, rel=0.05)


def test_payments_cost_something() -> None:
    free, paid = (
        hidden_epsilon("symmetric", 0.02, GROUPS, LAW, mu, 1e-5, 1.0) for mu in (0.0, 0.2)
    )
    assert free < paid < free + 1.2


def test_payments_far_below_the_mesh_of_the_lattice_cost_next_to_nothing() -> None:
    free, paid = (
        hidden_epsilon("symmetric", 0.02, GROUPS, LAW, mu, 1e-5, 1.0) for mu in (0.0, 1e-3)
    )
    assert paid == pytest.approx(free, rel=1e-2)


@pytest.mark.parametrize(("s", "guess"), [(3.0, 0.01), (30.0, 1.0)])
def test_what_is_far_beyond_the_guess_is_infinite(s: float, guess: float) -> None:
    groups = tuple((u, s, n) for u, _, n in GROUPS)
    assert hidden_epsilon("symmetric", 0.5, groups, LAW, 0.0, 1e-5, guess) == math.inf
