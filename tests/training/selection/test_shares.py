"""From the budget of a search to that of a trial."""

from __future__ import annotations

import pytest

from shiftdp import GaussianTradeoff, InvalidInput
from shiftdp.fdp.selection.selected import Selected
from shiftdp.fdp.selection.trials import Trials
from shiftdp.training.selection.shares import aims, trial_mu

GEOMETRIC = Trials("negative_binomial", 0.2, 1.0)


def test_the_best_of_trials_spends_all_of_the_budget() -> None:
    mu = trial_mu(GEOMETRIC, 1.0, 1e-5)
    spent = Selected(GaussianTradeoff(mu), "negative_binomial", 0.2, 1.0).epsilon(1e-5)
    assert 0.9999 < spent <= 1.0


def test_fit_and_score_share_a_trial_or_have_one_each() -> None:
    mu = trial_mu(GEOMETRIC, 1.0, 1e-5)
    apart = next(aims(GEOMETRIC, 1.0, 1e-5, None))(1.0)
    assert apart.score_mu == pytest.approx(mu)
    assert apart.delta == 1e-5 / GEOMETRIC.mean
    assert GaussianTradeoff.from_budget(apart.epsilon, apart.delta).mu == pytest.approx(mu)
    shared = next(aims(GEOMETRIC, 1.0, 1e-5, 0.25))(1.0)
    assert shared.score_mu == pytest.approx(mu / 2)
    fit = GaussianTradeoff.from_budget(shared.epsilon, shared.delta).mu
    assert fit**2 + shared.score_mu**2 == pytest.approx(mu**2)


def test_later_aims_are_smaller() -> None:
    budgets = aims(GEOMETRIC, 1.0, 1e-5, 0.1)
    first = next(budgets)(1.0)
    second = next(budgets)(1.1)
    assert 0.8 * first.epsilon < second.epsilon < first.epsilon


def test_too_little_is_refused() -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        next(aims(GEOMETRIC, 1e-9, 1e-5, 0.1))(1e-9)
