"""Products on a lattice: close, or refused."""

from __future__ import annotations

import pytest

from shiftdp.fdp import PoissonReplaceOne, ShiftedSubsampled, TradeoffFunction
from shiftdp.fdp.search.lattice import lattice_epsilon
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
