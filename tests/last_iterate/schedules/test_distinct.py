"""Many values as a few: never less, and little more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.last_iterate.schedules.distinct import MOST_LAWS, few_distinct


@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60),
    st.integers(1, 20),
)
def test_each_value_is_rounded_up_to_one_of_few(values: list[float], most: int) -> None:
    found = few_distinct(np.array(values), most)
    assert len(found) <= most
    assert sum(n for _, n in found) == len(values)
    charged = np.repeat([x for x, _ in found], [n for _, n in found])
    assert np.all(np.sort(charged) >= np.sort(values))
    assert {x for x, _ in found} <= set(values)
    assert max(charged) == max(values)


def test_few_values_stay_as_they_are() -> None:
    values = np.array([0.3, 0.1, 0.3, 0.2, 0.1, 0.3])
    assert few_distinct(values) == ((0.1, 2), (0.2, 1), (0.3, 3))


@pytest.mark.parametrize(
    "values",
    [np.geomspace(0.1, 1.0, 5000), np.linspace(0.1, 1.0, 5000), 1.0 / np.linspace(1, 10, 5000)],
)
def test_rounding_costs_little(values: np.ndarray) -> None:
    found = few_distinct(values)
    assert len(found) <= MOST_LAWS
    rounded = sum(n * x * x for x, n in found) / np.sum(values**2)
    even = np.ceil(np.linspace(0, 1, 5000) * MOST_LAWS) / MOST_LAWS * (len(values) - 1)
    by_rank = np.sum(np.square(np.sort(values)[even.astype(int)])) / np.sum(values**2)
    assert 1.0 < rounded < 1.04
    assert rounded <= by_rank * (1 + 1e-3)
