"""The one-sided Poisson law, composed: within the interval of Opacus' PRV accountant."""

from __future__ import annotations

import pytest
from opacus.accountants import PRVAccountant

from shiftdp.fdp import PoissonZeroOut
from shiftdp.fdp.composition.composite import Composite

History = list[tuple[float, float, int]]
ERROR = 0.01

HISTORIES: list[History] = [
    [(1.0, 0.01, 1000)],
    [(2.0, 0.04, 125)],
    [(0.7, 0.02, 50)],
    [(1.0, 0.01, 500), (1.5, 0.05, 100)],
    [(0.8, 0.005, 400), (1.2, 0.02, 300), (3.0, 0.2, 20)],
]


def prv(history: History, delta: float) -> tuple[float, float, float]:
    """Their lower bound, estimate and upper bound."""
    accountant = PRVAccountant()
    accountant.history = list(history)
    law = accountant._get_dprv(eps_error=ERROR, delta_error=delta / 1000)
    low, estimate, high = law.compute_epsilon(delta, delta / 1000, ERROR)
    return float(low), float(estimate), float(high)


def removed(history: History) -> Composite:
    """H(with the record || without it): the direction that they compose."""
    laws = [PoissonZeroOut(q, 0.0, 1 / noise).inverse().power(steps) for noise, q, steps in history]
    product = laws[0].compose(*laws[1:])
    assert isinstance(product, Composite)
    return product


@pytest.mark.parametrize("history", HISTORIES, ids=range(len(HISTORIES)))
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-7])
def test_the_intervals_meet(history: History, delta: float) -> None:
    low, estimate, high = prv(history, delta)
    below, above = removed(history).epsilon_interval(delta)
    assert below <= high
    assert low <= above
    assert above - below < 1.1e-3
    # ours is narrower, and their estimate is as good as ours
    assert high - low > above - below
    assert estimate == pytest.approx(above, abs=5e-3)


def test_the_other_direction_is_not_theirs() -> None:
    """H(without || with) is smaller here: to compare it with theirs would prove nothing."""
    history = HISTORIES[0]
    low, _, _ = prv(history, 1e-5)
    assert removed(history).inverse().epsilon(1e-5) < low
