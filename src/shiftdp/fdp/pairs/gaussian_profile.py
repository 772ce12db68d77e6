"""The privacy profile of the Gaussian tradeoff function, and its inverses, in log space.

With `u = eps/mu`, `h = mu/2`, `x = u - h`, `y = u + h` and the Mills ratio `R(v) = Phi(-v)/phi(v)`,

    delta(eps) = Phi(-x) - e^eps Phi(-y) = phi(x) (R(x) - R(y)),     [BSA24, Lemma fdptoapproxdp]
    d delta / d eps = -phi(x) R(y),      d delta / d mu = phi(x).

Everything else here inverts that formula. Where it is hard in floating point:

- `R(x) - R(y)` cancels for small mu: there it is the odd Taylor series of R around u.
- `eps/mu - mu/2` cancels for mu above 1e6: there it is taken from mu^2 in two parts (`point`).
- eps cancels when delta is close to `delta(0) = erf(mu / sqrt 8)`: there the equation is solved for
  the gap `delta(0) - delta`, the error function being summed in integer arithmetic.

eps(delta) and mu(eps, delta) have a relative error below 4e-13 for mu in [1e-6, 1e3] and delta in
[1e-300, 1/2] (tested against 60-digit arithmetic). Scalars take a path through `math` alone: it
needs no array and no SciPy, and costs a few microseconds.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import SPLITTER

RELATIVE_ERROR = 4e-13
"""What the inverses may be off by; callers that state a bound round up by it."""

MILLS_CONDITION = 1.3
"""R(v) <= (1.3 + v) |R'(v)| for v >= 0, as R(0) = 1.2533 and R'(0) = -1. So R(x) - R(y) with
y = x + mu magnifies the relative errors of the two terms by at most (1.3 + y) / mu."""

SERIES_CONDITION = 10.0
"""Where that is a large number, the Taylor series magnifies the error of R by (1.3 + v)(10 + v)."""

SQRT2 = math.sqrt(2.0)
_SQRT8 = math.sqrt(8.0)
SQRT_HALF_PI = math.sqrt(math.pi / 2)
_SQRT_2PI = math.sqrt(2 * math.pi)
LOG_SQRT_2PI = math.log(_SQRT_2PI)
SMALL_MU = 0.1  # below: Taylor series instead of a difference of Mills ratios
_MILLS_SERIES = 25.0  # above: asymptotic series of R, of which the rest is below 1e-16
LEFT = -5.0  # left of it the Mills ratio grows beyond use, and delta is close to 1
LEFTMOST = -9.0  # no iterate of a search goes further left: Phi(9) is 1 to the last digit
_FAR_RIGHT = 1e4  # above: asymptotic series of R(x) - R(y), of which the rest is below 1e-15
SMALL_U = 0.05  # below: solve for the gap to delta(0)
STEP = 1e-6  # a step of Halley's method this small leaves an error of its cube
_NEWTON_STEP = 1e-9  # a step of Newton's method this small leaves an error of its square
_MOST_STEPS = 40  # of either; they end after 3 to 6
_SMALL_DELTA = 1e-3  # below: erf(mu / sqrt 8) = delta is solved by mu = sqrt(2 pi) delta
_EXACT_MU = 17.0  # above: 1 - delta is too coarse to come close to erfc(mu / sqrt 8)
# the guess: R(v) is about 1/(v + 0.8), and no delta is taken to be above 0.9999
GUESS_SHIFT, GUESS_MOST = 0.8, 0.9999
# [Abramowitz and Stegun 26.2.23]
QUANTILE = (2.515517, 0.802853, 0.010328, 1.432788, 0.189269, 0.001308)
FAR_MU = 1e6  # above: x = eps/mu - mu/2 without the roundings of its two terms
FARTHEST = 1e150  # in u: delta underflows long before, and u^2 would overflow
# Gauss-Legendre quadrature on [0, 1], exact for polynomials up to degree 9
_NODES = (0.04691007703066802, 0.23076534494715845, 0.5, 0.7692346550528415, 0.9530899229693319)
_WEIGHTS = (  # of the nodes
    0.11846344252809464,
    0.23931433524968315,
    0.28444444444444444,
    0.23931433524968315,
    0.11846344252809464,
)


def _mills(v: float) -> float:
    """R(v) = sqrt(pi/2) e^{z^2} erfc(z), z = v/sqrt 2, for v > -37."""
    if v < _MILLS_SERIES:
        z = v / SQRT2
        # z^2 in two parts, by Veltkamp's splitting: exp would multiply the rounding of it by z^2
        head = z * SPLITTER
        head -= head - z
        tail = z - head
        square = z * z
        rest = ((head * head - square) + 2.0 * head * tail) + tail * tail
        return SQRT_HALF_PI * math.exp(square) * (1.0 + rest) * math.erfc(z)
    i = 1.0 / (v * v)
    return (1 - i * (1 - i * (3 - i * (15 - i * (105 - i * (945 - i * 10395)))))) / v


def _mills_difference(u: float, mu: float) -> tuple[float, float]:
    """R(u - mu/2) - R(u + mu/2), and R(u + mu/2)."""
    h = 0.5 * mu
    if mu >= SMALL_MU:
        upper = _mills(u + h)
        return _mills(u - h) - upper, upper
    return mills_series(_mills(u), u, h)


Real = TypeVar("Real", float, Array)


def mills_series(r0: Real, u: Real, h: Real) -> tuple[Real, Real]:
    """R(u - h) - R(u + h) and R(u + h) for small h, from R(u) and its derivatives there."""
    r1 = u * r0 - 1.0
    r2 = u * r1 + r0
    r3 = u * r2 + 2.0 * r1
    r4 = u * r3 + 3.0 * r2
    r5 = u * r4 + 4.0 * r3
    r6 = u * r5 + 5.0 * r4
    r7 = u * r6 + 6.0 * r5
    r8 = u * r7 + 7.0 * r6
    r9 = u * r8 + 8.0 * r7
    hh = h * h
    odd = h * (r1 + hh / 6 * (r3 + hh / 20 * (r5 + hh / 42 * (r7 + hh / 72 * r9))))
    even = r0 + hh / 2 * (r2 + hh / 12 * (r4 + hh / 30 * (r6 + hh / 56 * r8)))
    return -2.0 * odd, even + odd


def gaussian_log_delta(mu: float, epsilon: float) -> float:
    """log delta(eps) of G(mu), for any real eps. [BSA24, Lemma fdptoapproxdp]

    >>> round(gaussian_log_delta(1.0, 30.0), 6)
    -442.849378
    """
    if mu == math.inf:
        return 0.0
    if epsilon < 0:
        return math.log(-math.expm1(epsilon) + math.exp(epsilon) * gaussian_delta(mu, -epsilon))
    if mu == 0 or epsilon == math.inf:
        return -math.inf
    u = epsilon / mu
    x = u - 0.5 * mu if mu <= FAR_MU else float(point(np.array(mu), np.array(epsilon)))
    if x < LEFT:
        return math.log1p(-0.5 * math.erfc(-x / SQRT2) - _density(x) * _mills(u + 0.5 * mu))
    if x > FARTHEST:
        return -math.inf
    if x > _FAR_RIGHT:
        log_difference = (
            math.log(mu) - math.log(x) - math.log(u + 0.5 * mu) + math.log1p(-3.0 / (u * u))
        )
    elif mu > FAR_MU:
        log_difference = math.log(_mills(x) - _mills(u + 0.5 * mu))
    else:
        difference, _ = _mills_difference(u, mu)
        if difference <= 0.0:  # mu is denormal, and delta less than the least float
            return -math.inf
        log_difference = math.log(difference)
    return -0.5 * x * x - LOG_SQRT_2PI + log_difference


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta(eps) of G(mu), for any real eps. [BSA24, Lemma fdptoapproxdp]

    >>> round(gaussian_delta(1.0, 1.0), 9)
    0.126936737
    """
    return math.exp(gaussian_log_delta(mu, epsilon))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest eps >= 0 with delta(eps) <= delta, for G(mu).

    Halley's method on log delta, which is concave in eps, from a guess that is right to 1%.

    >>> round(gaussian_epsilon(1.0, 1e-5), 9)
    4.377178096
    >>> gaussian_epsilon(0.1, 0.5)
    0.0
    """
    if delta >= 1 or mu == 0:
        return 0.0
    if delta == 0 or mu == math.inf:
        return math.inf
    gap = math.erf(mu / _SQRT8) - delta if delta < 0.5 else (1.0 - delta) - math.erfc(mu / _SQRT8)
    slope = 0.5 * mu * math.erfc(mu / _SQRT8)  # of the gap in u, at 0
    if gap < SMALL_U * slope:
        # further below 0 than rounding reaches, no exact sum is needed
        return mu * _small_u(mu, delta, gap) if gap > -SMALL_U * slope else 0.0
    if delta > 0.5:
        return mu * _above_half(mu, delta)
    log_delta = math.log(delta)
    u = _guess(mu, delta)
    for _ in range(_MOST_STEPS):
        x = max(u - 0.5 * mu, LEFTMOST)
        u = x + 0.5 * mu
        difference, upper = _mills_difference(u, mu)
        value = -0.5 * x * x - LOG_SQRT_2PI + math.log(difference) - log_delta
        first = -mu * upper / difference
        second = mu * (1.0 - mu * upper) / difference - first * first
        step = value / (first - 0.5 * value * second / first)
        u = max(u - step, 0.5 * u)
        if abs(step) <= STEP * u:
            break
    return mu * u


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which G(mu) is (eps, delta)-DP.

    >>> round(gaussian_mu(1.0, 1e-5), 9)
    0.268051123
    """
    if delta <= 0:
        return 0.0 if epsilon < math.inf else math.inf
    if delta >= 1 or epsilon == math.inf:
        return math.inf
    log_delta = math.log(delta)
    # at least what eps = 0 would need, which is sqrt(2 pi) delta for small delta
    least = 2.0 * _upper_quantile(0.5 - 0.5 * delta) if delta > _SMALL_DELTA else _SQRT_2PI * delta
    x = _upper_quantile(delta)
    mu = max(_conjugate(x, epsilon), least)
    for _ in range(2):
        x = _upper_quantile(min(delta * (1.0 + max(x + GUESS_SHIFT, 0.0) / mu), GUESS_MOST))
        mu = max(_conjugate(x, epsilon), least)
    for _ in range(_MOST_STEPS):
        u = epsilon / mu
        x, y = u - 0.5 * mu, u + 0.5 * mu
        if x < LEFTMOST:  # delta would be 1 to the last digit
            mu = _conjugate(LEFTMOST, epsilon)
            continue
        difference, _ = _mills_difference(u, mu)
        value = -0.5 * x * x - LOG_SQRT_2PI + math.log(difference) - log_delta
        # the derivatives of log delta, times mu and mu^2, are r and r (x y - r)
        r = mu / difference
        step = value / (r - 0.5 * value * (x * y - r))
        mu *= min(max(1.0 - step, 0.5), 2.0)
        if abs(step) <= STEP:
            break
    return mu


