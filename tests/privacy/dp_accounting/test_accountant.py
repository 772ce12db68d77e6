"""dp_accounting: events, an accountant, calibration, and exports that its own accountants read."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import PLDAccountant

import shiftdp as sdp
from shiftdp.fdp import PoissonZeroOut
from shiftdp.fdp.composition.composite import AccuracyNotMet, Composite
from shiftdp.privacy.dp_accounting.accountant import (
    LastIterateAccountant,
    LastIterateDpEvent,
    relation_of,
    with_noise,
)
from tests.privacy.dp_accounting.examples import ONE, POISSON, RUN, SGD, SPECIAL, geometry

DELTA = 1e-5


# --- the accountant ---


@pytest.mark.parametrize(
    ("run", "adjacency", "relation"),
    [(RUN, "replace_one", ONE), (RUN, "zero_out", SPECIAL), (SGD, "replace_one", ONE)],
)
def test_one_run_costs_what_its_certificate_says(
    run: Any, adjacency: Any, relation: NeighboringRelation
) -> None:
    cert = sdp.certify(run, geometry(adjacency))
    accountant = LastIterateAccountant(relation)
    accountant.compose(LastIterateDpEvent(run, geometry(adjacency)))
    assert accountant.get_epsilon(DELTA) == pytest.approx(cert.epsilon(DELTA), rel=1e-12)
    assert accountant.get_delta(1.0) == pytest.approx(cert.delta(1.0), rel=1e-12)


def test_a_poisson_run_costs_what_its_certificate_says() -> None:
    cert = sdp.certify(POISSON, geometry("zero_out"))
    accountant = LastIterateAccountant(SPECIAL)
    accountant.compose(LastIterateDpEvent(POISSON, geometry("zero_out")))
    assert accountant.get_epsilon(DELTA) == pytest.approx(cert.epsilon(DELTA), rel=1e-9)


def test_gaussian_runs_add_in_squares() -> None:
    mu = sdp.certify(RUN, geometry()).mu or 0.0
    accountant = LastIterateAccountant(ONE)
    event = LastIterateDpEvent(RUN, geometry())
    accountant.compose(event, 3).compose(dpa.GaussianDpEvent(4.0))
    total = sdp.GaussianTradeoff(math.sqrt(3 * mu**2 + (2 / 4.0) ** 2))
    assert accountant.get_epsilon(DELTA) == pytest.approx(total.epsilon(DELTA), rel=1e-12)


def test_bounds_of_the_event() -> None:
    event = LastIterateDpEvent(RUN, geometry(), "composition")
    expected = sdp.certify(RUN, geometry(), bounds="composition").epsilon(DELTA)
    assert LastIterateAccountant(ONE).compose(event).get_epsilon(DELTA) == pytest.approx(expected)


def test_reading_epsilon_loses_nothing() -> None:
    accountant = LastIterateAccountant(ONE).compose(LastIterateDpEvent(RUN, geometry()))
    first = accountant.get_epsilon(DELTA)
    assert accountant.get_epsilon(DELTA) == first
    assert accountant.ledger == LastIterateDpEvent(RUN, geometry())
    accountant.compose(LastIterateDpEvent(RUN, geometry()))
    twice = LastIterateAccountant(ONE).compose(LastIterateDpEvent(RUN, geometry()), 2)
    assert accountant.get_epsilon(DELTA) == twice.get_epsilon(DELTA) > first


def test_nothing_and_everything() -> None:
    accountant = LastIterateAccountant(ONE).compose(dpa.NoOpDpEvent())
    assert accountant.get_epsilon(DELTA) == accountant.get_delta(0.0) == 0.0
    accountant.compose(dpa.NonPrivateDpEvent())
    assert accountant.get_epsilon(DELTA) == math.inf
    assert accountant.get_delta(1.0) == 1.0
    for event in (dpa.GaussianDpEvent(0.0), dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(0))):
        assert LastIterateAccountant(ONE).compose(event).get_epsilon(DELTA) == math.inf
    unsampled = dpa.PoissonSampledDpEvent(0.0, dpa.GaussianDpEvent(0.0))
    assert LastIterateAccountant(ONE).compose(unsampled).get_epsilon(DELTA) == 0.0


EVENTS = [
    dpa.GaussianDpEvent(1.5),
    dpa.LaplaceDpEvent(2.0),
    dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(1.0)),
    dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.05, dpa.GaussianDpEvent(0.8)), 20),
    dpa.ComposedDpEvent(
        [
            dpa.GaussianDpEvent(3.0),
            dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.02, dpa.GaussianDpEvent(1.0)), 50),
            dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(5.0), 3),
            dpa.NoOpDpEvent(),
        ]
    ),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("relation", [ONE, SPECIAL])
def test_their_events_cost_what_their_accountant_says(
    event: dpa.DpEvent, relation: NeighboringRelation
) -> None:
    theirs, ours = PLDAccountant(relation), LastIterateAccountant(relation)
    assert ours.supports(event) == theirs.supports(event)
    if not ours.supports(event):
        return
    expected = theirs.compose(event).get_epsilon(DELTA)
    # our interval is 1e-3 wide, and theirs lies on a mesh of 1e-4
    assert ours.compose(event).get_epsilon(DELTA) == pytest.approx(expected, abs=2e-3)


def test_runs_compose_with_their_events_in_each_direction() -> None:
    """A Poisson run and Poisson events, all with the record first: no more than their product."""
    p, sigma, steps = 0.05, 1.0, 100
    run = sdp.NoisySGD(
        n=1000,
        batch_size=50,
        steps=steps,
        learning_rate=0.1,
        noise=sigma * 2.0 / 50,
        sampling="poisson",
    )
    composed = LastIterateDpEvent(run, geometry("zero_out"), "composition")
    sampled = dpa.PoissonSampledDpEvent(p, dpa.GaussianDpEvent(sigma))
    ours = LastIterateAccountant(SPECIAL).compose(composed).compose(sampled, 50)
    theirs = PLDAccountant(SPECIAL).compose(sampled, steps + 50)
    assert ours.get_epsilon(DELTA) == pytest.approx(theirs.get_epsilon(DELTA), abs=2e-3)


def test_without_replacement_which_theirs_lacks() -> None:
    event = dpa.SampledWithoutReplacementDpEvent(1000, 25, dpa.GaussianDpEvent(3.0))
    assert not PLDAccountant(ONE).supports(event)
    ours = LastIterateAccountant(ONE).compose(event, 2000).get_epsilon(DELTA)
    # C_p(G(2/3))^2000 is known to ten digits
    assert 4.438137906 < ours < 4.438137906 + 1.1e-3
    assert not LastIterateAccountant(SPECIAL).supports(event)


@pytest.mark.parametrize(
    ("event", "relation", "problem"),
    [
        (LastIterateDpEvent(RUN, geometry()), SPECIAL, "adjacency='replace_one'"),
        (LastIterateDpEvent(RUN, geometry("zero_out")), ONE, "adjacency='zero_out'"),
        (dpa.LaplaceDpEvent(1.0), ONE, "REPLACE_SPECIAL"),
        (dpa.UnsupportedDpEvent(), ONE, "Unsupported event"),
        (dpa.ZCDpEvent(0.1), ONE, "Unsupported event"),
        (dpa.PoissonSampledDpEvent(0.1, dpa.LaplaceDpEvent(1.0)), SPECIAL, "GaussianDpEvent"),
        (
            dpa.SampledWithoutReplacementDpEvent(10, 1, dpa.LaplaceDpEvent(1.0)),
            ONE,
            "GaussianDpEvent",
        ),
        (
            dpa.SampledWithoutReplacementDpEvent(10, 1, dpa.GaussianDpEvent(1.0)),
            SPECIAL,
            "REPLACE_ONE",
        ),
        (dpa.ComposedDpEvent([dpa.NoOpDpEvent(), dpa.UnsupportedDpEvent()]), ONE, "Unsupported"),
    ],
)
def test_what_is_not_supported_is_said(
    event: dpa.DpEvent, relation: NeighboringRelation, problem: str
) -> None:
    accountant = LastIterateAccountant(relation)
    assert not accountant.supports(event)
    with pytest.raises(dpa.UnsupportedEventError, match=problem):
        accountant.compose(event)
    assert accountant.get_epsilon(DELTA) == 0.0


def test_add_or_remove_is_refused() -> None:
    with pytest.raises(sdp.UnmetHypothesis, match="number of records") as caught:
        LastIterateAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert caught.value.name == "neighboring_relation"
    assert relation_of(geometry()) == ONE
    assert relation_of(geometry("zero_out")) == SPECIAL


@pytest.mark.parametrize("multiplier", [-1.0, math.nan, math.inf])
def test_bad_multipliers(multiplier: float) -> None:
    accountant = LastIterateAccountant(ONE)
    with pytest.raises(dpa.UnsupportedEventError, match="noise_multiplier"):
        accountant.compose(dpa.GaussianDpEvent(multiplier))
    assert accountant.ledger == dpa.NoOpDpEvent()


def test_the_hypotheses_of_the_theorem_are_asked_for() -> None:
    run = sdp.NoisyGD(n=10, steps=5, learning_rate=1.0, noise=1.0)
    event = LastIterateDpEvent(run, geometry())
    accountant = LastIterateAccountant(ONE)
    assert not accountant.supports(event)
    with pytest.raises(dpa.UnsupportedEventError, match=r"learning_rate=1\.0 exceeds"):
        accountant.compose(event)
    assert accountant.ledger == dpa.NoOpDpEvent()


def test_an_event_survives_as_a_tuple() -> None:
    event = dpa.SelfComposedDpEvent(LastIterateDpEvent(RUN, geometry(), "paper"), 3)
    assert dpa.DpEvent.from_named_tuple(event.to_named_tuple()) == event


@pytest.mark.slow
def test_an_accuracy_that_is_out_of_reach_is_lowered() -> None:
    event = dpa.PoissonSampledDpEvent(0.5, dpa.GaussianDpEvent(1 / 30))
    step = PoissonZeroOut(0.5, 0.0, 30.0).inverse()
    product = step.power(10)
    assert isinstance(product, Composite)
    with pytest.raises(AccuracyNotMet):
        product.epsilon_interval(DELTA)
    ours = LastIterateAccountant(SPECIAL).compose(event, 10).get_epsilon(DELTA)
    whole = sdp.GaussianTradeoff(30.0).power(10).epsilon(DELTA)
    assert 0.5 * whole < ours < whole


@pytest.mark.slow
def test_where_no_grid_is_in_reach_a_gaussian_bound_is_left() -> None:
    event = dpa.PoissonSampledDpEvent(0.5, dpa.GaussianDpEvent(1e-5))
    accountant = LastIterateAccountant(SPECIAL).compose(event, 10)
    whole = sdp.GaussianTradeoff(1e5).power(10).epsilon(DELTA)
    assert 0.1 * whole < accountant.get_epsilon(DELTA) <= whole * (1 + 1e-9)
    assert accountant.get_delta(1.0) == 1.0


# --- calibration ---


@pytest.mark.parametrize("run", [RUN, sdp.NoisyGD(n=30, steps=40, learning_rate=0.2, noise=1.0)])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_calibration(run: Any, epsilon: float) -> None:
    make = with_noise(run, geometry())
    noise = dpa.calibrate_dp_mechanism(lambda: LastIterateAccountant(ONE), make, epsilon, DELTA)
    assert sdp.certify(make(noise).run, geometry()).epsilon(DELTA) <= epsilon
    assert sdp.certify(make(noise - 3e-6).run, geometry()).epsilon(DELTA) > epsilon


@pytest.mark.slow
def test_calibration_of_random_batches() -> None:
    make = with_noise(SGD, geometry())
    bracket = dpa.ExplicitBracketInterval(0.1, 2.0)
    noise = dpa.calibrate_dp_mechanism(
        lambda: LastIterateAccountant(ONE), make, 1.0, DELTA, bracket, tol=1e-2
    )
    assert sdp.certify(make(noise).run, geometry()).epsilon(DELTA) <= 1.0
    assert sdp.certify(make(noise - 2.1e-2).run, geometry()).epsilon(DELTA) > 1.0


def test_calibration_of_a_length_with_their_event() -> None:
    def event(epochs: int) -> dpa.DpEvent:
        run = sdp.NoisyCGD(n=300, batch_size=30, epochs=epochs, learning_rate=0.1, noise=0.5)
        return dpa.ComposedDpEvent([LastIterateDpEvent(run, geometry()), dpa.GaussianDpEvent(20.0)])

    def cost(epochs: int) -> float:
        return float(LastIterateAccountant(ONE).compose(event(epochs)).get_epsilon(DELTA))

    most = dpa.calibrate_dp_mechanism(
        lambda: LastIterateAccountant(ONE),
        event,
        0.5 * (cost(6) + cost(7)),
        DELTA,
        dpa.ExplicitBracketInterval(1, 200),
        discrete=True,
    )
    assert most == 6


def test_noise_that_cannot_be_set() -> None:
    with pytest.raises(sdp.InvalidInput, match="noise"):
        with_noise(RUN, geometry())(-1.0)
    with pytest.raises(sdp.InvalidInput, match="run"):
        with_noise(sdp.ExponentialMechanism(), geometry())(1.0)  # type: ignore[arg-type]
