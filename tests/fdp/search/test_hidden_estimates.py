"""Estimates with a hidden shift: close to certified values where these are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.fdp import shifted_subsampled
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.composition.hidden_mixture import HiddenMixture
from shiftdp.fdp.search.hidden_estimates import hidden_epsilon

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
