"""The Lipschitz envelope of the softmax loss: clipping that keeps it convex and smooth.

The infimal convolution of l(z) = log sum exp(z) - z_y with kappa |.| has, where |grad l(z)| >
kappa, the gradient q = grad l(v) of norm kappa at the point v = z - nu q, nu > 0. [docs/losses.md,
Lemma 5] So p = q + e_y solves p = softmax(z - nu (p - e_y)) with |p - e_y| = kappa.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array
from shiftdp._rounding import ULP
from shiftdp.training.losses.arrays import by_numpy, copy_of
from shiftdp.training.losses.base import module_of

LEAST = 1e-4
"""The least limit for which residuals are within ENVELOPE_ACCURACY of the exact ones. Plans refuse
smaller ones: nu is about 1/kappa, and digits of z would be lost in it."""

_NEWTON = 20  # steps of Newton's method; what has not settled by then is bracketed
_CLOSING = 200  # steps that a bracket may take to close; halving to the last bit takes some 60
_TOLERANCE = 1e-11  # relative, of equations that are solved: a tenth of ENVELOPE_ACCURACY
_MOVED = 4e-16  # a relative change that is still seen in a float
_SHRINKS = 0.9  # the part of nu that one step may take away at most, as nu has to stay positive
_BELOW_ONE = 1.0 - 1e-6  # the most that the other classes may have together, as a first guess
_LEAST_END = 1e-3  # of the bracket of nu, so that doubling it gets somewhere


def envelope_residuals(z: NDArray[Any], y: NDArray[Any], kappa: NDArray[Any]) -> NDArray[Any]:
    """q for records, one a column of z, whose residual is longer than kappa; |q| <= kappa.

    >>> z = np.array([[0.0], [3.0], [1.0]])
    >>> q = envelope_residuals(z, np.array([0]), np.array([0.5]))
    >>> q.ravel().round(4), round(float(np.linalg.norm(q)), 12)
    (array([-0.3944,  0.2884,  0.106 ]), 0.5)
    """
    xp = module_of(z)
    scores = z - xp.amax(z, axis=0)
    q, settled = _newton(scores, y, kappa)
    if not settled.all():
        (rest,) = xp.where(~settled)
        q[:, rest] = by_numpy(_bracketed, scores[:, rest], y[rest], kappa[rest])
    # what is left of the tolerance is taken off, and the roundings of this line with it
    q *= xp.clip(kappa / _length(q), None, 1.0) * (1.0 - (4 + len(z)) * ULP)
    return q


def _gradient(v: Array, y: NDArray[Any]) -> Array:
    """softmax(v) - e_y; the entry of y is minus the sum of the others, so that nothing cancels."""
    xp = module_of(v)
    p: Array = xp.exp(v - xp.amax(v, axis=0))
    p /= p.sum(axis=0)
    columns = xp.arange(v.shape[1], device=v.device)
    p[y, columns] = 0.0
    p[y, columns] = -p.sum(axis=0)
    return p


def _newton(z: Array, y: NDArray[Any], kappa: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Newton on v = z - nu q(v) and 1/|q(v)| = 1/kappa together, for q; and which columns settled.

    The second equation is written so because 1/|q| is nearly linear in nu. Each step solves a
    system with the matrix I + nu (diag(p) - p p^T), diagonal plus rank one.
    """
    xp = module_of(z)
    v, nu = _start(z, y, kappa)
    final = xp.zeros_like(v)
    settled = xp.zeros_like(kappa, dtype=xp.bool)
    active = columns = xp.arange(z.shape[1], device=z.device)
    scale = 1.0 + xp.amax(xp.abs(z), axis=0)
    for _ in range(_NEWTON):
        q = _gradient(v, y)
        size = _length(q)
        gap = v - z + nu * q
        # v matters through q only, which is smooth: an error e in v is at most e/2 in q
        done = (xp.amax(xp.abs(gap), axis=0) <= _TOLERANCE * scale) & (nu >= 0.0)
        done &= xp.abs(size - kappa) <= _TOLERANCE * kappa
        if done.any():
            final[:, active[done]] = q[:, done]
            settled[active[done]] = True
            (keep,) = xp.where(~done)
            if not len(keep):
                break
            v, z, q, gap = (array[:, keep] for array in (v, z, q, gap))
            active, nu, y, kappa, size, scale = (
                array[keep] for array in (active, nu, y, kappa, size, scale)
            )
        p = copy_of(q)
        p[y, columns[: len(y)]] += 1.0
        a, c, h = _solved(p, nu, gap), _solved(p, nu, q), _curved(p, q)
        wanted = size * size * (1.0 - size / kappa)
        with np.errstate(all="ignore"):
            step = -(wanted + _dot(h, a)) / _dot(h, c)
            move = xp.where(xp.isfinite(step), xp.maximum(step, -_SHRINKS * nu), 0.0)
            change = -a - c * move
            # far from the solution scores may not run: half their spread and a little is enough
            spread = xp.amax(v, axis=0) - xp.amin(v, axis=0)
            damp = xp.clip((2.0 + 0.5 * spread) / xp.amax(xp.abs(change), axis=0), None, 1.0)
        damp = xp.where(xp.isfinite(damp), damp, 1.0)
        v = v + damp * change
        nu = nu + damp * move
    return final, settled


