"""A whole tradeoff curve of a product by one contour integral: a fast estimate, no certificate.

On the line c = -1/2 between the poles the integral of `estimate` is delta(eps) - 1 for every eps,
to about the same absolute error, and its derivative is -e^eps P(loss > eps). So one line gives
delta and the tails of the loss at the Chebyshev points of an interval that holds nearly all of
either law, and between them delta is a polynomial. The line 1 - delta(eps) - e^eps alpha touches f
where alpha = P(loss > eps). That eps is found in probits, where the tail is nearly straight; what
it is off by counts by its square.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in
from shiftdp._kinds import Uncertified
from shiftdp.fdp.composition.product import Product
from shiftdp.fdp.contour.estimate import ContourEstimate
from shiftdp.fdp.contour.line import ContourRefusal, Line
from shiftdp.fdp.tradeoff import TradeoffFunction

_DEGREE = 72  # for one side of a symmetric law, twice that for both sides
_DEVIATIONS = 8.0  # on either side of the means under P and Q, if the loss were Gaussian
_LOG_FLOOR = math.log(1e-14)  # of the mass of all tails that are left out
_MARGIN = 2.0  # and of the part of it that one quadrature may take, with the opposite sign
_NO_TAIL = 1e-13  # probabilities that are all rounding error, which no probit can be taken of
_ACCEPTED = 1e-9  # of f, and of what lies outside the interval


def estimate_tradeoff(
    factors: Product | Iterable[tuple[TradeoffFunction, int]], alpha: ArrayLike
) -> Uncertified[Array] | None:
    """f(alpha) of a product of factors with multiplicities, to 1e-8; None where it is refused.

    >>> from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff
    >>> estimate_tradeoff([(GaussianTradeoff(0.6), 1), (GaussianTradeoff(0.8), 1)], [0.1, 0.5])
    estimate array([0.61085631, 0.15865525]) (contour integral; not a bound)
    >>> print(estimate_tradeoff([(ApproxDPTradeoff(0.5), 10)], 0.1))
    None
    """
    points = array_in("alpha", alpha, 0.0, 1.0)
    product = Product.of(factors)
    estimate = ContourEstimate.of(product)
    kept = 1.0 - estimate.failure
    if kept == 0.0 or not (estimate.laws or estimate.mu):
        curve = np.maximum(kept - points, 0.0)
    else:
        # sup 1 - q - (1 - q) delta - e^eps alpha
        at = np.minimum(points.ravel() / kept, 1.0)
        try:
            symmetric = all(f.symmetric for f in product.factors)
            curve = kept * _curve(estimate, symmetric, at).reshape(points.shape)
        except ContourRefusal:
            return None
    return Uncertified(curve, "estimate", "contour integral")


def _curve(estimate: ContourEstimate, symmetric: bool, alpha: Array) -> Array:
    line, end = estimate.central_line(_LOG_FLOOR, _MARGIN, _DEVIATIONS)
    x, to_coefficients = _chebyshev(_DEGREE if symmetric else 2 * _DEGREE)
    eps = 0.5 * end * (x + 1.0) if symmetric else end * x
    room, p_tail = _tails(line, eps)
    coefficients = to_coefficients @ room
    q_rest = room - np.exp(eps) * p_tail  # Q(loss <= eps)
    outside = max(float(p_tail[-1]), float(1.0 - q_rest[-1]))
    if not symmetric:
        outside = max(outside, float(1.0 - p_tail[0]), float(q_rest[0]))
    if not max(outside, float(np.abs(coefficients[-4:]).max())) < _ACCEPTED:
        raise ContourRefusal("the curve is not resolved")
    # where the line of each eps touches f, and on a symmetric f the line of -eps
    if symmetric:
        touched, signed = np.append(p_tail[::-1], q_rest), np.append(eps[::-1], -eps)
    else:
        touched, signed = p_tail[::-1], eps[::-1]
    known = (touched > _NO_TAIL) & (touched < 1.0 - _NO_TAIL)
    with np.errstate(divide="ignore"):
        goal = scipy.special.ndtri(alpha)
    probits = np.maximum.accumulate(scipy.special.ndtri(touched[known]))
    found = np.interp(goal, probits, signed[known])
    at = np.abs(found) if symmetric else found
    here = np.polynomial.chebyshev.chebval(
        2.0 * at / end - 1.0 if symmetric else at / end, coefficients
    )
    steep = here - np.exp(found) * alpha
    curve = np.where(found < 0.0, np.exp(-at) * (here - alpha), steep) if symmetric else steep
    return np.clip(np.where(alpha == 0.0, 1.0, curve), 0.0, 1.0 - alpha)


def _tails(line: Line, epsilon: Array) -> tuple[Array, Array]:
    """1 - delta(eps), and P(loss > eps)."""
    phase = np.exp(-1j * np.multiply.outer(epsilon, line.tau))
    both = np.stack([line.terms, line.terms * (-line.c - 1j * line.tau)], axis=1)
    scale = np.exp(line.log_scale - line.c * epsilon)
    room, rise = (phase @ both).real.T * scale
    return room, np.clip(np.exp(-epsilon) * rise, 0.0, 1.0)


@lru_cache(2)
def _chebyshev(degree: int) -> tuple[Array, Array]:
    """The extreme points, ascending, and the matrix from values there to coefficients."""
    j = np.arange(degree + 1.0)
    matrix = np.cos(np.pi / degree * np.outer(j, j)) * (2.0 / degree)
    matrix[:, [0, -1]] *= 0.5
    matrix[[0, -1]] *= 0.5
    return -np.cos(np.pi / degree * j), matrix[:, ::-1]
