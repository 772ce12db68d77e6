"""Renyi moments of the bound of Theorem B7 for batches without replacement, from above.

With B(y) = E exp(y c - c^2/2), c = min(W, y), and x its fixed point (`HiddenExchange`), losses are
log B(y) for y > x, with the P-density phi(y), and their opposites, which have e^{log B} as much. So
for order = 1 + s > 1

    M - 1 = int_x^inf phi(y) H(log B(y)) dy,     H(l) = (e^{order l} - 1)(1 - e^{-s l}).

*Chords.* log B is convex (`mean_thresholds`), and H is convex and rises for l >= 0, so H(log B) is
convex: on each cell [a, a + h] of a grid it is below its chord. There phi(y) is at most
phi(a) e^{-a (y - a)}, so with v = (y - a)/h and u = a h the cell adds no more than

    h phi(a) (H_a int_0^1 e^{-u v} (1 - v) dv + H_{a+h} int_0^1 e^{-u v} v dv).

*What is cut off.* Right of Y > order m, m being the largest mean, phi B^order falls at least at the
rate Y - order m.

*Where the grid would be too coarse*: B^order <= E[exp(order (y c - c^2/2))] by convexity, and
B^{-s} <= 1, hence M <= 1/2 + E[(1 + W/sqrt(2 pi)) e^{order s W^2/2}].
"""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, GENEROUS, LARGEST_EXPONENT, NINE_ROUNDINGS, NOT_ZERO
from shiftdp.fdp.pairs.mean_law import MeanLaw, total
from shiftdp.fdp.pairs.mean_thresholds import log_sum
from shiftdp.fdp.renyi.line import log_one_more

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_CELLS = 4096  # of the grid: the chords cost some (order slope h)^2 / 12 of M - 1
_MARGIN = 40.0  # minus the log of what may be cut off, as a part of M - 1
_BLOCK = 1 << 16  # numbers at once: arrays that stay in the cache
_GROWN = 30.0  # beside e^30 = 1e13 a bound from above leaves out what is subtracted
_LEAST = 1e-290  # M - 1 below which its terms would underflow
_LARGEST = 1e150  # means whose squares, times orders, are numbers
_FLAT = 1e-5  # u below which the weights of a chord are taken as 1/2, which they are below


def capped_log_moment(law: MeanLaw, x: float, order: float) -> float:
    """log M, rounded up.

    Args:
        law: of W, which takes at least two values.
        x: the fixed point, or a number below it.

    >>> law = MeanLaw.of((0.0, 1.0), (0.9, 0.1))
    >>> round(capped_log_moment(law, 0.0, 2.0), 3)
    0.023
    """
    s, m = order - 1.0, law.largest
    if not m * order < _LARGEST:
        return math.inf
    known = _revealed(law, order)
    mean = float(total(law.weight * law.mean)[0])
    likely = 0.5 * order * s * mean * mean
    if likely < _LEAST:
        return known
    far = order * m + math.sqrt(2.0 * (_MARGIN - math.log(min(likely, 1.0)))) + 1.0
    if not far - order * m > 1.0:  # too large for the sum to be felt
        return known
    y = np.linspace(x, max(far, 2.0 * x), _CELLS + 1)
    loss = _log_capped(law, y)
    grown = order * loss
    with np.errstate(divide="ignore"):
        log_h = np.where(
            grown < _GROWN,
            np.log(np.expm1(np.minimum(grown, _GROWN))) + np.log(-np.expm1(-s * loss)),
            grown,
        )
    log_h = np.maximum(log_h, -LARGEST_EXPONENT) + AMPLE * (1.0 + grown)
    a, h = y[:-1], np.diff(y)
    left, right = _chord_weights(a * h)
    log_cell = np.log(h) - 0.5 * a * a - _LOG_SQRT_2PI
    terms = np.concatenate([
        log_cell + np.log(left) + log_h[:-1],
        log_cell + np.log(right) + log_h[1:],
        # what is cut off
        [grown[-1] * (1.0 + AMPLE) - 0.5 * y[-1] ** 2 - math.log(y[-1] - order * m)],
    ])  # fmt: skip
    top = float(terms.max())
    log_sum = top + math.log(float(np.exp(terms - top).sum())) + GENEROUS + AMPLE * abs(top)
    return min(log_one_more(log_sum), known)


def _log_capped(law: MeanLaw, y: Array) -> Array:
    """log B(y), to a part of 1e-12."""

    log_weight = np.log(law.weight)

    def block(y: Array) -> Array:
        means = np.minimum(law.mean, y)
        exponents = means * (y - 0.5 * means)
        plain, _ = log_sum(log_weight + exponents, means)
        near = plain < 1.0
        if near.any():  # B - 1 as a sum of terms >= 0, so that a small logarithm keeps its digits
            small = exponents[:, near]
            terms = law.weight * np.expm1(np.minimum(small, _GROWN))
            terms = np.where(small < _GROWN, terms, np.exp(log_weight + small))
            plain[near] = np.log1p(total(terms))
        return plain

    parts = np.array_split(y, 1 + y.size * law.size // _BLOCK)
    return np.concatenate([block(part) for part in parts])


def _chord_weights(u: Array) -> tuple[Array, Array]:
    """int_0^1 e^{-u v} (1 - v) dv and int_0^1 e^{-u v} v dv, for u >= 0."""
    v = np.maximum(u, _FLAT)
    fall = -np.expm1(-v)  # 1 - e^-u
    left, right = (v - fall) / (v * v), (fall - v * np.exp(-v)) / (v * v)
    flat = u < _FLAT
    return np.where(flat, 0.5, left), np.where(flat, 0.5, right)


def _revealed(law: MeanLaw, order: float) -> float:
    half = 0.5 * order * (order - 1.0)
    m = law.mean.ravel()
    with np.errstate(over="ignore"):
        logs = np.log(law.weight.ravel()) + np.log1p(m * math.exp(-_LOG_SQRT_2PI)) + half * m * m
    top = max(float(logs.max()), 0.0)
    if math.isinf(top):
        return top
    whole = 0.5 * math.exp(-top) + float(np.exp(logs - top).sum())
    return (top + math.log(max(whole, NOT_ZERO))) * (1.0 + NINE_ROUNDINGS) + AMPLE