def _density(v: float) -> float:
    return math.exp(-0.5 * v * v - LOG_SQRT_2PI)


def _conjugate(x: float, epsilon: float) -> float:
    """The mu with eps/mu - mu/2 = x."""
    root = math.sqrt(x * x + 2.0 * epsilon)
    return 2.0 * epsilon / (root + x) if x > 0 else root - x


def _upper_quantile(p: float) -> float:
    """v with Phi(-v) = p, to 5e-4 [Abramowitz and Stegun 26.2.23]."""
    if p > 0.5:
        return -_upper_quantile(1.0 - p)
    r = math.sqrt(-2.0 * math.log(p))
    a, b, c, d, e, f = QUANTILE
    return r - (a + r * (b + r * c)) / (1.0 + r * (d + r * (e + r * f)))


def _guess(mu: float, delta: float) -> float:
    """u to about a percent, from `delta = Phi(-x) (1 - R(y)/R(x))` and `R(v) ~ 1/(v + 0.8)`."""
    x = _upper_quantile(delta)
    for _ in range(2):
        x = _upper_quantile(min(delta * (1.0 + max(x + GUESS_SHIFT, 0.0) / mu), GUESS_MOST))
    return max(x + 0.5 * mu, SMALL_U)


def _small_u(mu: float, delta: float, gap: float) -> float:
    """u from the gap: `delta(0) - delta(eps) = mu phi(h) int_0^u exp(h r - r^2/2) R(h + r) dr`."""
    if mu < _EXACT_MU:
        gap = _exact_gap(mu, delta)
    if gap <= 0.0:
        return 0.0
    h = 0.5 * mu
    scale = mu * _density(h)
    u = gap / (scale * _mills(h))
    for _ in range(_MOST_STEPS):
        total = 0.0
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            r = u * node
            total += weight * math.exp(h * r - 0.5 * r * r) * _mills(h + r)
        step = (scale * u * total - gap) / (scale * math.exp(h * u - 0.5 * u * u) * _mills(h + u))
        u -= step
        if abs(step) <= _NEWTON_STEP * u:
            break
    return u


