"""Renyi moments of C_p(f) for an f of which only the profile and the moments are known, from above.

For order = 1 + s > 1 the moment of a symmetric function is

    M - 1 = s (s + 1) int_0^inf (e^{s e} + e^{-(s+1) e}) delta(e) de,

which rises with its profile. Up to a reach the profile is replaced by its chords in e^e, which lie
above it (see `connect_the_dots`): an atom of Q-mass m at the loss l then adds
m (e^{s l} - 1 - s (1 - e^-l)), and what is left at the reach E, m (s + 1)(e^{s E} - 1). Beyond the
reach, with e^e = 1 - p + p e^u,

    delta(e) = p delta_f(u) <= p M_f(k) e^{-(k-1) u}        for every order k,

as (r - g)_+ <= r^k g^{1-k}; and e <= u, de <= du. With k = 2 order the rest is at most
p M_f(2 order) s e^{-order U}, U being the u of the reach.

Another bound, from the convexity of the moment: M - 1 <= p (M_f - 1).
"""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, ROOMY_EXPONENT, THREE_ROUNDINGS
from shiftdp.fdp.composition.connect_the_dots import connect_the_dots
from shiftdp.fdp.functions.mixture import log_mean_moment
from shiftdp.fdp.tradeoff import TradeoffFunction

_ATOMS = 4096  # of the profile's chords, up to the reach
_MARGIN = 40.0  # minus the log of what may lie beyond the reach
_SMALL = 1e-6  # losses, times the order, of which the first term of a series is enough


def sampled_log_moment(
    sampled: TradeoffFunction, base: TradeoffFunction, p: float, order: float
) -> float:
    """log M of C_p(base), rounded up.

    >>> from shiftdp.fdp import LaplaceTradeoff
    >>> base = LaplaceTradeoff(1.0)
    >>> round(sampled_log_moment(base.subsample(0.01), base, 0.01, 2.0), 7)
    0.0001232
    """
    own = base._log_moment(order)
    if not base.symmetric:  # the profile is at most p (delta_f + delta_{f^-1})
        return log_mean_moment([(p, own), (p, base.inverse()._log_moment(order))])
    known = log_mean_moment([(p, own)])
    if math.isinf(own):  # perhaps because a loss may be
        return known
    far, log_rest = base._largest_loss(), -math.inf
    if math.isinf(far):
        tail = base._log_moment(2.0 * order)
        if not tail < math.inf:
            return known
        far = (tail + _MARGIN - 2.0 * math.log(p)) / order
        log_rest = math.log(p) + tail + math.log(order - 1.0) - order * far * (1.0 - AMPLE)
    if far > ROOMY_EXPONENT or (order + 1.0) * far > ROOMY_EXPONENT:
        return known
    reach = math.log1p(p * math.expm1(far)) * (1.0 + AMPLE)
    if reach == 0.0:
        return known
    above, _ = connect_the_dots(sampled, reach / _ATOMS, reach)
    s = order - 1.0
    right, left = above.right + above.right_error, above.left + above.left_error
    loss = np.asarray(above.mesh * above.right_place, dtype=np.float64)
    total = right @ _excess(loss, s) + left @ _excess(-loss, s)
    # what is left at the reach, on the right and, as P-mass, on the left
    total += above.infinite * ((s + 1.0) * math.expm1(s * loss[-1]) + s)
    excess = float(total) * (1.0 + AMPLE) + math.exp(log_rest)
    return min(math.log1p(excess) * (1.0 + THREE_ROUNDINGS), known)


def _excess(loss: Array, s: float) -> Array:
    """e^{s l} - 1 - s (1 - e^-l), rounded up."""
    growth, fall = np.expm1(s * loss), s * np.expm1(-loss)
    rounding = THREE_ROUNDINGS * ((1.0 + np.abs(s * loss)) * np.abs(growth) + np.abs(fall))
    plain = growth + fall + rounding
    # s (s+1) l^2/2 and the next terms, where the linear ones cancel
    size = (1.0 + s) * np.abs(loss)
    series = 0.5 * s * (s + 1.0) * loss * loss * np.exp(size / 3.0)
    return np.asarray(np.where(size < _SMALL, series, plain))
