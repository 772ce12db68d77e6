"""Groups of positions: all of them, few, none over the cut, and fine where it counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.last_iterate.schedules.merged_steps import StepTable, step_table
from shiftdp.last_iterate.schedules.position_groups import position_groups


def random_table(seed: int, batches: int, epochs: int) -> StepTable:
    rng = np.random.default_rng(seed)
    t = batches * epochs
    c = rng.choice([0.0, 0.5, 0.99, 1.0, 1.3], t)
    sd = rng.uniform(0.1, 3.0, t) * (rng.random(t) < 0.7)
    return step_table(c, 10.0 ** rng.uniform(-30, 30, t), sd, batches, math.inf)


@given(
    st.integers(0, 10**6),
    st.integers(2, 80),
    st.integers(1, 3),
    st.integers(2, 12),
    st.floats(0, 1),
    st.booleans(),
)
def test_every_position_is_in_one_group(
    seed: int, batches: int, epochs: int, most: int, share: float, last_only: bool
) -> None:
    """Whatever the steps are: no noise, steps that forget, sensitivities far apart."""
    table = random_table(seed, batches, epochs)
    cut = round(share * batches) % batches
    groups = position_groups([table], batches, [cut], last_only=last_only, most=most)
    assert [j for group in groups for j in group] == list(range(1, batches + 1))
    assert not any(group.start <= cut < group[-1] for group in groups)
    assert len(groups) <= max(most, 2)


def test_few_positions_are_taken_one_by_one() -> None:
    table = random_table(0, 7, 2)
    assert position_groups([table], 7, most=7) == [range(j, j + 1) for j in range(1, 8)]


def test_groups_are_fine_at_the_end_where_little_noise_follows() -> None:
    ones = np.ones(20_000)
    groups = position_groups([step_table(ones, ones, ones, 20_000, math.inf)], 20_000)
    assert 200 < len(groups) <= 256
    sizes = [len(group) for group in groups]
    assert sizes[-10:] == [1] * 10
    # what a visit costs is 1 over the root of the steps after it
    for group in groups[1:]:
        oldest, youngest = 20_001 - group[0], 20_001 - group[-1]
        assert math.sqrt(oldest / youngest) < 1.03


@pytest.mark.parametrize("last_only", [False, True])
def test_a_strong_visit_is_not_grouped_with_weak_ones(last_only: bool) -> None:
    s = np.ones(600)
    s[[150, 450]] = 100.0
    table = step_table(np.ones(600), s, np.ones(600), 300, math.inf)
    groups = position_groups([table], 300, last_only=last_only, most=100)
    (strong,) = (group for group in groups if 151 in group)
    assert strong[-1] == 151
