"""What all checks of proofs share: numbers may be a little above what is proved, never below."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from shiftdp import ApproxDPTradeoff, GaussianTradeoff, Mixture, VerificationFailed
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.last_iterate import Geometry, NoisyCGD, certify
from shiftdp.last_iterate.theorems.checks import (
    FORMULA_SLACK,
    at_least,
    barely_above,
    mu_of,
    require,
    verify_shifts,
    verify_stated_mu,
)
from shiftdp.last_iterate.theorems.descent import solve
from shiftdp.last_iterate.theorems.proofs import Proof

GEOMETRY = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
RUN = NoisyCGD(n=12, batch_size=4, epochs=5, learning_rate=0.5, noise=0.4)


def test_a_condition_that_fails_is_named() -> None:
    require(True, "all is well")
    with pytest.raises(VerificationFailed, match="the sky falls"):
        require(False, "the sky falls")


@pytest.mark.parametrize(
    ("stated", "fits"),
    [
        (1.0, True),
        (1.0 + FORMULA_SLACK / 2, True),
        (1.0 + 3 * FORMULA_SLACK, False),
        (math.nextafter(1.0, 0.0), False),
        (math.nan, False),
    ],
)
def test_a_number_is_what_was_derived_or_a_little_above(stated: float, fits: bool) -> None:
    assert barely_above(stated, 1.0) is fits
    assert at_least(GaussianTradeoff(1.0), GaussianTradeoff(1.0))
    if not math.isnan(stated):
        assert at_least(GaussianTradeoff(stated), GaussianTradeoff(1.0)) is fits


def test_functions_are_compared_part_by_part() -> None:
    low, high = GaussianTradeoff(1.0), GaussianTradeoff(1.0 + FORMULA_SLACK / 2)
    assert at_least(Mixture([high, low], [0.5, 0.5]), Mixture([low, low], [0.5, 0.5]))
    assert not at_least(Mixture([low, low], [0.5, 0.5]), Mixture([high, low], [0.5, 0.5]))
    assert not at_least(Mixture([low, low], [0.6, 0.4]), Mixture([low, low], [0.5, 0.5]))
    assert not at_least(ApproxDPTradeoff(1.0, 0.2), ApproxDPTradeoff(1.0, 0.1))
    assert not at_least(low, ApproxDPTradeoff(1.0, 0.1))


def test_a_bound_that_has_to_be_gaussian_has_a_mu() -> None:
    assert mu_of(GaussianTradeoff(0.5)) == 0.5
    with pytest.raises(VerificationFailed, match="is not Gaussian"):
        mu_of(ApproxDPTradeoff(1.0, 0.1))


def test_shifts_prove_the_mu_that_they_state() -> None:
    schedule = PeriodicSchedule(0.9, 1.0, 1.0, period=3, first=3, steps=30)
    shifts = solve(schedule)
    verify_stated_mu(schedule, shifts)
    for factor in (1 - 1e-9, 1 + 1e-5):
        with pytest.raises(VerificationFailed, match="mu="):
            verify_stated_mu(schedule, replace(shifts, mu=shifts.mu * factor))


def test_there_are_shifts_for_each_outcome_and_no_other() -> None:
    proofs = certify(RUN, GEOMETRY).proofs
    found = verify_shifts(RUN, GEOMETRY, proofs, endless=False)
    assert tuple(found) == proofs
    (proof,) = found
    assert isinstance(proof, Proof)
    for wrong in ((), (proof, proof), (replace(proof, weight=0.5),)):
        with pytest.raises(VerificationFailed):
            verify_shifts(RUN, GEOMETRY, wrong, endless=False)
