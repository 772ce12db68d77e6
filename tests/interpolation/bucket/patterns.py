"""Leaky buckets of a few steps, filled by every pattern of participation."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from shiftdp.interpolation.bucket.chain import BucketGrid
from shiftdp.interpolation.bucket.equal_steps import Bucket
from shiftdp.interpolation.bucket.scheduled_steps import ScheduledBucket

__all__ = ["buckets", "fillings", "grids", "scheduled", "scheduled_buckets"]

buckets = st.builds(
    Bucket,
    p=st.sampled_from([0.01, 0.1, 0.5, 0.9]),
    c=st.floats(0.2, 0.99),
    s=st.floats(0.1, 4.0),
    rate=st.sampled_from([0.0, 0.05, 0.5]),
    steps=st.integers(1, 9),
    diameter=st.sampled_from([math.inf, 1.0, 3.0]),
)


def scheduled(
    p: float, c: list[float], s: list[float], sd: list[float], rate: float, diameter: float
) -> ScheduledBucket:
    """A bucket of steps that differ."""
    reached = [0.0]
    for slope, jump in zip(c, s, strict=True):
        reached.append((slope * reached[-1] + jump) * (1.0 + 1e-12))
    each = np.array([c, s, sd])
    return ScheduledBucket(p, each[0], each[1], each[2], rate, diameter, np.array(reached))


@st.composite
def scheduled_buckets(draw: st.DrawFn) -> ScheduledBucket:
    steps = draw(st.integers(1, 9))

    def each(values: st.SearchStrategy[float]) -> list[float]:
        return draw(st.lists(values, min_size=steps, max_size=steps))

    return scheduled(
        p=draw(st.sampled_from([0.01, 0.1, 0.5, 0.9])),
        c=each(st.sampled_from([0.0, 0.3, 0.8, 0.95, 1.0])),
        s=each(st.sampled_from([0.1, 0.5, 1.0, 4.0])),
        sd=each(st.sampled_from([0.3, 1.0, 3.0])),
        rate=draw(st.sampled_from([0.0, 0.05, 0.5])),
        diameter=draw(st.sampled_from([math.inf, 1.0, 3.0])),
    )


@st.composite
def grids(draw: st.DrawFn, bucket: Bucket | ScheduledBucket) -> BucketGrid:
    """Any grid: coarse or fine, with blocks of any lengths for some or all of the steps."""
    blocks = draw(st.lists(st.integers(1, 4), min_size=1, max_size=9))
    while sum(blocks) > bucket.steps:
        blocks.pop()
    cells = draw(st.integers(2, 60))
    mesh = draw(st.floats(0.01, 1.0))
    return BucketGrid(mesh, cells, tuple(blocks) or (1,))


def _steps(bucket: Bucket | ScheduledBucket) -> list[tuple[float, float, float]]:
    """c, s and what is paid at most, step by step."""
    if isinstance(bucket, Bucket):
        ages = range(bucket.steps - 1, -1, -1)
        return [(bucket.c, bucket.s, bucket.rate * bucket.c**age) for age in ages]
    found, weight = [], 1.0
    for c, s, sd in zip(bucket.c[::-1], bucket.s[::-1], bucket.sd[::-1], strict=True):
        found.append((float(c), float(s), bucket.rate * weight * float(sd) ** 2))
        weight *= float(c)
    return found[::-1]


def fillings(bucket: Bucket | ScheduledBucket) -> tuple[np.ndarray, np.ndarray]:
    """What each pattern leaves in the bucket, step by step, and its probability."""
    left, chance = [], []
    steps = _steps(bucket)
    for pattern in itertools.product((0, 1), repeat=len(steps)):
        z = 0.0
        for (c, s, paid), taken in zip(steps, pattern, strict=True):
            z = min(max(0.0, c * z + s * taken - paid), bucket.diameter)
        left.append(z)
        chance.append(math.prod(bucket.p if x else 1.0 - bucket.p for x in pattern))
    return np.array(left), np.array(chance)
