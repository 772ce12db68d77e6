"""How small the exact epsilon of a `HiddenMixture` can be: the other end of its numerical error.

The bound is made of the functions F_i(q), the largest probability that part i leaves to an event of
probability q under its other measure. They are known between

- from above `min_j delta_j + gamma_j q`, from certified values delta_j of the part's profile;
- from below: delta falls, so that with lower bounds d_j it is at least d_{j+1} between gamma_j and
  gamma_{j+1}, and F_i(q) >= min_j d_{j+1} + gamma_j q as long as the minimum over all gamma is at
  one of 1 or more, that is for q <= -delta'(1), of which secants of the convex delta are lower
  bounds; beyond, F_i is at least what it was there, and at least q. F_i is concave: it is above the
  chords between such values.

The exact bound is then at least

    shared, equal q        sup_q sum_i w_i F_i(q) - gamma q
    shared, equal power    sup_x x - gamma sum_i w_i F_i^-1(x)
    neither                sup_q min(A(q), 1 - q) - gamma q,

where A(q) is a lower bound on sum_i w_i (F_i(0) + int_0^q max_{k <= i} F_k'). For any points
0 < q_1 < ... < q_m = q and any k_1, ..., k_m <= i the integral, with F_i(0), is at least
`F_i(q_1) + sum_j F_{k_j}(q_{j+1}) - F_{k_j}(q_j)`: the best choice of points and parts, each value
at an end being a lower and each at a beginning an upper bound, is found by dynamic programming.
(The tradeoff function of the third case is the largest that its profile h allows. Its power at q
is h's up to the fixed point, where that is 1 - q, and no less than 1 - q beyond.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftdp._checks import Array
from shiftdp._roots import largest
from shiftdp._rounding import GENEROUS, INVERTIBLE_EXPONENT
from shiftdp.fdp.tradeoff import TradeoffFunction

_NEAR, _FAR = 2400, 400  # points of eps up to four times the upper bound, and beyond it
_REACH = 4.0  # times the upper bound: parts that are rare are asked for larger eps
_LEVELS = 800  # of q, or of x
_SMALLEST = 1e-4  # of delta: the least of them
_HALVINGS = 40  # of the interval in which epsilon is looked for
_LEAST = 1e-6  # the grid of a smaller epsilon is the one of this


def epsilon_from_below(
    components: Sequence[TradeoffFunction],
    weights: Array,
    shared: str,
    known: tuple[Array, Array],
    delta: float,
    high: float,
) -> float:
    """A number not above the exact epsilon at delta.

    Args:
        components: the parts.
        weights: their probabilities.
        shared: which measure all of them have.
        known: eps in rising order, and the certified delta of each part there.
        delta: where epsilon is asked for.
        high: an upper bound on it.
    """
    top = _REACH * max(high, _LEAST)
    near = np.linspace(0.0, top, _NEAR, endpoint=False)
    eps = np.append(near, np.geomspace(top, max(INVERTIBLE_EXPONENT, top), _FAR))
    # a lower bound on the right is one here, too
    low = np.array([f._delta_below(eps) for f in components])
    low = np.maximum.accumulate(low[:, ::-1], axis=1)[:, ::-1]
    if shared == "told":
        profile = weights @ low * (1.0 - GENEROUS)
        above = np.flatnonzero(profile > delta)
        return float(eps[above[-1]]) if above.size else 0.0
    levels = np.geomspace(_SMALLEST * delta, 1.0, _LEVELS)
    rows = zip(low, known[1], strict=True)
    powers = np.array([_power_below(eps, d, (known[0], up), levels) for d, up in rows])
    if shared == "second":
        first = np.append(0.0, levels)
        needed = [np.interp(levels, np.append(0.0, power), first) for power in powers]
        # what no test reaches is not asked for
        reached = levels <= float(np.min(powers[:, -1]))
        power, level = levels[reached], (weights @ np.array(needed))[reached]
    else:
        power, level = weights @ powers, levels
        if shared == "neither":
            at_most = _power_above(*known, levels)
            power = np.minimum(weights @ _best_integral(powers, at_most), 1.0 - levels)

    def surely_more(epsilon: float) -> bool:
        gamma = float(np.exp(epsilon))
        left = power * (1.0 - GENEROUS) - gamma * level * (1.0 + GENEROUS)
        return bool(float(np.max(left, initial=0.0)) > delta)

    return _last(surely_more, high)


def _last(holds: Callable[[float], bool], high: float) -> float:
    """By bisection: the end of the interval from 0 on which the predicate holds, at most `high`.

    The answer errs downwards, to where the predicate still holds; 0 if it never does.
    """
    return largest(holds, 0.0, high, _HALVINGS) if holds(0.0) else 0.0


def _power_below(eps: Array, low: Array, known: tuple[Array, Array], q: Array) -> Array:
    """F from below at each q."""
    gamma = np.exp(eps)
    above = np.interp(gamma[1:], np.exp(known[0]), known[1])  # chords of a convex function
    turn = min(1.0, max(0.0, float(np.max((low[0] - above) / np.expm1(eps[1:])))))
    floor = np.append(low[1:], 0.0)
    inside = np.append(q[q <= turn], turn)
    found = np.min(floor[:, None] + gamma[:, None] * inside, axis=0) * (1.0 - GENEROUS)
    last = float(found[-1])
    beyond = np.maximum(q, last) * (1.0 - GENEROUS)
    beyond[: inside.size - 1] = found[:-1]
    return np.minimum(np.maximum.accumulate(beyond), 1.0)


def _power_above(eps: Array, delta: Array, q: Array) -> Array:
    """F from above at each q, a row for each part."""
    lines = np.exp(eps)[:, None] * q
    return np.minimum(
        np.array([np.min(row[:, None] + lines, axis=0) for row in delta]) * (1.0 + GENEROUS), 1.0
    )


def _best_integral(low: Array, high: Array) -> Array:
    """F_i(0) + int_0^q max_{k <= i} F_k' from below, by part and q."""
    count = low.shape[0]
    allowed = np.where(np.tri(count, dtype=np.bool_), 0.0, -np.inf)  # k <= i
    value = low[:, 0]
    best = value[:, None] - high[:, 0] + allowed
    found = [value]
    for ends, begins in zip(low.T[1:], high.T[1:], strict=True):
        value = np.maximum(ends, np.max(best + ends, axis=1))
        best = np.maximum(best, value[:, None] - begins + allowed)
        found.append(value)
    return np.array(found).T