def _above_half(mu: float, delta: float) -> float:
    """u from `1 - delta = Phi(x) + phi(x) R(y)`, where nothing cancels and 1 - delta is exact."""
    h = 0.5 * mu
    log_rest = math.log(1.0 - delta)
    u = max(h - _upper_quantile(1.0 - delta), SMALL_U)
    for _ in range(_MOST_STEPS):
        x = max(u - h, LEFTMOST)
        u = x + h
        part = _density(x) * _mills(u + h)
        rest = 0.5 * math.erfc(-x / SQRT2) + part
        step = (math.log(rest) - log_rest) * rest / (mu * part)
        u = max(u - step, 0.5 * u)
        if abs(step) <= _NEWTON_STEP * u:
            break
    return u


_BITS = 240  # behind the point of the fixed-point numbers of `_exact_gap`: some 70 digits
_INVERSE_SQRT_2PI = 0x662114CF50D942343F2CF1402EAE38BFD3829F30512706D8C0471B480263  # times 2^240


def _exact_gap(mu: float, delta: float) -> float:
    """erf(mu / sqrt 8) - delta, as `mu (sum / sqrt(2 pi) - delta/mu)` with some 70 digits.

    The sum is `sum_n (-mu^2/8)^n / (n! (2n + 1))`, for the numbers that the floats stand for.
    """
    one = 1 << _BITS
    top, bottom = mu.as_integer_ratio()
    square = top * top * one // (8 * bottom * bottom)
    total, power, n = 0, one, 0
    while power:
        total += (-power if n % 2 else power) // (2 * n + 1)
        n += 1
        power = power * square // (one * n)
    p, q = delta.as_integer_ratio()
    return mu * (((total * _INVERSE_SQRT_2PI >> _BITS) - p * bottom * one // (q * top)) / one)


def point(mu: Array, epsilon: Array) -> Array:
    """x = eps/mu - mu/2 with a few roundings of x itself, for 0 < mu < inf and eps >= 0.

    With mu = m 2^k, 1/2 <= m < 1, it is 2^k (eps 2^-2k - m^2/2) / m, and m^2 = square + rest
    exactly, by Veltkamp's splitting. Where the first difference cancels it is exact.

    >>> round(float(point(np.array(1e16), np.array(5e31))), 6)  # the float is above 5e31
    0.268308
    """
    m, k = np.frexp(mu)
    head = m * SPLITTER
    head = head - (head - m)
    tail = m - head
    square = m * m
    rest = ((head * head - square) + 2.0 * head * tail) + tail * tail
    with np.errstate(over="ignore", under="ignore"):
        above = (np.ldexp(epsilon, -2 * k) - 0.5 * square) - 0.5 * rest
        return np.asarray(np.ldexp(above / m, k))
