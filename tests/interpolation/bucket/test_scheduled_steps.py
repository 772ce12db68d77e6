"""Buckets of steps that differ: equal steps one by one, and where blocks begin and end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.interpolation.bucket.equal_steps import Bucket
from shiftdp.interpolation.bucket.law import bucket_law, grid_for
from shiftdp.interpolation.bucket.scheduled_steps import _joined
from tests.interpolation.bucket.patterns import scheduled


def test_equal_steps_one_by_one_have_the_chain_of_equal_steps() -> None:
    equal = Bucket(0.1, 0.9, 1.5, 0.05, 40, 7.0)
    listed = scheduled(0.1, [0.9] * 40, [1.5] * 40, [1.0] * 40, 0.05, 7.0)
    blocks = (3, 2, 2, 1, 1)
    for name in ("start", "paid", "most"):
        one, other = (getattr(bucket.chain(blocks), name) for bucket in (equal, listed))
        assert one == pytest.approx(other, rel=1e-9)
    # of a block the youngest step has the largest jump
    assert equal.chain(blocks).jump == pytest.approx(listed.chain(blocks).jump, rel=1e-9)
    assert equal.payments == pytest.approx(listed.payments, rel=1e-9)
    assert equal.most == pytest.approx(listed.most, rel=1e-9)


def test_equal_steps_one_by_one_have_about_the_same_law() -> None:
    equal = Bucket(0.02, 0.97, 1.0, 0.01, 500, math.inf)
    listed = scheduled(0.02, [0.97] * 500, [1.0] * 500, [1.0] * 500, 0.01, math.inf)
    means = []
    for bucket in (equal, listed):
        grid = grid_for(bucket, 1e-5)
        law = bucket_law(bucket, grid)
        means.append(float(law @ np.arange(law.size)) * grid.mesh)
    assert means[1] == pytest.approx(means[0], rel=0.01)


def test_a_step_that_forgets_everything_is_where_the_blocks_begin() -> None:
    c = [0.9] * 20 + [0.0] + [0.9] * 5
    bucket = scheduled(0.1, c, [1.0] * 26, [1.0] * 26, 0.0, math.inf)
    assert sum(bucket.usual_blocks()) <= 6
    assert bucket.chain(bucket.usual_blocks()).start < 1e-100


def test_steps_of_two_sizes_in_turn_have_a_bounded_number_of_blocks() -> None:
    steps = 6000
    bucket = scheduled(0.01, [1.0] * steps, [1.0, 2.0] * (steps // 2), [1.0] * steps, 0.0, math.inf)
    blocks = bucket.usual_blocks()
    assert len(blocks) <= 1500
    assert sum(blocks) == steps
    assert float(np.max(bucket.chain(blocks).jump)) == pytest.approx(2.0)


def test_blocks_are_short_where_payments_might_find_nothing() -> None:
    steps = 1000
    bucket = scheduled(0.001, [1.0] * steps, [1.0] * steps, [1.0] * steps, 0.1, math.inf)
    assert max(bucket.usual_blocks()) <= steps // 90


def one_by_one(size: np.ndarray, width: np.ndarray, part: np.ndarray, most: int) -> list[int]:
    """Steps join a block as long as none of its limits is passed."""
    blocks, first = list[int](), 0
    for k in range(len(size)):
        own = size[first : k + 1]
        full = k - first >= most or own.max() - own.min() > width[k]
        if not blocks or full or part[first : k + 1].sum() > 0.01:
            blocks.append(0)
            first = k
        blocks[-1] += 1
    return blocks


@pytest.mark.parametrize("seed", range(6))
def test_blocks_are_those_that_are_found_step_by_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps, most = int(rng.integers(1, 900)), int(rng.integers(1, 300))
    size = np.cumsum(rng.normal(size=steps)) * 0.02
    part = rng.dirichlet(np.ones(steps))
    width = rng.uniform(0.05, 0.4, steps)
    assert _joined(size, width, part, most) == one_by_one(size, width, part, most)
