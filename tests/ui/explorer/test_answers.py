"""The numbers of the page are those of `certify`."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp import GaussianTradeoff, Uncertified, certify
from shiftdp.ui.explorer.answers import ALARMS, certified, curve_of, curves, estimate
from tests.ui.explorer.examples import RUNS, SAMPLED, SMALL, settings


@pytest.mark.parametrize("name", RUNS)
def test_numbers_are_those_of_certify(name: str) -> None:
    asked = RUNS[name].asked()
    found = certified(asked)
    again = certify(asked.run, asked.geometry, bounds=asked.bounds, delta=asked.delta)
    assert found.certificate.same_guarantee(again)
    assert found.epsilon == again.epsilon(asked.delta)
    assert found.caught == tuple((fpr, again.tpr(fpr)) for fpr in ALARMS)
    assert found.advantage == again.advantage()


@pytest.mark.parametrize("name", RUNS)
def test_curves_are_drawn_for_every_run(name: str) -> None:
    asked = RUNS[name].asked()
    certificate = certified(asked).certificate
    found = curves(asked, certificate)
    own = next(curve for curve in found.tradeoffs if curve.name == "best")
    assert own.beta == pytest.approx(np.asarray(certificate.tradeoff(own.alpha)))
    assert np.all(np.diff(own.beta) <= 0.0)
    for curve in found.tradeoffs:
        common = np.isin(curve.alpha, own.alpha)
        assert common.sum() == own.alpha.size
        if curve.name == "lower bound":
            assert np.all(curve.beta[common] >= own.beta - 1e-9)
        if curve.name == "composition":
            assert np.all(curve.beta[common] <= own.beta + 1e-9)
    assert bool(found.positions) != bool(found.why_no_positions)


def test_the_profile_by_position_ends_at_the_epsilon_of_the_worst_record() -> None:
    asked = RUNS["fixed"].asked()
    found = certified(asked)
    positions = curves(asked, found.certificate).positions
    assert list(positions) == [1, 2, 3, 4]
    assert max(positions.values()) == pytest.approx(found.epsilon, rel=1e-9)


def test_a_smaller_last_batch_is_noticed() -> None:
    assert certified(settings(**{**SMALL, "batch_size": "333"}).asked()).notice is not None
    assert certified(RUNS["fixed"].asked()).notice is None


def test_an_estimate_says_so_and_is_near_composition() -> None:
    asked = settings(**SAMPLED, bounds="composition").asked()
    guess = estimate(asked)
    assert isinstance(guess, Uncertified)
    assert guess.value == pytest.approx(certified(asked).epsilon, rel=1e-2)
    assert estimate(RUNS["fixed"].asked()) is None
    assert estimate(settings(**SAMPLED, records_per_person="2").asked()) is None


def test_a_curve_is_the_function_at_its_points() -> None:
    f = GaussianTradeoff(1.0)
    found = curve_of("best", "f", f)
    assert found.alpha[0] == 0.0
    assert found.alpha[-1] == 1.0
    assert found.beta == pytest.approx(np.asarray(f(found.alpha)))
