"""Exact joint laws of several released iterates: Gaussian vectors, by linear algebra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shiftdp._checks import Array
from tests.last_iterate.brute_force import least_mu

__all__ = ["joint_mu_of", "linear_laws", "segments_mu"]


def linear_laws(slopes: Array, s: Array, sd: Array, releases: Sequence[int]) -> tuple[Array, Array]:
    """Difference of means and covariance of X at the releases, X_k = a_k X_{k-1} + s_k + sd_k Z_k.

    Releases are steps from 1; the slopes may be one vector, or many as rows.
    """
    slopes = np.atleast_2d(slopes)
    rows, t = slopes.shape
    shift, loads = np.zeros(rows), np.zeros((rows, t))  # X = shift + loads . Z
    means, loadings = [], []
    for k in range(t):
        shift = slopes[:, k] * shift + s[k]
        loads = slopes[:, k, None] * loads
        loads[:, k] += sd[k]
        if k + 1 in releases:
            means.append(shift)
            loadings.append(loads)
    d, A = np.stack(means, axis=1), np.stack(loadings, axis=1)
    return d, A @ A.transpose(0, 2, 1)


def joint_mu_of(slopes: Array, s: Array, sd: Array, releases: Sequence[int]) -> Array:
    """sqrt(d' C^-1 d): T(N(d, C), N(0, C)) = G of it. One number for each row of slopes."""
    d, C = linear_laws(slopes, s, sd, releases)
    squares = np.einsum("ri,ri->r", d, np.linalg.solve(C, d[..., None])[..., 0])
    return np.asarray(np.sqrt(squares))


def segments_mu(
    c: Array, s: Array, sd: Array, releases: Sequence[int], diameter: float = math.inf
) -> float:
    """Theorem V1 by SciPy's isotonic regression, segment by segment."""
    ends = [0, *releases]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return math.hypot(*(least_mu(c[part], s[part], sd[part], diameter) for part in parts))
