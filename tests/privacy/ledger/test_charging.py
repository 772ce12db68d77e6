"""Whether a release fits into what is left of a budget, and what is said if it does not."""

from __future__ import annotations

import math

import pytest

from shiftdp import ApproxDPTradeoff, GaussianTradeoff, UnmetHypothesis
from shiftdp.privacy.ledger.charging import fits, refusal, require_admitted
from shiftdp.privacy.ledger.entry import Terms
from shiftdp.privacy.ledger.running_total import RunningTotal

TERMS = Terms(epsilon=1.0, delta=1e-5, adjacency="replace_one", adaptive=False)


def test_a_release_fits_up_to_the_budget_and_no_further() -> None:
    total = RunningTotal().plus(GaussianTradeoff(0.1), 1)
    room = total.largest_gaussian(TERMS.epsilon, TERMS.delta)
    assert fits(total, GaussianTradeoff(room), 1, TERMS)
    assert not fits(total, GaussianTradeoff(1.001 * room), 1, TERMS)
    assert not fits(total, GaussianTradeoff(room), 2, TERMS)


def test_what_gives_everything_away_never_fits() -> None:
    assert not fits(RunningTotal(), GaussianTradeoff(math.inf), 1, TERMS)
    assert refusal(RunningTotal(), GaussianTradeoff(math.inf), 1, TERMS).asked == math.inf


def test_a_refusal_has_the_numbers() -> None:
    total, f = RunningTotal().plus(GaussianTradeoff(0.1), 1), GaussianTradeoff(0.5)
    error = refusal(total, f, 1, TERMS)
    assert error.asked == pytest.approx(f.epsilon(1e-5))
    assert error.spent == pytest.approx(GaussianTradeoff(0.1).epsilon(1e-5))
    assert error.total == pytest.approx(GaussianTradeoff(math.hypot(0.1, 0.5)).epsilon(1e-5))
    assert error.budget == 1.0
    assert fits(total, GaussianTradeoff(error.remaining_mu), 1, TERMS)


def test_an_adaptive_ledger_admits_gaussians_only() -> None:
    adaptive = Terms(epsilon=1.0, delta=1e-5, adjacency="replace_one", adaptive=True)
    require_admitted(GaussianTradeoff(0.1), adaptive)
    require_admitted(ApproxDPTradeoff(0.1), TERMS)
    with pytest.raises(UnmetHypothesis, match="is not Gaussian"):
        require_admitted(ApproxDPTradeoff(0.1), adaptive)
