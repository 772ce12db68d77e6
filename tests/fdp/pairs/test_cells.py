"""Cells are few, none is wasted, and no cut into as many costs much less."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.fdp.pairs.cells import cheapest_cells

LAWS = st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=4, max_size=9)


def costs(weights: np.ndarray, u: np.ndarray, ends: list[int]) -> list[float]:
    """What moving each cell to its largest value costs."""
    cells = np.split(np.arange(u.size), np.array(ends[:-1]) + 1)
    return [float(np.sum(weights[cell] * (u[cell[-1]] - u[cell]))) for cell in cells]


@given(LAWS, st.integers(1, 4), st.booleans())
def test_the_dearest_cell_is_as_cheap_as_can_be(
    law: list[tuple[float, float]], most: int, from_below: bool
) -> None:
    weights, u = np.array([w for w, _ in law]), np.cumsum([step for _, step in law])
    rows = (weights, weights * u)
    if from_below:
        mass, moment = (-np.append(0.0, np.cumsum(row)) for row in rows)
    else:
        mass, moment = (np.append(np.cumsum(row[::-1])[::-1], 0.0) for row in rows)
    whole = float(np.sum(weights * (u[-1] - u)))
    ends = cheapest_cells(u, (mass, moment), most, (1e-12, 2.0 * whole), 1e-6).tolist()
    assert len(ends) <= most
    assert ends == sorted(set(ends))
    assert ends[-1] == u.size - 1
    least = min(
        max(costs(weights, u, [*cut, u.size - 1]))
        for cut in combinations(range(u.size - 1), min(most, u.size) - 1)
    )
    assert max(costs(weights, u, ends)) <= least * (1.0 + 1e-5) + 1e-9
