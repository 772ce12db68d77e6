"""Claims about a leaky bucket: honest ones pass, forged ones do not, none takes long."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.bucket.chain import BucketGrid
from shiftdp.interpolation.bucket.equal_steps import Bucket
from shiftdp.interpolation.bucket.law import bucket_law, few_values, grid_for
from shiftdp.interpolation.bucket.scheduled_steps import ScheduledBucket
from shiftdp.interpolation.bucket.verification import verify_bucket, verify_scheduled_bucket
from tests.interpolation.bucket.patterns import (
    buckets,
    fillings,
    grids,
    scheduled,
    scheduled_buckets,
)

BUCKET = Bucket(p=0.05, c=0.9, s=1.0, rate=0.02, steps=60, diameter=math.inf)
GRID = grid_for(BUCKET, 1e-5)
VALUES, WEIGHTS = few_values(BUCKET, GRID, bucket_law(BUCKET, GRID), 12, 1e-5, 1.0)


def verify(bucket: Bucket | ScheduledBucket, *claim: Any) -> None:
    if isinstance(bucket, Bucket):
        verify_bucket(bucket, *claim)
    else:
        verify_scheduled_bucket(bucket, *claim)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.one_of(buckets, scheduled_buckets()))
def test_what_passes_is_above_every_pattern(
    data: st.DataObject, bucket: Bucket | ScheduledBucket
) -> None:
    """Laws that are made smaller until they no longer pass are still true, or do not pass."""
    grid = data.draw(grids(bucket)) if data.draw(st.booleans()) else grid_for(bucket, 1e-5)
    values, weights = few_values(bucket, grid, bucket_law(bucket, grid), 6, 1e-5, 1.0)
    verify(bucket, grid, values, weights)
    z, chance = fillings(bucket)
    part = data.draw(st.floats(0.3, 1.0))
    less = (1.0 - part * math.fsum(weights[1:]), *(part * w for w in weights[1:]))
    try:
        verify(bucket, grid, values, less)
    except VerificationFailed:
        return
    for i in range(1, len(values)):
        more = float(chance[z > values[i - 1] * (1.0 + 1e-12) + 1e-12].sum())
        assert more <= math.fsum(less[i:]) + 1e-12


def test_an_honest_claim_passes() -> None:
    verify_bucket(BUCKET, GRID, VALUES, WEIGHTS)
    larger = tuple(1.01 * value for value in VALUES)
    verify_bucket(BUCKET, GRID, larger, WEIGHTS)


@pytest.mark.parametrize(
    "change",
    [
        {"p": 0.0505},
        {"c": 0.901},
        {"s": 1.001},
        {"rate": 0.019},
        {"rate": -1.0},
        {"steps": 20},  # fewer than the blocks
    ],
)
def test_the_law_of_another_bucket_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(VerificationFailed):
        verify_bucket(replace(BUCKET, **change), GRID, VALUES, WEIGHTS)


@pytest.mark.parametrize("part", [0.0, 0.9999])
def test_no_tail_may_be_left_out(part: float) -> None:
    for i in range(1, len(WEIGHTS)):
        weights = np.array(WEIGHTS)
        weights[0] += (1.0 - part) * weights[i]
        weights[i] *= part
        with pytest.raises(VerificationFailed):
            verify_bucket(BUCKET, GRID, VALUES, tuple(weights.tolist()))


def test_values_may_not_be_smaller() -> None:
    for values in (
        tuple(0.999 * value for value in VALUES),
        (*VALUES[:-1], 0.999 * VALUES[-1]),
        (VALUES[0], VALUES[0], *VALUES[2:]),
        VALUES[:-1],
    ):
        with pytest.raises(VerificationFailed):
            verify_bucket(BUCKET, GRID, values, WEIGHTS)


@pytest.mark.parametrize(
    "change",
    [
        {"cells": 10**9},
        {"cells": 0},
        {"blocks": (1,) * 10**5},
        {"blocks": ()},
        {"blocks": (0, 60)},
        {"blocks": (1,) * 61},
        {"mesh": 0.0},
        {"mesh": math.inf},
        {"mesh": 1e-12, "cells": 90_000, "blocks": (60,)},
    ],
)
def test_a_forged_grid_is_refused_at_once(change: dict[str, Any]) -> None:
    with pytest.raises(VerificationFailed):
        verify_bucket(BUCKET, replace(GRID, **change), VALUES, WEIGHTS)


def test_very_many_participations_in_a_block_are_refused() -> None:
    bucket = replace(BUCKET, steps=10**7, p=0.5)
    with pytest.raises(VerificationFailed, match="too many"):
        verify_bucket(bucket, replace(GRID, blocks=(10**7,)), (*VALUES[:-1], 1e9), WEIGHTS)


@pytest.mark.parametrize("p", [0.55, 0.6, 0.9, 1.0 - 1e-12])
@pytest.mark.parametrize("expected", [100, 300, 499, 5000])
def test_no_block_is_so_long_that_its_probabilities_vanish(p: float, expected: float) -> None:
    """(1 - p)^n is 0 in floats, and with it all that is made of it: an empty bucket would pass."""
    n = math.ceil(expected / p)
    bucket = Bucket(p=p, c=0.99, s=1.0, rate=0.0, steps=n, diameter=math.inf)
    grid = BucketGrid(1.0, 100, (n,))
    with pytest.raises(VerificationFailed, match=r"participations|leaves out a tail"):
        verify_bucket(bucket, grid, (0.0, 200.0), (1.0, 1e-300))


# --- steps that differ ---

LISTED = scheduled(
    0.05, [0.9] * 40 + [0.95] * 20, [1.0] * 40 + [0.5] * 20, [1.0] * 50 + [2.0] * 10, 0.02, math.inf
)
LISTED_GRID = grid_for(LISTED, 1e-5)
LISTED_LAW = few_values(LISTED, LISTED_GRID, bucket_law(LISTED, LISTED_GRID), 12, 1e-5, 1.0)


def test_an_honest_claim_about_steps_that_differ_passes() -> None:
    verify_scheduled_bucket(LISTED, LISTED_GRID, *LISTED_LAW)
    values, weights = LISTED_LAW
    verify_scheduled_bucket(LISTED, LISTED_GRID, tuple(1.01 * z for z in values), weights)


@pytest.mark.parametrize("name", ["c", "s", "sd"])
@pytest.mark.parametrize("step", [-1, -20, -25])
def test_the_law_of_another_schedule_is_refused(name: str, step: int) -> None:
    """One step that contracts less, adds more, or pays less because it has less noise."""
    part = np.array(getattr(LISTED, name))
    part[step] *= {"c": 1.05, "s": 1.5, "sd": 0.5}[name]
    change: dict[str, Any] = {name: part}
    with pytest.raises(VerificationFailed):
        verify_scheduled_bucket(replace(LISTED, **change), LISTED_GRID, *LISTED_LAW)


@pytest.mark.parametrize(
    "change",
    [
        {"rate": 0.019},
        {"rate": -1.0},
        {"p": 0.0505},
        {"p": 1.0},
        {"c": np.full(60, 1.0 + 1e-9)},
        {"c": np.full(60, -0.5)},
        {"c": np.full(59, 0.5)},
        {"s": np.full(60, math.inf)},
        {"sd": np.zeros(60)},
        {"c": np.full(20, 0.5), "s": np.ones(20), "sd": np.ones(20)},  # fewer than the blocks
    ],
)
def test_what_is_no_such_bucket_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(VerificationFailed):
        verify_scheduled_bucket(replace(LISTED, **change), LISTED_GRID, *LISTED_LAW)


def test_what_the_bucket_says_it_has_reached_is_not_believed() -> None:
    lying = replace(LISTED, reached=0.5 * LISTED.reached)
    grid = grid_for(lying, 1e-5)
    law = few_values(lying, grid, bucket_law(lying, grid), 12, 1e-5, 1.0)
    with pytest.raises(VerificationFailed, match="more than the largest"):
        verify_scheduled_bucket(lying, grid, *law)


def test_no_tail_of_a_schedule_may_be_left_out() -> None:
    values, honest = LISTED_LAW
    for i in range(1, len(honest)):
        weights = np.array(honest)
        weights[0] += 1e-4 * weights[i]
        weights[i] *= 1.0 - 1e-4
        with pytest.raises(VerificationFailed):
            verify_scheduled_bucket(LISTED, LISTED_GRID, values, tuple(weights.tolist()))
