"""The search for a prefix: what it finds is valid, and about as good as anything near it."""

from __future__ import annotations

import math

import pytest

import shiftdp as sdp
from shiftdp.interpolation.bucket.verification import verify_bucket
from shiftdp.last_iterate.schedules.prefix import best_prefix, prefix_law, rough_epsilon
from shiftdp.last_iterate.schedules.prefix_steps import EqualPrefix, prefix_steps
from shiftdp.last_iterate.theorems.sampled.shifts import StochasticSteps
from tests.last_iterate.theorems.test_hidden import setting

STEPS = EqualPrefix.of(
    StochasticSteps(p=0.05, c=0.9, s=1.0, apart=1.0, diameter=math.inf, steps=100)
)


def test_the_search_betters_the_usual_prefix() -> None:
    last, rate, epsilon = best_prefix("symmetric", STEPS, 1e-5)
    assert 1 <= last < 100
    assert rate >= 0.0
    assert 1.8 < epsilon <= rough_epsilon("symmetric", STEPS, 1e-5) < 2.4


def test_the_law_of_a_prefix_is_verified() -> None:
    prefix = prefix_law(STEPS, 12, 0.02, 1e-5, most=12)
    bucket = STEPS.bucket(12, 0.02)
    verify_bucket(bucket, prefix.grid, prefix.values, prefix.weights)
    assert len(prefix.values) <= 12
    assert prefix.values[-1] == pytest.approx(bucket.most)


def test_two_steps_have_one_prefix() -> None:
    short = StochasticSteps(p=0.5, c=0.5, s=1.0, apart=2.0, diameter=1.5, steps=2)
    for pair in ("symmetric", "one_sided", "two_sided"):
        last, _, epsilon = best_prefix(pair, EqualPrefix.of(short), 1e-3)
        assert last == 1
        assert epsilon > 0.0


def test_equal_steps_one_by_one_have_the_same_prefix() -> None:
    listed = prefix_steps(*setting(0.05, 1.0, 0.9, 100, noise=[1.0] * 100), None)
    last, rate, epsilon = best_prefix("symmetric", listed, 1e-5)
    known = best_prefix("symmetric", STEPS, 1e-5)
    assert last == known[0]
    assert rate == pytest.approx(known[1], rel=0.5)
    assert epsilon == pytest.approx(known[2], rel=0.01)


def test_the_last_steps_are_about_those_of_the_cool_down() -> None:
    noise = sdp.cooldown(300, 1.0, last=12, factor=3)
    steps = prefix_steps(*setting(0.02, 1.0, 0.95, 300, noise=noise), None)
    last, _, epsilon = best_prefix("symmetric", steps, 1e-5)
    assert 8 <= last <= 24
    flat = best_prefix("symmetric", prefix_steps(*setting(0.02, 1.0, 0.95, 300), None), 1e-5)
    assert epsilon < 0.5 * flat[2]
