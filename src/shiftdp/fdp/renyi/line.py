"""Renyi moments of pairs of Gaussian mixtures on the line, from above.

P has the density phi(x) B(x) and Q the density phi(x) A(x), with weights w_i that add up to 1,

    A(x) = sum_i w_i e^{a_i (x - a_i/2)},
    B(x) = sum_i w_i e^{-b_i (x + b_i/2)},

0 <= a = a_0 <= a_1 <= ... <= d and 0 <= b = b_0 <= b_1 <= ... <= e, so r = A/B = dQ/dP rises. For
order = 1 + s > 1, as E_P[r] = 1,

    M - 1 = E_P[r^order] - 1 = int phi B F(r) dx,     F(r) = r^order - 1 - order (r - 1),

whose integrand g is positive: nothing cancels where M is close to 1. It is summed by the trapezoid
rule with step h.

*What the rule misses.* g = phi (A^order B^-s - order A + s B) is analytic for |Im z| < c if
c (d - a) and c (e - b) are at most pi, where neither A nor B vanishes. There |phi(x + iy)| is
phi(x) e^{y^2/2}, |A(x + iy)| <= A(x), |B(x + iy)| <= B(x), and, terms whose phases differ by t at
most having a sum of at least cos(t/2) of that of their sizes, |B(x + iy)| >= B(x) cos((e-b) y/2).
So

    int |g(x + iy)| dx <= N = e^{c^2/2} (M cos((e-b) c/2)^-s + 2 order - 1),

and the rule errs by at most 2 N / (e^{2 pi c/h} - 1) [Trefethen and Weideman 2014, Thm 5.1]: with
k = 2 e^{c^2/2} / (e^{2 pi c/h} - 1) and K = k cos(...)^-s, M - 1 <= (sum + K + k (2 order - 1)) /
(1 - K).

*What is cut off.* For x >= X >= 0, r > 1 gives g <= phi A^order B^-s, whose logarithm falls at
least at the rate X - order d - s sum_i w_i b_i: there B has smaller shares of the larger b_i than
the weights say. For x <= -X, r <= 1 gives g <= s phi B, whose logarithm rises at least at the rate
X - e. Both tails are below geometric series.

*Rounding.* F falls left of r = 1 and rises right of it, so r is moved away from 1 by its error.

Where a sum would be too long, the joint convexity of A^order B^-s gives

    M <= sum_i w_i e^{order s (a_i + b_i)^2 / 2}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import (
    AMPLE,
    GENEROUS,
    INVERTIBLE_EXPONENT,
    LARGEST_EXPONENT,
    NINE_ROUNDINGS,
    NOT_ZERO,
    ROOMY_EXPONENT,
    ULP,
    UNIT,
)
from shiftdp.fdp.functions.mixture import log_mean_moment
from shiftdp.fdp.pairs.mean_law import total

_UP = 1.0 + ULP  # one sum
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_MARGIN = 40.0  # minus the log of the part of M - 1 that the rule may miss
_STRIPS = np.linspace(1.0 / 64, 1.0, 64)  # c, as parts of the largest: the best is sought
_TALL = 16.0  # no strip need be wider
_MOST_NODES = 200_000  # beyond, a simpler bound is used (`revealed`)
_MOST_NUMBERS = 6_000_000  # nodes times components
_BLOCK = 1 << 17  # of these at once: arrays that stay in the cache
_NEAR = 1.0  # |log r| below which r - 1 is summed as such
_STEEP = INVERTIBLE_EXPONENT  # exponents beyond are not exponentiated
_DEEP = -20.0  # log B above which 1 + sum w_i (e^{...} - 1) keeps B to a part of 1e-5
_UNDERFLOW = 2e-323  # four times the least float: more than what was lost in a few products
_GROWN = 30.0  # beside e^30 = 1e13 a bound from above leaves out what is subtracted
_SUM_ERROR = 1e-13  # relative, of a sum of positive terms, with the roundings of its logarithms
_END_ERROR = 1e-14  # of the logarithm of one term, and relative, of a rate of decay
_SERIES_UP_TO, _SERIES_ORDER = 0.1, 0.5  # |w|, and order |w|, up to which the series is summed
_LEAST = 1e-290  # M - 1 below which its terms would underflow
_LARGEST = 1e150  # means whose squares, times orders, are numbers
_SERIES = 18  # its terms: what follows them is below 1e-17 of the sum


def line_log_moment(
    weights: Sequence[float], above: Sequence[float], below: Sequence[float], order: float
) -> float:
    """log M for A with the shifts `above` and B with the shifts `below`, rounded up.

    >>> round(line_log_moment((0.5, 0.5), (1.0, 1.0), (0.0, 0.0), 3.0), 12)  # N(1) against N(0)
    3.0
    """
    (a, d), (b, e), s = (above[0], above[-1]), (below[0], below[-1]), order - 1.0
    apart = [(up + down) * _UP for up, down in zip(above, below, strict=True)]
    known = revealed(weights, apart, order)
    if d + e == 0.0 or not known < math.inf or max(d, e) * order > _LARGEST:
        return known
    mean = math.fsum(w * m for w, m in zip(weights, apart, strict=True))
    likely = 0.5 * order * s * mean * mean
    if likely < _LEAST:
        return known
    margin = _MARGIN - min(0.0, math.log(max(likely, NOT_ZERO))) + math.log(2.0 * order)
    # the strip that allows the longest step
    strips = _STRIPS * min(math.pi / max(d - a, e - b, NOT_ZERO), _TALL) * (1.0 - GENEROUS)
    loss = 0.5 * strips * strips - s * np.log(np.cos(0.5 * (e - b) * strips))
    steps = 2.0 * math.pi * strips / (margin + loss)
    best = int(np.argmax(steps))
    h, c, loss_c = float(steps[best]), float(strips[best]), float(loss[best])

    z = math.sqrt(2.0 * margin) + 1.0
    far = order * d + s * math.fsum(w * m for w, m in zip(weights, below, strict=True))
    left, right = math.ceil((e + z) / h), math.ceil((far + z) / h)
    if left + right > _MOST_NODES or (left + right) * len(weights) > _MOST_NUMBERS:
        return known
    x = h * np.arange(-left, right + 1.0)
    pair = _Pair.of(weights, above, below)
    blocks = np.array_split(x, 1 + x.size * len(weights) // _BLOCK)
    parts = [_integrand(pair, order, block) for block in blocks]
    log_g = np.concatenate([part[0] for part in parts])
    log_tails = parts[0][1][0], parts[-1][1][1]
    top = float(log_g.max())
    whole = float(np.exp(log_g - top).sum()) * (1.0 + _SUM_ERROR)
    # geometric series from the first term that is left out
    rates = (left * h - e) * (1.0 - AMPLE), (right * h - far) - _END_ERROR * far
    for rate, log_tail in zip(rates, log_tails, strict=True):
        first = math.exp(min(log_tail - top, ROOMY_EXPONENT))
        whole += first / math.expm1(rate * h * (1.0 - AMPLE))
    log_sum = top + math.log(whole) + math.log(h) + 4 * UNIT * (abs(top) + 2.0)

    log_k = math.log(2.0) + 0.5 * c * c - 2.0 * math.pi * c / h * (1.0 - _SUM_ERROR)
    log_k -= math.log1p(-math.exp(-2.0 * math.pi * c / h))
    K = math.exp(log_k + loss_c - 0.5 * c * c) * (1.0 + AMPLE)
    missed = K + math.exp(log_k) * (2.0 * order - 1.0) * (1.0 + AMPLE)
    if missed > 0.5:
        return known
    log_rest = float(np.logaddexp(log_sum, math.log(missed))) if missed > 0.0 else log_sum
    found = log_one_more(log_rest - math.log1p(-K))
    return min(found, known)


def participating(p: float, least: float, most: float, order: float) -> float:
    """`revealed` for two distances, of which the larger has the probability p."""
    return revealed((1.0 - p, p), (least, most), order)


def revealed(weights: Sequence[float], apart: Sequence[float], order: float) -> float:
    """log sum_i w_i e^{order s apart_i^2/2}, rounded up; `apart` rises.

    What is known of a pair, were it revealed which components its means are of.
    """
    half = 0.5 * order * (order - 1.0) * (1.0 + NINE_ROUNDINGS)
    moments = [half * m * m if m < _LARGEST else math.inf for m in apart]
    rounding = _UNDERFLOW if apart[-1] > 0.0 else 0.0  # what underflows is still positive
    return log_mean_moment(list(zip(weights, moments, strict=True))) + rounding


def log_one_more(log_excess: float) -> float:
    """log(1 + e^v), rounded up; positive even where it underflows."""
    if log_excess < _GROWN:
        return math.log1p(math.exp(log_excess)) * (1.0 + 4 * UNIT) + _UNDERFLOW
    return (log_excess + math.exp(-log_excess)) * (1.0 + 4 * UNIT)


class _Pair(NamedTuple):
    """Weights, their logarithms, and the shifts of A and of B, as columns."""

    weight: Array
    log_weight: Array
    above: Array
    below: Array

    @classmethod
    def of(cls, weights: Sequence[float], above: Sequence[float], below: Sequence[float]) -> _Pair:
        weight = np.array(weights)[:, None]
        logs = np.log(weight)
        if len(weights) == 2:  # the first is 1 - p, and rounded
            logs[0] = math.log1p(-weights[1])
        return cls(weight, logs, np.array(above)[:, None], np.array(below)[:, None])


def _integrand(pair: _Pair, order: float, x: Array) -> tuple[Array, tuple[float, float]]:
    """log g at the nodes, rounded up, and upper bounds on it at the first and the last node.

    The latter two are by the formulas with which the tails beyond these nodes are bounded.
    """
    weight, log_weight, above, below = pair
    s, depth = order - 1.0, math.log2(weight.size) + 1.0
    up, down = above * (x - 0.5 * above), -below * (x + 0.5 * below)
    log_a, error_a = _log_sum(log_weight, up, above, x)
    log_b, error_b = _log_sum(log_weight, down, below, x)
    loss = log_a - log_b
    error = error_a + error_b + 2 * UNIT * np.abs(loss)
    log_f = np.empty(x.shape)
    near = (np.abs(loss) < _NEAR) & (np.maximum(up.max(axis=0), down.max(axis=0)) < _STEEP)
    near &= log_b > _DEEP
    far = ~near
    moved = loss[far] + np.copysign(error[far], loss[far])
    log_f[far] = _far_excess(moved, s)
    if near.any():
        up, down = up[:, near], down[:, near]
        rise, fall = weight * np.expm1(up), weight * np.expm1(down)
        numerator, denominator = total(rise - fall), 1.0 + total(fall)
        # the exponents carry 3u of their parts, the products 4u, and the sum some more
        rounding = total((rise + weight) * (3.0 * np.abs(up) + 2.0 * above * above))
        rounding += total((fall + weight) * (3.0 * np.abs(down) + 2.0 * below * below))
        rounding += (5.0 + depth) * total(np.abs(rise) + np.abs(fall))
        w = numerator / denominator
        # |r - 1| < e, and the denominator is off by no more than the rounding itself
        moved = np.abs(w) + 4.0 * UNIT * (rounding / denominator + np.abs(w))
        log_f[near] = log_excess(np.copysign(moved, w), s)
    log_f = np.maximum(log_f, -LARGEST_EXPONENT)  # what underflows; it does not count against M - 1
    log_density = -0.5 * x * x - _LOG_SQRT_2PI
    margin = error_b + 4 * UNIT * (x * x + np.abs(log_b) + np.abs(log_f) + 4.0)
    log_g = log_density + log_b + log_f + margin
    wide = 4 * UNIT * (x * x + order * np.abs(log_a) + s * np.abs(log_b))
    wide = wide + order * error_a + s * error_b
    first = log_density[0] + log_b[0] + math.log(s) + wide[0] + _END_ERROR
    last = log_density[-1] + order * log_a[-1] - s * log_b[-1] + wide[-1] + _END_ERROR
    return log_g, (float(first), float(last))


def _log_sum(log_weight: Array, exponents: Array, shifts: Array, x: Array) -> tuple[Array, Array]:
    """log of the sum of w_i e^{exponent_i}, and its error.

    That is the largest error of an exponent that counts: of the exponent itself, whose parts are
    shift_i |x| and shift_i^2, and of the logarithm of its weight; and that of the sum.
    """
    terms = log_weight + exponents
    top = terms.max(axis=0)
    shares = np.exp(terms - top)
    size = total(shares)
    parts = shifts * (np.abs(x) + shifts) + np.abs(log_weight) + np.abs(terms - top)
    error = total(shares * parts) / size + np.abs(top) + 2.0 * math.log2(terms.shape[0]) + 2.0
    return top + np.log(size), 4 * UNIT * error


def _far_excess(loss: Array, s: float) -> Array:
    """log F(e^loss), rounded up, for |loss| >= 1: F is r (e^{s loss} - 1) - s (r - 1)."""
    up = np.maximum(loss, _NEAR)
    grow = s * up
    with np.errstate(over="ignore", invalid="ignore"):
        inner = np.log(np.expm1(np.minimum(grow, _GROWN)) + s * np.expm1(-up))
        right = up + np.where(grow < _GROWN, inner, grow)
        down = np.minimum(loss, -_NEAR)
        left = np.log(np.exp(down) * np.expm1(s * down) - s * np.expm1(down))
    # exponents up to 30 carry 64 roundings, and a difference loses no more than a factor of 4
    return np.asarray(np.where(loss > 0.0, right, left) + 128 * UNIT)


def log_excess(w: Array, s: float) -> Array:
    """log F(1 + w), rounded up, for w > -1 of at most some units; -inf at 0.

    By the binomial series where F would be the difference of nearly equal terms.
    """
    order, size = 1.0 + s, np.abs(w)
    loss = np.log1p(w)
    grow = s * loss
    grown = (1.0 + w) * np.expm1(np.minimum(grow, _GROWN))
    rounding = 8 * UNIT * ((1.0 + np.abs(grow)) * np.abs(grown) + s * size)
    value = grown - s * w + rounding
    small = (size <= _SERIES_UP_TO) & (order * size <= _SERIES_ORDER)
    if small.any():
        v = w[small]
        series = np.ones(v.shape)
        for k in range(_SERIES, 1, -1):
            series = 1.0 + (order - k) / (k + 1.0) * v * series
        value[small] = 0.5 * order * s * v * v * series * (1.0 + 64 * UNIT)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(value, 0.0))
    # F <= r^order, and nearly so
    return np.asarray(np.where(grow < _GROWN, logs, loss + grow * (1.0 + 8 * UNIT)) + 4 * UNIT)
