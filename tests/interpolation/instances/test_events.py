"""Epsilon from events is below the exact one, and near it."""

import numpy as np
import pytest

from shiftdp.fdp import GaussianTradeoff, HiddenZeroOut
from shiftdp.interpolation.instances.events import (
    cells_of,
    epsilon_from_tails,
    epsilon_of_cells,
)
from shiftdp.interpolation.instances.jump_law import Accuracy, JumpLaw

BEST = Accuracy()
ROUGH = Accuracy(cells=60, labels=200)


def law_of(value: list[float], weight: list[float]) -> JumpLaw:
    return JumpLaw(np.array(value), np.array(weight))


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("mu", [0.05, 1.0, 6.0])
def test_two_gaussians(mu: float, delta: float) -> None:
    law = law_of([mu], [1.0])
    exact = GaussianTradeoff(mu).epsilon(delta)
    for accuracy, near in ((BEST, 2e-3), (ROUGH, 0.1)):
        found = epsilon_of_cells([cells_of(law, delta, accuracy)], delta, accuracy)
        assert found <= exact <= found * (1 + near) + near * mu
    both = epsilon_of_cells([cells_of(law, delta, BEST, away=0.5)], delta, BEST)
    further = GaussianTradeoff(1.5 * mu).epsilon(delta)
    assert both <= further <= both * (1 + 2e-3) + 2e-3 * mu


@pytest.mark.parametrize("delta", [1e-3, 1e-7])
def test_a_mixture_against_its_tradeoff_function(delta: float) -> None:
    law = law_of([0.0, 0.5, 1.5, 4.0], [0.6, 0.3, 0.09, 0.01])
    f = HiddenZeroOut(tuple(law.value), tuple(law.weight))
    exact = max(f.epsilon(delta), f.inverse().epsilon(delta))
    found = epsilon_of_cells([cells_of(law, delta, BEST)], delta, BEST)
    assert found <= exact <= found * 1.002


def test_a_product_of_gaussians() -> None:
    cells = [cells_of(law_of([mu], [1.0]), 1e-6, BEST) for mu in (0.3, 0.8, 1.5)]
    exact = GaussianTradeoff(float(np.sqrt(0.3**2 + 0.8**2 + 1.5**2))).epsilon(1e-6)
    found = epsilon_of_cells(cells, 1e-6, BEST)
    assert found <= exact <= found * 1.005


def test_no_event_shows_anything_where_nothing_is_likelier_than_delta() -> None:
    assert epsilon_from_tails(np.array([0.1, 0.2]), np.array([0.0, 0.0]), 0.3) == 0.0
    assert epsilon_from_tails(np.array([0.4]), np.array([0.4]), 0.3) == 0.0


def test_what_is_impossible_in_the_other_run_is_not_worth_infinity() -> None:
    assert 600.0 < epsilon_from_tails(np.array([0.5]), np.array([0.0]), 1e-5) < 700.0
