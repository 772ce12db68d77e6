"""Leaky buckets of a few steps, filled by every pattern of participation."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from shiftdp.interpolation.bucket.law import Bucket, BucketGrid

__all__ = ["buckets", "fillings", "grids"]

buckets = st.builds(
    Bucket,
    p=st.sampled_from([0.01, 0.1, 0.5, 0.9]),
    c=st.floats(0.2, 0.99),
    s=st.floats(0.1, 4.0),
    rate=st.sampled_from([0.0, 0.05, 0.5]),
    steps=st.integers(1, 9),
    diameter=st.sampled_from([math.inf, 1.0, 3.0]),
)


@st.composite
def grids(draw: st.DrawFn, bucket: Bucket) -> BucketGrid:
    """Any grid: coarse or fine, with blocks of any lengths for some or all of the steps."""
    blocks = draw(st.lists(st.integers(1, 4), min_size=1, max_size=9))
    while sum(blocks) > bucket.steps:
        blocks.pop()
    cells = draw(st.integers(2, 60))
    mesh = draw(st.floats(0.01, 1.0))
    return BucketGrid(mesh, cells, tuple(blocks) or (1,))


def fillings(bucket: Bucket) -> tuple[np.ndarray, np.ndarray]:
    """What each pattern leaves in the bucket, step by step, and its probability."""
    left, chance = [], []
    for pattern in itertools.product((0, 1), repeat=bucket.steps):
        z = 0.0
        for k, taken in enumerate(pattern):
            paid = bucket.rate * bucket.c ** (bucket.steps - 1 - k)
            z = max(0.0, bucket.c * z + bucket.s * taken - paid)
            z = min(z, bucket.diameter)
        left.append(z)
        chance.append(math.prod(bucket.p if x else 1.0 - bucket.p for x in pattern))
    return np.array(left), np.array(chance)
