"""The search for the value that just meets a budget, and what is said where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shiftdp import (
    Geometry,
    InvalidInput,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    UnmetHypothesis,
    certify,
)
from shiftdp.last_iterate.runs import Run
from shiftdp.privacy import (
    Budget,
    ImpossibleBudget,
    budget_of,
    calibrate_diameter,
    calibrate_epochs,
    calibrate_noise,
    calibrate_strong_convexity,
)
from shiftdp.privacy.budget_search import BudgetSearch, certify_at
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


LOSSES = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=2.0)


def one_step(noise: float) -> tuple[Run, Geometry]:
    """A run that is G(2 / noise)."""
    return NoisyGD(n=1, steps=1, learning_rate=0.1, noise=noise), LOSSES


def search_of(setting: Callable[[float], tuple[Run, Geometry]], limit: float) -> BudgetSearch:
    return BudgetSearch(budget_of(mu=limit), "best", None, "noise", setting)


def test_each_value_is_certified_once() -> None:
    asked: list[float] = []

    def setting(x: float) -> tuple[Run, Geometry]:
        asked.append(x)
        return one_step(x)

    looked = search_of(setting, 0.5)
    assert looked.excess(2.0) == looked.excess(2.0) == pytest.approx(math.log(2.0))
    assert asked == [2.0]


def test_the_first_point_that_meets_the_budget_is_moved_to_the_boundary() -> None:
    """Noise that rises up to x = 2 and falls from there on: met from 1.6 to 2.5."""

    def setting(x: float) -> tuple[Run, Geometry]:
        return one_step(5.0 * min(x / 2.0, 2.0 / x))

    for points, end in (([1.0, 2.0, 4.0], 1.6), ([4.0, 2.0, 1.0], 2.5)):
        assert search_of(setting, 0.5).first_met(points) == pytest.approx(end, rel=2e-7)
    assert search_of(setting, 0.5).first_met([2.0, 1.0]) == 2.0
    with pytest.raises(ImpossibleBudget) as refusal:
        search_of(setting, 0.5).first_met([1.0, 1.5])
    assert refusal.value.nearest.limit == pytest.approx(2.0 / 3.75)


def test_a_run_that_no_theorem_admits_is_refused_with_the_reason() -> None:
    steep = Geometry(strong_convexity=0.0, smoothness=100.0, sensitivity=2.0)
    looked = search_of(lambda x: (LangevinMC(steps=10, learning_rate=x), steep), 1.0)
    assert looked.excess(1.0) == math.inf
    with pytest.raises(UnmetHypothesis, match="learning_rate"):
        looked.boundary(1.0, 0.5, 2.0, slope=1.0)


def test_settings_out_of_range_do_not_meet_a_budget() -> None:
    looked = search_of(lambda x: one_step(x * 1e40), 1.0)
    assert looked.excess(2.0) == math.inf
    with pytest.raises(InvalidInput, match="nothing is kept private"):
        looked.first_met([2.0, 3.0])


def test_a_small_delta_has_a_certificate_of_its_own() -> None:
    run = NoisySGD(
        n=1000, batch_size=10, steps=50, learning_rate=0.1, noise=1.0, sampling="poisson"
    )
    losses = Geometry(
        strong_convexity=0.1, smoothness=1.0, sensitivity=1.0, adjacency="zero_out", diameter=0.1
    )
    usual = certify(run, losses)
    assert certify_at(run, losses, "best", 1e-5).f == usual.f
    small = certify_at(run, losses, "best", 1e-9)
    assert small.f == certify(run, losses, delta=1e-9).f != usual.f


@pytest.mark.parametrize("calibrate", [calibrate_noise, calibrate_epochs])
def test_a_run_that_no_theorem_speaks_of_is_refused_with_the_reason(
    calibrate: Callable[..., Any],
) -> None:
    """It was `min() arg is an empty sequence`."""
    run = NoisySGD(
        n=200,
        batch_size=20,
        epochs=2,
        learning_rate=0.5,
        noise=0.1,
        sampling="random_allocation",
    )
    losses = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    with pytest.raises(UnmetHypothesis, match="zero_out"):
        calibrate(run, losses, epsilon=1.0, delta=1e-5)
