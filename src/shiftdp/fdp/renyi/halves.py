"""Renyi moments of S_p(a, s) and C_p(G(s)) = S_p(0, s), from above.

By Theorem B2 (see `shifted_subsampling`) the privacy loss of S_p(a, s) is symmetric, a loss l and
its opposite having P-densities in the ratio 1 : e^l. With d = a + s, q = 1 - p, losses up to a d/2
are those of G(a) with weight q and of G(d) with weight p; larger ones are log A(x),
A(x) = q e^{a(x - a/2)} + p e^{d(x - d/2)}, x > (a + d)/2 normal. So for order = 1 + s > 1

    M - 1 = sum_i w_i int_0^{a d / (2 m_i)} phi(v + m_i/2) H(m_i v) dv
            + int_0^inf phi(y + (a + d)/2) H(log A(y + (a + d)/2)) dy,
    H(l) = e^{order l} - e^l - 1 + e^{-s l} = (e^{order l} - 1)(1 - e^{-s l}),

in whose second form nothing cancels, nor does anything in
A - 1 = q (e^{a(y + d/2)} - 1) + p (e^{d(y + a/2)} - 1).

*What the quadrature misses.* Gauss-Legendre with n nodes on a panel of half-width w integrates
polynomials of degree 2n - 1, and its weights are positive: it errs by at most 4 w times the
distance of the integrand from them, which is at most 2 G / (rho^{2n-1} (rho - 1)) if the integrand
is analytic in the Bernstein ellipse with semi-axes w (rho +- 1/rho)/2 and at most G there
[Trefethen 2013, Thm 8.2]. In it, |phi(x + iy)| = phi(x) e^{y^2/2}; |A(x + iy)| is at most A(x), and
at least A(x) cos((d - a) y/2), which must not vanish. Panels are halved until the sum of these
bounds is negligible, and it is added.

*What is cut off.* Right of X > order d, phi A^order falls at least at the rate X - order d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, LARGEST_EXPONENT, NOT_ZERO, ROOMY_EXPONENT, UNIT
from shiftdp.fdp._quadrature import legendre
from shiftdp.fdp.renyi.line import log_one_more, participating

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_MARGIN = 34.0  # minus the log of the part of M - 1 that all panels together may miss
_RHO = 5.0  # the sum of the semi-axes of the Bernstein ellipse, over half the width of a panel
# its semi-axes, along the real line and across it
_WIDE, _TALL = 0.5 * (_RHO + 1.0 / _RHO), 0.5 * (_RHO - 1.0 / _RHO)
_FIRST_WIDTH = 2.0  # of panels, before any is halved: two deviations of the normal density
_HALVINGS = 30  # of a panel at most; if its error is still too large, a simpler bound is used
_WEIGHTS = 1024.0  # roundings by which the weights may be off
_MOST_PANELS = 8_000  # beyond, a simpler bound is used (`participating`)
_LARGEST = 1e100  # means whose squares, times orders, are numbers
_PANEL_SUM_ERROR = 1e-14  # of the logarithm of a sum of positive terms, with all its roundings
_LOG_TOTAL_ERROR = 1e-13  # of the logarithm of the total, which may be some hundred
_ROOM = 0.9  # of the height at which A has its first zero
_AT_LEAST = 0.1  # M - 1 is at least this part of order (order - 1) mean^2, if that is small
_NOT_ZERO_SQUARED = 1e-150  # its square is still a float


def halves_log_moment(p: float, a: float, d: float, order: float) -> float:
    """log M of S_p(a, d - a), rounded up; 0 < p < 1 and 0 <= a < d.

    >>> round(halves_log_moment(0.01, 0.0, 1.0, 2.0), 9)
    0.000280639
    """
    known = participating(p, a, d, order)
    if not known < math.inf or d * order > _LARGEST:
        return known
    s, mean = order - 1.0, (1.0 - p) * a + p * d
    likely = math.log(max(_AT_LEAST * order * s, NOT_ZERO))
    likely += 2.0 * math.log(max(mean, _NOT_ZERO_SQUARED))
    for weight, m in ((1.0 - p, a), (p, d)):
        alone = order * math.log(weight) + 0.5 * order * s * m * m  # at most log M
        likely = max(likely, alone - 1.0) if alone > 1.0 else likely
    spread = math.sqrt(2.0 * (_MARGIN + max(0.0, -likely))) + 1.0
    far = _Far(p, a, d, order)
    parts: list[tuple[_Near | _Far, float]] = [(far, order * d + spread - far.knot)]
    if a > 0.0:
        parts.append((_Near(1.0 - p, a, order, 0.5 * d), min(0.5 * d, order * a + spread)))
        parts.append((_Near(p, d, order, 0.5 * a), 0.5 * a))
    logs: list[float] = []
    for part, end in parts:
        # an end that is rounded up only adds
        found = _integrated(part, end * (1.0 + 4 * UNIT), likely - _MARGIN)
        if found is None:
            return known
        logs += found
        logs.append(part.log_beyond(end))
    top = max(logs)
    log_total = top + math.log(math.fsum(math.exp(x - top) for x in logs)) + _LOG_TOTAL_ERROR
    return min(log_one_more(log_total), known)


@dataclass(frozen=True)
class _Near:
    """weight phi(v + m/2) H(m v) up to v = whole."""

    weight: float
    m: float
    order: float
    whole: float

    def log_values(self, v: Array, slip: Array) -> Array:
        """The log of the integrand at v, rounded up; `slip` is the relative error of v."""
        m, order = self.m, self.order
        rate = 2.0 + ((order + 2.0) * m + v + m) * v
        log_h, margin = _log_h(m * v, order), 8 * UNIT * (4.0 + (v + m) ** 2) + slip * rate
        return np.asarray(
            math.log(self.weight) - 0.5 * (v + 0.5 * m) ** 2 - _LOG_SQRT_2PI + log_h
            + margin + 8 * UNIT * (1.0 + np.abs(log_h))
        )  # fmt: skip

    def log_sup(self, low: Array, high: Array, tall: Array) -> Array:
        """The log of a bound on the modulus, for low <= Re v <= high and |Im v| <= tall.

        H is a sum of four exponentials, each of which is bounded by its own maximum.
        """
        m, s = self.m, self.order - 1.0
        terms = []
        for t in (self.order, 1.0, 0.0, -s):
            v = np.clip((t - 0.5) * m, low, high)  # where -(v + m/2)^2/2 + t m v is largest
            terms.append(-0.5 * (v + 0.5 * m) ** 2 + t * m * v)
        top = np.max(terms, axis=0)
        return np.asarray(math.log(4.0 * self.weight) + 0.5 * tall * tall + top)

    @property
    def tallest(self) -> float:
        return math.inf

    def log_beyond(self, end: float) -> float:
        """The part of weight e^{order s m^2/2} in a normal tail, unless all was integrated."""
        if end >= self.whole:
            return -math.inf
        m, order = self.m, self.order
        beyond = end + 0.5 * m - order * m  # > 1
        return (
            math.log(self.weight) + 0.5 * order * (order - 1.0) * m * m
            - 0.5 * beyond * beyond * (1.0 - AMPLE)
        )  # fmt: skip


@dataclass(frozen=True)
class _Far:
    """phi(y + knot) H(log A(y + knot)), knot = (a + d)/2."""

    p: float
    a: float
    d: float
    order: float

    @property
    def knot(self) -> float:
        return 0.5 * (self.a + self.d)

    @property
    def tallest(self) -> float:
        """|Im y| up to which A has no zero, with some room."""
        return _ROOM * math.pi / (self.d - self.a)

    def _exponents(self, y: Array) -> tuple[Array, Array]:
        return self.a * (y + 0.5 * self.d), self.d * (y + 0.5 * self.a)

    def log_a(self, y: Array) -> Array:
        l0, l1 = self._exponents(y)
        return np.asarray(np.logaddexp(math.log1p(-self.p) + l0, math.log(self.p) + l1))

    def log_values(self, y: Array, slip: Array) -> Array:
        p, d, order = self.p, self.d, self.order
        l0, l1 = self._exponents(y)
        low, high = (np.expm1(np.minimum(x, ROOMY_EXPONENT)) for x in (l0, l1))
        w = (1.0 - p) * low + p * high
        # moved up by the roundings of the exponents and of the sum
        moved = w * (1.0 + 8 * UNIT * (2.0 + np.maximum(l0, l1)))
        loss = np.log1p(moved) * (1.0 + 4 * UNIT)
        steep = np.maximum(l0, l1) > ROOMY_EXPONENT
        if steep.any():
            error = 8 * UNIT * (2.0 + np.maximum(l0, l1) - math.log(p) - math.log1p(-p))
            loss = np.where(steep, self.log_a(y) + error, loss)
        x = y + self.knot
        rate = 2.0 + ((order + 2.0) * d + x) * y
        log_h = _log_h(loss, order)
        return np.asarray(
            -0.5 * x * x - _LOG_SQRT_2PI + log_h
            + slip * rate + 8 * UNIT * (4.0 + x * x + np.abs(log_h))
        )  # fmt: skip

    def log_sup(self, low: Array, high: Array, tall: Array) -> Array:
        """The log of a bound on the modulus, for low <= Re y <= high and |Im y| <= tall.

        A^order + A + 1 <= 2 (A^order + 1). log phi A^order changes at rates between those with the
        least and with the greatest slope of log A, which is convex.
        """
        order, s, knot = self.order, self.order - 1.0, self.knot
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        x = middle + knot
        rates = [np.abs(order * self._slope(end) - x) for end in (low, high)]
        grown = -0.5 * x * x + order * self.log_a(middle) + half * np.maximum(*rates)
        nearest = np.clip(-knot, low, high) + knot
        level = -0.5 * nearest * nearest
        cosine = np.cos(0.5 * (self.d - self.a) * tall)
        shrunk = level - s * (self.log_a(low) + np.log(cosine))
        most = np.maximum(np.maximum(grown, level), shrunk)
        return np.asarray(0.5 * tall * tall + math.log(5.0) + most)

    def _slope(self, y: Array) -> Array:
        l0, l1 = self._exponents(y)
        odds = math.log(self.p) - math.log1p(-self.p) + l1 - l0
        share = 1.0 / (1.0 + np.exp(-np.clip(odds, -LARGEST_EXPONENT, LARGEST_EXPONENT)))
        return np.asarray(self.a + (self.d - self.a) * share)

    def log_beyond(self, end: float) -> float:
        x = end + self.knot
        rate = x - self.order * self.d
        at = -0.5 * x * x + self.order * float(self.log_a(np.array([end]))[0])
        size = 1.0 + x * x + self.order * self.d * x - self.order * math.log(self.p)
        return at - math.log(rate) + 16 * UNIT * size


def _log_h(loss: Array, order: float) -> Array:
    """log H(l) for l >= 0, rounded up but for 8u of itself; -inf at 0."""
    grow, shrink = order * loss, (order - 1.0) * loss
    with np.errstate(divide="ignore", over="ignore"):
        first = np.log(np.expm1(np.minimum(grow, ROOMY_EXPONENT)))
        first = np.where(grow < ROOMY_EXPONENT, first, grow)
        return np.asarray(first + np.log(-np.expm1(-shrink)) + 16 * UNIT)


def _integrated(part: _Near | _Far, end: float, log_goal: float) -> list[float] | None:
    """Logarithms of the sum over panels of [0, end] and of what it may miss; None if too long."""
    nodes, weights = legendre()
    n = nodes.size
    first = max(1, math.ceil(end / _FIRST_WIDTH))
    if first > _MOST_PANELS:
        return None
    width: Array = np.full(first, end / first)
    low: Array = width * np.arange(float(first))
    done: list[tuple[Array, Array, Array]] = []
    for _ in range(_HALVINGS):
        half = 0.5 * width
        tall = np.minimum(half * _TALL, part.tallest)
        middle = low + half
        sup = part.log_sup(middle - half * _WIDE, middle + half * _WIDE, tall)
        error = math.log(8.0) + np.log(half) + sup
        error = error - (2 * n - 1) * math.log(_RHO) - math.log(_RHO - 1.0) + AMPLE
        ready = error <= log_goal - math.log(4.0 * _MOST_PANELS)
        ready &= half * _TALL <= part.tallest
        done.append((low[ready], half[ready], error[ready]))
        low, width = low[~ready], half[~ready]
        if low.size == 0:
            break
        if low.size + sum(d[0].size for d in done) > _MOST_PANELS:
            return None
        low, width = np.concatenate([low, low + width]), np.concatenate([width, width])
    else:
        return None
    start, half, error = (np.concatenate(parts) for parts in zip(*done, strict=True))
    v = (start + half)[:, None] + half[:, None] * nodes
    # nodes are known to some roundings of a panel's width, and sums to one of themselves
    slip = (8 * UNIT * half[:, None] / v) + 4 * UNIT
    logs = part.log_values(v.ravel(), slip.ravel()).reshape(v.shape)
    logs = logs + np.log(half[:, None] * weights) + _WEIGHTS * UNIT
    top = float(logs.max())
    if top == -math.inf:
        return [float(error.max()) + math.log(error.size)]
    total = top + math.log(float(np.exp(logs - top).sum())) + _PANEL_SUM_ERROR
    return [total, float(error.max()) + math.log(error.size)]
