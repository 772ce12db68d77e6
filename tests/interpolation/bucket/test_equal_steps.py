"""Buckets of equal steps: their series, against sums step by step."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.interpolation.bucket.equal_steps import Bucket


def test_what_is_paid_is_the_root_of_the_squares() -> None:
    bucket = Bucket(0.1, 0.9, 1.0, 0.3, 7, math.inf)
    squares = sum((0.3 * 0.9**i) ** 2 for i in range(7))
    assert bucket.payments == pytest.approx(math.sqrt(squares), rel=1e-11)
    assert bucket.payments >= math.sqrt(squares)


def test_the_fullest_bucket_is_filled_in_every_step_or_the_set() -> None:
    bucket = Bucket(0.1, 0.9, 2.0, 0.3, 7, math.inf)
    assert bucket.most == pytest.approx(sum(2.0 * 0.9**i for i in range(7)), rel=1e-11)
    assert bucket.fullest(0) == 0.0
    assert Bucket(0.1, 0.9, 2.0, 0.3, 7, 1.5).most == 1.5


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.floats(0.3, 0.99))
def test_blocks_are_sums_over_their_steps(blocks: list[int], c: float) -> None:
    older = 3
    bucket = Bucket(0.1, c, 2.0, 0.4, sum(blocks) + older, 5.0)
    chain = bucket.chain(tuple(blocks))
    age = sum(blocks)
    assert chain.start == pytest.approx(min(5.0, 2.0 * (1 + c + c * c)) * c**age, rel=1e-9)
    for i, n in enumerate(blocks):
        ages = range(age - n, age)
        assert chain.jump[i] == pytest.approx(2.0 * c ** min(ages), rel=1e-9)
        assert chain.paid[i] == pytest.approx(sum(0.4 * c ** (2 * k) for k in ages), rel=1e-9)
        assert chain.most[i] == pytest.approx(5.0 * c ** min(ages), rel=1e-9)
        age -= n


def test_blocks_are_longer_the_older_they_are_and_stop_where_nothing_is_left() -> None:
    blocks = Bucket(0.01, 0.999, 1.0, 0.0, 100_000, math.inf).usual_blocks()
    assert blocks[0] > 5 * blocks[-1]
    assert sum(blocks) < 20_000
