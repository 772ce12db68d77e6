"""The tilt is that of the saddle point, and reaches leave out what does not count."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    HiddenReplaceOne,
    Mixture,
    PoissonZeroOut,
    TradeoffFunction,
)
from shiftdp.fdp.search.saddle import find_saddle


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9, 1e-30])
@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_the_tilt_moves_the_mean_loss_of_a_gaussian_to_epsilon(mu: float, delta: float) -> None:
    """Tilted by theta, the loss of G(mu) is N(mu^2 (theta + 1/2), mu^2)."""
    saddle = find_saddle([(GaussianTradeoff(mu / 3.0), 9)], delta, delta)
    mean = mu * mu * (saddle.theta + 0.5)
    assert mean == pytest.approx(GaussianTradeoff(mu).epsilon(delta), abs=0.5 * mu)
    assert saddle.spread == pytest.approx(mu, rel=1e-3)
    assert saddle.central == pytest.approx(3.0 / mu, rel=0.01)


@pytest.mark.parametrize(
    "f",
    [GaussianTradeoff(1.0), GaussianTradeoff(1.0).subsample(0.1), PoissonZeroOut(0.1, 0.1, 1.0)],
    ids=repr,
)
def test_beyond_the_reach_the_profile_is_negligible(f: TradeoffFunction) -> None:
    saddle = find_saddle([(f, 10)], 1e-5, 1e-7)
    (right, left), *_ = saddle.reaches
    assert f.delta(right) <= 1e-9 * 1e-7 / 10
    assert saddle.farthest == max(right, left)
    assert f.delta(0.4 * right) > 1e-9 * 1e-7 / 10


def test_coarsening_starts_further_out_where_the_mass_is_tilted_more() -> None:
    factors = [(GaussianTradeoff(1.0).subsample(0.01), 1000)]
    near, far = (find_saddle(factors, 1e-3, d).coarsenings[0][0] for d in (1e-3, 1e-12))
    assert [stride for _, stride in near] == [stride for _, stride in far] == [8, 64]
    assert all(a < b for (a, _), (b, _) in zip(near, far, strict=True))


def test_nothing_is_thinned_out_where_the_mass_reaches_the_end() -> None:
    assert find_saddle([(GaussianTradeoff(1.0), 1)], 1e-3, 1e-12).coarsenings == (((), ()),)


def test_losses_with_atoms_are_neither_thinned_out_nor_cut_short() -> None:
    f = ApproxDPTradeoff(1.0)
    saddle = find_saddle([(f, 20)], 1e-5, 1e-7)
    assert saddle.coarsenings == (((), ()),)
    assert all(reach >= 1.0 for reach in saddle.reaches[0])
    assert 0.0 < saddle.theta < math.inf
    assert np.isfinite(saddle.spread)


def test_a_loss_that_is_hardly_ever_met_does_not_decide_how_far_losses_are_followed() -> None:
    """One value of W in 1e14 is 40 times the others: the tilt is that of the others."""
    plain = HiddenReplaceOne((0.0, 1.0), (0.99, 0.01))
    rounded_up = HiddenReplaceOne((0.0, 1.0, 40.0), (0.99 - 1e-14, 0.01, 1e-14))
    followed, cut = (find_saddle([(rounded_up, 2)], 1e-10, 1e-12, cut=c) for c in (False, True))
    assert followed.farthest > 300.0
    assert followed.lost == 0.0
    assert cut.farthest < 30.0
    assert 1e-14 < cut.lost < 1e-13
    assert cut.theta == pytest.approx(find_saddle([(plain, 2)], 1e-10, 1e-12).theta, rel=0.3)
    assert cut.theta > 10.0 * followed.theta


def test_a_loss_that_is_hardly_ever_met_is_left_out_unless_others_reach_as_far() -> None:
    """Of two of them, one matters: to follow it alone cost a third of epsilon."""

    def rarely(large: float, weight: float) -> TradeoffFunction:
        parts = [ApproxDPTradeoff(0.02, 0.0), ApproxDPTradeoff(large, 0.0)]
        return Mixture(parts, [1.0 - weight, weight])

    hardly, sometimes = (rarely(97.0, 2e-13), 5), (rarely(88.0, 3e-8), 1)
    alone = find_saddle([hardly], 5e-8, 5e-10, cut=True)
    assert max(alone.reaches[0]) < 0.1
    both = find_saddle([hardly, sometimes], 5e-8, 5e-10, cut=True)
    assert min(map(min, both.reaches)) > 80.0
