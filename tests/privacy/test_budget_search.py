"""The search for the value that just meets a budget, and what is said where there is none."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shiftdp import Geometry, InvalidInput, NoisyCGD, NoisyGD
from shiftdp.privacy import (
    Budget,
    ImpossibleBudget,
    budget_of,
    calibrate_diameter,
    calibrate_epochs,
    calibrate_noise,
    calibrate_strong_convexity,
)
from shiftdp.privacy.budget_search import BudgetSearch
from tests.privacy.spending import CYCLIC, MNIST, STRONG, met


@pytest.mark.parametrize(
    "terms", [{"mu": 0.0}, {"tpr": 0.005, "fpr": 0.01}, {"renyi": 0.0, "order": 2.0}]
)
def test_the_nearest_budget_is_possible(terms: dict[str, Any]) -> None:
    with pytest.raises(ImpossibleBudget) as refusal:
        calibrate_noise(CYCLIC, MNIST, **terms)
    nearest: Budget = refusal.value.nearest
    assert nearest.limit > budget_of(**terms).limit
    assert str(nearest) in str(refusal.value)
    name = next(iter(terms))
    found = calibrate_noise(CYCLIC, MNIST, **{**terms, name: nearest.limit})
    assert met({**terms, name: nearest.limit}, found, MNIST)


def test_impossible_losses_name_the_nearest_budget() -> None:
    run = NoisyCGD(n=300, batch_size=30, epochs=10, learning_rate=0.1, noise=0.15)
    for calibrator in (calibrate_diameter, calibrate_strong_convexity):
        with pytest.raises(ImpossibleBudget) as refusal:
            calibrator(run, STRONG, epsilon=0.01, delta=1e-5)
        nearest = refusal.value.nearest.limit
        assert met(
            {"epsilon": nearest, "delta": 1e-5},
            run,
            calibrator(run, STRONG, epsilon=nearest, delta=1e-5),
        )


def test_where_nothing_is_kept_private() -> None:
    """A single step whose mu is 32 gives an advantage of 1 to the last digit."""
    run = NoisyCGD(n=2, batch_size=1, steps=1, learning_rate=1.0, noise=0.25)
    plain = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=8.0)
    for calibrator in (calibrate_epochs, calibrate_diameter):
        with pytest.raises(InvalidInput, match="nothing is kept private") as refusal:
            calibrator(run, plain, advantage=0.5)
        assert refusal.value.name == "advantage"


@settings(max_examples=30)
@given(st.floats(0.1, 3.0), st.floats(0.02, 0.5))
def test_composition_of_full_batches_is_searched_to_its_closed_form(
    limit: float, noise: float
) -> None:
    """mu = (L/n) sqrt(t) / sigma, so t is the floor of (mu sigma n/L)^2."""
    exact = (Fraction(limit) * Fraction(noise) * 50 / 2) ** 2
    assume(exact > 1 and abs(exact - round(exact)) > Fraction(1, 10**9))

    def setting(x: float) -> tuple[NoisyGD, Geometry]:
        return NoisyGD(n=50, steps=int(x), learning_rate=0.1, noise=noise), STRONG

    search = BudgetSearch(budget_of(mu=limit), "composition", None, "steps", setting)
    found = search.boundary(2.0, 1.0, 1e6, slope=0.5, whole=True)
    assert found == math.floor(exact)
    assert search.met(found)
    assert not search.met(found + 1)
    assert search.first_met([float(found + 5), float(found)], whole=True) == found