def _start(z: Array, y: NDArray[Any], kappa: Array) -> tuple[Array, Array]:
    """The solution if the other classes kept their shares r of the probability they have."""
    xp = module_of(z)
    columns = xp.arange(z.shape[1], device=z.device)
    others = copy_of(z)
    others[y, columns] = -np.inf
    top = xp.amax(others, axis=0)
    shares = xp.exp(others - top)
    total = shares.sum(axis=0)
    shares /= total
    length = 1.0 + xp.einsum("ij,ij->j", shares, shares)
    rest = xp.clip(kappa / xp.sqrt(length), None, _BELOW_ONE)
    lead = top + xp.log(total) - z[y, columns]
    nu = xp.clip(lead - xp.log(rest / (1.0 - rest)), 0.0, None) / (rest * length)
    q = shares * rest
    q[y, columns] = -rest
    return z - nu * q, nu


def _bracketed(z: Array, y: NDArray[Any], kappa: Array) -> Array:
    """q where the joint iteration does not settle: nu between two ends, which always closes.

    |q(nu)| falls as nu grows, and 1/|q| is nearly linear in nu, so Newton's step is tried first;
    where it leaves the bracket, its middle is taken. Returns the end with |q| <= kappa.
    """
    _, high = _start(z, y, kappa)
    high = np.maximum(high, _LEAST_END)
    low = np.zeros_like(high)
    for _ in range(_CLOSING):
        long = _length(_proximal(z, y, high)) > kappa
        if not long.any():
            break
        low, high = np.where(long, high, low), np.where(long, 2.0 * high, high)
    nu = high
    for _ in range(_CLOSING):
        q = _proximal(z, y, nu)
        size = _length(q)
        long = size > kappa
        low, high = np.where(long, nu, low), np.where(long, high, nu)
        open_still = (high - low > _MOVED * high) & (np.abs(size - kappa) > _TOLERANCE * kappa)
        if not (open_still | long).any():
            break
        p = q.copy()
        p[y, np.arange(y.size)] += 1.0
        h, c = _curved(p, q), _solved(p, nu, q)
        with np.errstate(all="ignore"):
            nu = nu + size * size * (size / kappa - 1.0) / _dot(h, c)
        inside = (nu > low) & (nu < high)
        nu = np.where(open_still & inside, nu, np.where(open_still, 0.5 * (low + high), high))
    return _proximal(z, y, high)


def _proximal(z: Array, y: NDArray[Any], nu: Array) -> Array:
    """q = softmax(z - nu q) - e_y, by Wright's omega function and one unknown a record.

    w = nu p satisfies w + log w = z + nu e_y - A, so w = omega(z + nu e_y - A) with A where these
    sum to nu. The sum is convex and falls in A: from the left, Newton's steps never pass it.
    """
    from scipy.special import wrightomega

    columns = np.arange(z.shape[1])
    b = z.copy()
    b[y, columns] += nu
    b -= b.max(axis=0)
    A = -(nu + np.log(nu))  # the largest entry alone has the sum nu here
    w = wrightomega(b - A)
    for _ in range(_CLOSING):
        excess = w.sum(axis=0) - nu
        step = excess / (w / (1.0 + w)).sum(axis=0)
        # a record that has settled is left alone, whatever those beside it still need
        moving = step > _MOVED * (1.0 + np.abs(A))
        if not moving.any():
            break
        A = np.where(moving, A + step, A)
        w = wrightomega(b - A)
    q: Array = w / nu
    q[y, columns] = 0.0
    q[y, columns] = -q.sum(axis=0)
    return q


def _dot(a: Array, b: Array) -> Array:
    """Column by column."""
    total: Array = (a * b).sum(axis=0)
    return total


def _length(q: Array) -> Array:
    length: Array = module_of(q).sqrt(_dot(q, q))
    return length


def _curved(p: Array, q: Array) -> Array:
    """(diag(p) - p p^T) q."""
    return p * (q - _dot(p, q))


def _solved(p: Array, nu: Array, right: Array) -> Array:
    """(I + nu (diag(p) - p p^T))^{-1} applied to `right`, by Sherman and Morrison.

    As sum p = 1, their denominator 1 - nu p^T (I + nu diag(p))^{-1} p is sum p / (1 + nu p) > 0.
    """
    diagonal = 1.0 / (1.0 + nu * p)
    scaled = diagonal * p
    solution = diagonal * right
    solution += scaled * (nu * _dot(p, solution) / scaled.sum(axis=0))
    return solution
