"""Products between two laws: the exact epsilon lies inside, and what was composed is kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    HiddenReplaceOne,
    LaplaceTradeoff,
    PoissonReplaceOne,
)
from shiftdp.fdp.composition import enclosure as module
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.composition.enclosure import (
    RANGES,
    Enclosures,
    infinite_loss,
    least_of,
    range_of,
    revealed,
)

GAUSSIANS = ((GaussianTradeoff(0.2), 25),)  # together G(1)
ACCURACY = 1e-3


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9, 1e-20, 1e-100])
def test_the_exact_epsilon_lies_inside_and_the_interval_is_narrow(delta: float) -> None:
    at = np.array([delta])
    enclosure = Enclosures(GAUSSIANS, ACCURACY).at(at)
    assert enclosure is not None
    assert enclosure.narrow
    low, high = (float(end[0]) for end in enclosure.interval(at))
    assert low <= GaussianTradeoff(1.0).epsilon(delta) <= high
    assert enclosure.width(at) == high - low <= ACCURACY


def test_one_enclosure_serves_several_deltas_of_a_range() -> None:
    deltas = np.array([1e-4, 1e-6, 1e-5])
    made = Enclosures(GAUSSIANS, ACCURACY)
    enclosure = made.at(deltas)
    assert enclosure is not None
    assert enclosure.width(deltas) <= ACCURACY
    assert made.at(deltas[[1, 0]]) is made.at(deltas[[1, 0]])


def test_an_answer_does_not_depend_on_what_was_asked_before() -> None:
    fresh, used = Enclosures(GAUSSIANS, ACCURACY), Enclosures(GAUSSIANS, ACCURACY)
    used.curve(0)
    for delta in np.logspace(-10, -2, 2 * module._KEPT):
        used.at(np.array([delta]))
    asked = np.array([3e-6])
    one, other = fresh.at(asked), used.at(asked)
    assert one is not None
    assert other is not None
    assert one.above.epsilon(asked) == other.above.epsilon(asked)


def test_a_curve_is_composed_once() -> None:
    made = Enclosures(GAUSSIANS, ACCURACY)
    assert made.curve(0) is made.curve(0)
    assert list(made.curves) == [0]


def test_a_coarse_law_leaks_more_and_is_not_made_beside_a_curve() -> None:
    made = Enclosures(GAUSSIANS, ACCURACY)
    coarse = made.coarse(1e-5)
    assert coarse is not None
    assert coarse.epsilon(np.array([1e-5]))[0] >= GaussianTradeoff(1.0).epsilon(1e-5)
    made.curve(0)
    assert made.coarse(1e-5) is None


def test_losses_that_are_all_infinite_have_no_enclosure() -> None:
    made = Enclosures(((ApproxDPTradeoff(1.0, 1.0), 2), (LaplaceTradeoff(1.0), 1)), ACCURACY)
    assert made.at(np.array([0.5])) is None
    assert made.curve(0) is None
    assert made.coarse(0.5) is None


def test_ranges_cover_all_deltas_without_overlap() -> None:
    for number in range(RANGES):
        least = least_of(number)
        assert range_of(least * 1.01) == number
        assert number == RANGES - 1 or range_of(least * 0.99) == number + 1
    assert range_of(1.0) == 0
    assert range_of(0.0) == range_of(5e-324) <= RANGES


@pytest.mark.parametrize(("q", "k"), [(1e-9, 3), (0.1, 2), (1.0, 1)])
def test_the_probability_that_some_loss_is_infinite(q: float, k: int) -> None:
    f = ApproxDPTradeoff(1.0, q)
    assert infinite_loss(f) == q
    assert infinite_loss(GaussianTradeoff(1.0)) == 0.0
    total = revealed(((f, k), (GaussianTradeoff(1.0), 5)))
    assert total >= -math.expm1(k * math.log1p(-q)) if q < 1.0 else total == 1.0
    assert total == pytest.approx(1.0 - (1.0 - q) ** k, rel=1e-7)


def test_losses_that_no_grid_holds_are_bounded_by_closed_forms() -> None:
    """Found by fuzzing: their moments overflowed, and the size of the grid was not a number."""
    f = PoissonReplaceOne(p=0.98, a=0.01, s=9e18).power(15)
    assert 1e38 < f.epsilon(1e-5) < 1e40
    assert f.delta(1.0) == 1.0


def test_a_rare_large_loss_costs_neither_a_fine_grid_nor_the_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A law that was rounded up has a little mass far out, as those of Theorem B7 have."""
    sizes: list[int] = []
    compose = module._compose

    def counted(*given: Any) -> Any:
        laws = compose(*given)
        sizes.append(laws[0].size)
        return laws

    monkeypatch.setattr(module, "_compose", counted)
    plain = Composite(((HiddenReplaceOne((0.0, 1.0), (0.99, 0.01)), 2),))
    law = HiddenReplaceOne((0.0, 1.0, 40.0), (0.99 - 1e-15, 0.01, 1e-15))
    low, high = Composite(((law, 2),)).epsilon_interval(1e-11)
    assert len(sizes) == 1
    assert sizes[0] < 20_000
    assert high - low <= 1e-3
    assert plain.epsilon(1e-11) - 1e-3 <= high <= plain.epsilon(1e-11) * 1.002
