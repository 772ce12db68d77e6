"""Losses of one score."""

import numpy as np

from shiftdp.training import ClippedSquared, Huber
from tests.training.losses.examples import labels, pairs, residuals


def test_huber_is_least_squares_with_a_clipped_residual() -> None:
    z, _ = pairs(1, 1000, 11)
    y = labels(Huber(width=0.7), 1000, 12)
    for limits in (None, np.full(1000, 0.3)):
        ours = residuals(Huber(width=0.7), z, y, limits)
        assert (ours == residuals(ClippedSquared(residual_bound=0.7), z, y, limits)).all()
