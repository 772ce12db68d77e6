"""Certificates as events and privacy losses of dp_accounting: they dominate."""

from __future__ import annotations

from typing import Any

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp.fdp import PoissonReplaceOne, PoissonZeroOut, WithFailure
from shiftdp.fdp.composition.composite import Composite
from shiftdp.privacy.dp_accounting.accountant import (
    LastIterateAccountant,
    LastIterateDpEvent,
    dominating_event,
    to_pld,
)
from tests.privacy.dp_accounting.examples import ONE, POISSON, RUN, SGD, SPECIAL, geometry

DELTA = 1e-5


def test_dominating_event() -> None:
    cert = sdp.certify(RUN, geometry("zero_out"))
    event = dominating_event(cert)
    theirs = PLDAccountant(SPECIAL).compose(event).get_epsilon(DELTA)
    # they may only exceed it, by what their mesh of 1e-4 costs
    assert 0.0 <= theirs - cert.epsilon(DELTA) < 1e-6
    assert PLDAccountant(ONE).compose(event).get_epsilon(DELTA) > theirs


def test_dominating_event_at_the_ends() -> None:
    flat = sdp.Geometry(strong_convexity=0.5, smoothness=5.0, sensitivity=0.0)
    assert dominating_event(sdp.certify(RUN, flat)) == dpa.NoOpDpEvent()
    with pytest.raises(sdp.NoClosedForm, match="to_pld"):
        dominating_event(sdp.certify(SGD, geometry()))


FUNCTIONS = [
    sdp.GaussianTradeoff(0.3),
    sdp.GaussianTradeoff(4.0),
    sdp.LaplaceTradeoff(0.7),
    sdp.ApproxDPTradeoff(0.5, 1e-4),
    sdp.Identity(),
    sdp.GaussianTradeoff(1.0).subsample(0.1),
    sdp.Mixture([sdp.GaussianTradeoff(0.5), sdp.GaussianTradeoff(2.0)], [0.9, 0.1]),
    PoissonZeroOut(0.1, 0.0, 1.0),
    PoissonReplaceOne(0.1, 0.2, 1.0),
    WithFailure(sdp.GaussianTradeoff(1.0), 1e-6),
    sdp.GaussianTradeoff(1.0).subsample(0.1).power(20),
]


EPSILONS = np.linspace(-4.0, 8.0, 49)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: type(f).__name__)
def test_exported_losses_dominate(f: sdp.TradeoffFunction) -> None:
    law = to_pld(f, 1e-3)
    # what is composed numerically is bounded on each side of 0 on its own
    at = EPSILONS[EPSILONS >= 0.0] if isinstance(f, Composite) else EPSILONS
    worse = np.maximum(f.delta(at), f.inverse().delta(at))
    found = law.get_delta_for_epsilon(at)
    # their own sums round, by ulps of 1; what is composed numerically is a bound that leaves 1e-12
    # for rounding, and the law is that of its convex minorant, which is a bound as well
    assert np.all(found >= worse - (1e-12 if isinstance(f, Composite) else 1e-14))
    # chords over cells of width h exceed the profile by O(h^2), or O(h) next to an atom
    assert np.max(found - worse) < 1e-3
    least = max(f.epsilon(1e-3), f.inverse().epsilon(1e-3))
    if isinstance(f, Composite):
        least -= f.accuracy  # epsilon is read from a composition of its own
    assert law.get_epsilon_for_delta(1e-3) >= least * (1 - 1e-12)


@given(
    st.floats(0.05, 3.0),
    st.floats(0.01, 1.0),
    st.sampled_from([1e-3, 1e-2, 0.1]),
    st.integers(1, 30),
)
def test_exported_losses_dominate_after_composition(
    mu: float, p: float, mesh: float, times: int
) -> None:
    f = sdp.GaussianTradeoff(mu).subsample(p)
    law = to_pld(f, mesh, infinity_mass=1e-10).self_compose(times)
    exact = sdp.GaussianTradeoff(mu).power(times) if p == 1.0 else None
    lower = exact.epsilon(1e-4) if exact else f.power(times).epsilon(1e-4) - 1.1e-3
    assert law.get_epsilon_for_delta(1e-4) >= lower * (1 - 1e-9)


def test_directions_are_theirs() -> None:
    ours = to_pld(PoissonZeroOut(0.1, 0.0, 1.0))
    theirs = pld.from_gaussian_mechanism(1.0, sampling_prob=0.1)
    for side in ("_pmf_add", "_pmf_remove"):
        for delta in (1e-2, 1e-4, 1e-6):
            expected = getattr(theirs, side).get_epsilon_for_delta(delta)
            found = getattr(ours, side).get_epsilon_for_delta(delta)
            assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_a_certificate_composes_with_their_laws() -> None:
    """Sampling without replacement, last iterate: a law that theirs does not have."""
    cert = sdp.certify(SGD, geometry())
    mesh = 2e-3
    law = to_pld(cert, mesh)
    low, high = cert.epsilon_interval(DELTA)
    assert low <= law.get_epsilon_for_delta(DELTA) <= high + 1e-3
    other = pld.from_gaussian_mechanism(
        5.0, value_discretization_interval=mesh, neighboring_relation=ONE
    )
    total = law.compose(other).get_epsilon_for_delta(DELTA)
    ours = LastIterateAccountant(ONE)
    ours.compose(LastIterateDpEvent(SGD, geometry())).compose(dpa.GaussianDpEvent(5.0))
    assert total == pytest.approx(ours.get_epsilon(DELTA), abs=2e-3)


def test_a_poisson_certificate_keeps_its_directions() -> None:
    cert = sdp.certify(POISSON, geometry("zero_out"))
    law = to_pld(cert)
    low, high = cert.epsilon_interval(DELTA)
    assert low <= law.get_epsilon_for_delta(DELTA) <= high + 1e-3
    assert not law._symmetric


def test_a_hopeless_law() -> None:
    law = to_pld(sdp.ApproxDPTradeoff(0.0, 1.0))
    assert law.get_delta_for_epsilon(3.0) == 1.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(("x",), "source"), ((FUNCTIONS[0], 0.0), "value_discretization_interval")],
)
def test_bad_exports(arguments: Any, name: str) -> None:
    with pytest.raises(sdp.InvalidInput) as caught:
        to_pld(*arguments)
    assert caught.value.name == name
