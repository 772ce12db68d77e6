"""Convex duality between a tradeoff function and its privacy profile. [DRS22, Prop 5 and 6]

    delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha
    f(alpha)   = sup_eps   1 - delta(eps) - e^eps alpha

A supremum that is searched for numerically comes out too small. In the second line this is the
private side, so f is *certified* whatever the search does; in the first it is not, so a profile is
computed from f only for piecewise linear f, where the supremum is a maximum over the knots.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftdp._checks import Array
from shiftdp._roots import peak
from shiftdp._rounding import (
    GENEROUS,
    NINE_ROUNDINGS,
    NOT_ZERO,
    SEVEN_ROUNDINGS,
    THREE_ROUNDINGS,
    complement_down,
)

if TYPE_CHECKING:
    from shiftdp.fdp.tradeoff import TradeoffFunction

Profile = Callable[[Array], Array]

_WIDEST = 709.0  # beyond it exp overflows
_SHRINKINGS = 80  # of a golden-section search: 0.618^80 = 2e-17
_TABLE = 256  # points between which slopes are taken
# Deltas below the floor need not be known: it is this part of the rarest alpha asked for, between
# what is lost when subtracted from 1 and what no curve shows.
_FLOOR_PART, _LEAST_FLOOR, _LARGEST_FLOOR = 1e-4, 1e-19, 1e-12
_SCAN = np.geomspace(1e-9, _WIDEST, 96)  # epsilons at which the end of a profile is looked for


def tradeoff_from_profile(delta: Profile, inverse_delta: Profile, alpha: Array) -> Array:
    """f(alpha) = sup_eps 1 - delta(eps) - e^eps alpha, from the profiles of f and of f^-1.

    For eps = -e < 0 the objective is e^-e (1 - delta_{f^-1}(e) - alpha), which keeps its digits.
    Either part is concave in e^eps, so it has one hump, and golden-section search finds it.

    >>> from shiftdp.fdp.pairs.gaussian_arrays import gaussian_delta_array
    >>> profile = lambda epsilon: gaussian_delta_array(np.array(1.0), epsilon)
    >>> print(tradeoff_from_profile(profile, profile, np.array([0.1])).round(9))
    [0.61085631]
    """

    def steep(e: Array) -> Array:
        return _steep(e, delta(e), alpha)

    def flat(e: Array) -> Array:
        return _flat(e, inverse_delta(e), alpha)

    # where an objective cannot exceed what is known already: e^e alpha > 1, e^-e < flat(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.maximum(flat(np.zeros(alpha.shape)), 0.0)
        reach = np.where(alpha > 0.0, np.minimum(-np.log(alpha), _WIDEST), 0.0)
        reach_flat = np.minimum(-np.log(start), _WIDEST)
    return _finished(np.maximum(_hump(steep, reach), _hump(flat, reach_flat)), delta, alpha)


def tradeoff_from_smooth_profile(delta: Profile, inverse_delta: Profile, alpha: Array) -> Array:
    """`tradeoff_from_profile` for many alpha at once; profiles are smooth but at eps = 0.

    The line of eps touches f at alpha = P(loss > eps), and the line of -eps at
    1 - alpha = Q(loss > eps) of the loss of the inverse. Both probabilities are tabulated by
    differences of the profile, so the best eps for an alpha is interpolated. Near the maximum an
    error in eps costs f only its square.

    >>> from shiftdp.fdp.pairs.gaussian_arrays import gaussian_delta_array
    >>> profile = lambda epsilon: gaussian_delta_array(np.array(1.0), epsilon)
    >>> print(tradeoff_from_smooth_profile(profile, profile, np.array([0.1])).round(9))
    [0.61085631]
    """
    forth = _Table.of(delta)
    back = forth if inverse_delta is delta else _Table.of(inverse_delta)
    steep, flat = forth.where(forth.p_tail, alpha), back.where(back.q_tail, 1.0 - alpha)
    # at 0 both lines are the same
    best = 1.0 - min(float(forth.delta[0]), float(back.delta[0])) - alpha - SEVEN_ROUNDINGS
    for e, profile, line in ((steep, delta, _steep), (flat, inverse_delta, _flat)):
        here = e > 0.0
        if here.any():
            found = line(e[here], profile(e[here]), alpha[here])
            best[here] = np.maximum(best[here], found)
    return _finished(best, delta, alpha)


def smooth_tradeoff(f: TradeoffFunction, alpha: Array) -> Array:
    """f(alpha) from the smooth profile of f, which is not computed where it is negligible."""
    rarer = np.minimum(alpha, 1.0 - alpha)
    floor = max(_LEAST_FLOOR, _FLOOR_PART * float(rarer.min(where=rarer > 0.0, initial=1.0)))
    floor = min(floor, _LARGEST_FLOOR)
    back = f.inverse()

    def forth(e: Array) -> Array:
        return f._delta_or(e, np.full(e.shape, floor))

    def other(e: Array) -> Array:
        return back._delta_or(e, np.full(e.shape, floor))

    return tradeoff_from_smooth_profile(forth, forth if f.symmetric else other, alpha)


@dataclass(frozen=True, eq=False)
class _Table:
    """A profile at points from 0 to where it ends, and P and Q(loss > eps) between them."""

    delta: Array
    middle: Array
    p_tail: Array
    q_tail: Array
    end: float

    @classmethod
    def of(cls, profile: Profile) -> _Table:
        seen = profile(_SCAN)
        last = int(np.argmax(seen <= seen[-1] * (1 + GENEROUS)))
        end = float(_SCAN[last])
        e = end * np.linspace(0.0, 1.0, _TABLE) ** 1.5
        delta, gamma = profile(e), np.exp(e)
        p_tail = np.maximum((delta[:-1] - delta[1:]) / (gamma[1:] - gamma[:-1]), 0.0)
        middle = 0.5 * (e[1:] + e[:-1])
        q_tail = 0.5 * (delta[1:] + delta[:-1]) + np.exp(middle) * p_tail
        return cls(delta, middle, p_tail, q_tail, end)

    def where(self, tail: Array, goal: Array) -> Array:
        """The eps at which a tail probability, which decreases in eps, equals the goal."""
        with np.errstate(divide="ignore"):
            level = np.maximum.accumulate(np.log(np.maximum(tail, NOT_ZERO))[::-1])
            found: Array = np.interp(np.log(goal), level, self.middle[::-1], self.end, 0.0)
        return found


# --- lines below f, lowered by more than their rounding errors ---


def _steep(e: Array, delta: Array, alpha: Array) -> Array:
    """The line 1 - delta(e) - e^e alpha below f, for eps = e >= 0."""
    return np.asarray(1.0 - delta - np.exp(e) * alpha * (1 + NINE_ROUNDINGS) - THREE_ROUNDINGS)


def _flat(e: Array, inverse_delta: Array, alpha: Array) -> Array:
    """The line 1 - delta(-e) - e^-e alpha below f, from the profile of f^-1 at e >= 0."""
    return np.asarray(np.exp(-e) * (1.0 - inverse_delta - alpha - SEVEN_ROUNDINGS))


def _finished(best: Array, delta: Profile, alpha: Array) -> Array:
    """The supremum over eps: at alpha = 0 it is the limit for eps -> infinity, 1 - delta(inf)."""
    last = np.minimum(delta(np.full(alpha.shape, math.inf)), 1.0)
    best = np.where(alpha == 0.0, complement_down(last), best)
    return np.clip(best, 0.0, complement_down(alpha))


def _hump(objective: Profile, reach: Array) -> Array:
    """The largest value found of a function with one hump on [0, reach]."""
    return peak(objective, np.zeros(reach.shape), np.maximum(reach, 0.0), _SHRINKINGS)
