"""The search for a prefix: what it finds is valid, and about as good as anything near it."""

from __future__ import annotations

import math

import pytest

from shiftdp.interpolation.bucket.verification import verify_bucket
from shiftdp.last_iterate.schedules.prefix import (
    best_prefix,
    bucket_of,
    prefix_law,
    rough_epsilon,
)
from shiftdp.last_iterate.theorems.sampled_shifts import StochasticSteps

STEPS = StochasticSteps(p=0.05, c=0.9, s=1.0, apart=1.0, diameter=math.inf, steps=100)


def test_the_search_betters_the_usual_prefix() -> None:
    last, rate, epsilon = best_prefix("symmetric", STEPS, 1e-5)
    assert 1 <= last < 100
    assert rate >= 0.0
    assert 1.8 < epsilon <= rough_epsilon("symmetric", STEPS, 1e-5) < 2.4


def test_the_law_of_a_prefix_is_verified() -> None:
    prefix = prefix_law(STEPS, 12, 0.02, 1e-5)
    bucket = bucket_of(STEPS, 12, 0.02)
    verify_bucket(bucket, prefix.grid, prefix.values, prefix.weights)
    assert len(prefix.values) <= 12
    assert prefix.values[-1] == pytest.approx(bucket.fullest(88))


def test_two_steps_have_one_prefix() -> None:
    short = StochasticSteps(p=0.5, c=0.5, s=1.0, apart=2.0, diameter=1.5, steps=2)
    for pair in ("symmetric", "one_sided", "two_sided"):
        last, _, epsilon = best_prefix(pair, short, 1e-3)
        assert last == 1
        assert epsilon > 0.0
