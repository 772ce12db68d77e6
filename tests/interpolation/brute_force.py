"""Slow, independent ways to the numbers of the engine."""

from __future__ import annotations

import mpmath
import numpy as np
import scipy.optimize

from shiftdp._checks import Array
from shiftdp.interpolation.explicit_shifts import ExplicitShifts


def weights(slopes: Array) -> Array:
    """The product of all later slopes."""
    w = np.ones(slopes.size)
    w[:-1] = np.cumprod(slopes[:0:-1])[::-1]
    return w


def isotonic_mu(c: Array, s: Array, sd: Array) -> float:
    """Theorem B1 from the start, by SciPy's isotonic regression."""
    w = weights(c)
    v = (w * sd) ** 2
    g = scipy.optimize.isotonic_regression(w * s / v, weights=v).x
    return float(np.sqrt(np.sum(v * g * g)))


def quotient(slopes: Array, s: Array, sd: Array) -> float:
    """Mean shift over deviation of the linear recursion with these slopes."""
    w = weights(slopes)
    return float(np.sum(w * s) / np.sqrt(np.sum((w * sd) ** 2)))


def cone_norm(c: Array, f: Array, s: Array, sd: Array) -> float:
    """Norm of the projection of s/sd on `f_k w_k <= w_{k-1} <= c_k w_k`, by its dual (NNLS)."""
    t = c.size
    rows = []
    for k in range(1, t):
        upper, lower = np.zeros(t), np.zeros(t)
        upper[k - 1], upper[k] = -1.0, c[k]
        lower[k - 1], lower[k] = 1.0, -f[k]
        rows += [upper / sd, lower / sd]
    if not rows:
        return float(s[0] / sd[0])
    a = np.array(rows)
    multipliers, _ = scipy.optimize.nnls(a.T, -s / sd, maxiter=20_000)
    return float(np.linalg.norm(s / sd + a.T @ multipliers))


def replay(shifts: ExplicitShifts, c: float, s: Array, start_distance: float) -> None:
    """Run the recursion of Theorem shift and insist on every one of its conditions."""
    a, z, lam, tau = shifts.a, shifts.z, shifts.lam, shifts.start
    t = s.size
    scale = max(float(np.max(s)), start_distance)
    assert a.size == lam.size == t - tau
    assert z.size == t - tau + 1
    assert z[0] == start_distance
    assert np.all(a >= 0)
    assert np.all(z >= 0)
    assert np.all((lam >= 0) & (lam <= 1))
    whole = c * z[:-1] + s[tau:]
    np.testing.assert_allclose(a + z[1:], whole, atol=1e-12 * scale)
    np.testing.assert_allclose(a, lam * whole, atol=1e-12 * scale)
    assert z[-1] == 0.0


def precise_gd_sc(c: float, t: int) -> float:
    """sqrt((1-c^t)/(1+c^t) (1+c)/(1-c)) to 50 digits and more."""
    with mpmath.workdps(60):
        q = mpmath.mpf(c)
        power = q**t
        return float(mpmath.sqrt((1 - power) / (1 + power) * (1 + q) / (1 - q)))


def precise_mgd_sc(c: float, batches: int, epochs: int) -> float:
    """Thm mgd-sc at s = sd = 1 to 50 digits and more."""
    with mpmath.workdps(60):
        q, ell = mpmath.mpf(c), batches
        before = q ** (ell * (epochs - 1))
        earlier = q ** (2 * ell - 2) * (1 - q**2) / (1 - q**ell) ** 2
        return float(mpmath.sqrt(1 + earlier * (1 - before) / (1 + before)))
