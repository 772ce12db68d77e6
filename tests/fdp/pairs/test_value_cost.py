"""What larger values cost."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp.fdp import HiddenExchange
from shiftdp.fdp.pairs.value_cost import value_costs


def test_both_costs_rise() -> None:
    values = np.linspace(0.0, 6.0, 200)
    weights = np.exp(-(values**2))
    there, back = value_costs(values, weights / weights.sum())
    assert np.all(np.diff(there) > 0.0)
    assert np.all(np.diff(back) > 0.0)


def test_a_move_costs_what_is_foretold() -> None:
    """Of all deltas together: one that is the only one to feel it tells."""
    values, weights = np.array([0.0, 1.0, 1.05, 2.0]), np.array([0.6, 0.2, 0.1, 0.1])
    there, _ = value_costs(values, weights)
    moved = weights[1] * (there[2] - there[1])
    after = (0.0, 1.05, 2.0), (0.6, 0.3, 0.1)
    parts = [
        share * (HiddenExchange(*after).epsilon(delta) / before - 1.0)
        for delta, share in zip(
            (1e-3, 1e-5, 2e-7, 3e-9, 5e-11, 1e-12), (0.1, 1, 1, 1, 1, 1), strict=True
        )
        for before in [HiddenExchange(tuple(values), tuple(weights)).epsilon(delta)]
    ]
    assert moved == pytest.approx(sum(parts), rel=0.1)


def test_a_single_value_costs_hardly_anything() -> None:
    there, back = value_costs(np.array([2.0]), np.array([1.0]))
    assert 0.0 <= there[0] == back[0] <= 1e-11
