"""The law of the leaky bucket: never below any pattern, and close where the grid is fine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.interpolation.bucket.equal_steps import Bucket
from shiftdp.interpolation.bucket.law import bucket_law, few_values, grid_for
from shiftdp.interpolation.bucket.scheduled_steps import ScheduledBucket
from tests.interpolation.bucket.patterns import buckets, fillings, grids, scheduled_buckets


@settings(max_examples=60, deadline=None)
@given(st.data(), st.one_of(buckets, scheduled_buckets()))
def test_no_pattern_is_above_the_law_whatever_the_grid(
    data: st.DataObject, bucket: Bucket | ScheduledBucket
) -> None:
    grid = data.draw(grids(bucket)) if data.draw(st.booleans()) else grid_for(bucket, 1e-5)
    law = bucket_law(bucket, grid)
    values, weights = few_values(bucket, grid, law, data.draw(st.integers(2, 12)), 1e-5, 1.0)
    z, chance = fillings(bucket)
    assert abs(math.fsum(weights) - 1.0) < 1e-12
    for x in (0.0, *values[:-1]):
        more = float(chance[z > x * (1.0 + 1e-12) + 1e-12].sum())
        stated = math.fsum(w for v, w in zip(values, weights, strict=True) if v > x)
        assert more <= stated + 1e-12
    assert values[-1] >= float(z.max()) * (1.0 - 1e-12)


def test_a_long_run_has_the_mean_of_what_it_adds() -> None:
    bucket = Bucket(p=0.01, c=0.99, s=1.0, rate=0.0, steps=2000, diameter=math.inf)
    grid = grid_for(bucket, 1e-5)
    law = bucket_law(bucket, grid)
    mean = float(law @ np.arange(law.size)) * grid.mesh
    assert 1.0 <= mean <= 1.02  # p s / (1 - c)
    rough = bucket_law(bucket, grid, nearest=True)
    assert float(rough @ np.arange(law.size)) * grid.mesh == pytest.approx(1.0, rel=0.01)


def test_payments_and_a_diameter_leave_less() -> None:
    def mean(rate: float, diameter: float) -> float:
        bucket = Bucket(0.1, 0.9, 1.0, rate, 100, diameter)
        values, weights = few_values(
            bucket, grid := grid_for(bucket, 1e-5), bucket_law(bucket, grid), 40, 1e-5, 0.5
        )
        return float(np.dot(values, weights))

    plain = mean(0.0, math.inf)
    assert mean(0.2, math.inf) < 0.9 * plain
    assert mean(0.0, 1.0) < 0.9 * plain
