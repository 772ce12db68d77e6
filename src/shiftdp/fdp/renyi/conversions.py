"""From Renyi and concentrated privacy to (epsilon, delta): the four formulas of [BSA24, app:rdp].

Each takes a curve `rho(order)`, an upper bound on the Renyi divergence of that order. Any order
gives a valid epsilon, so the search over orders cannot break the bound. For zCDP the curve is
`order -> rho order`; G(mu) has rho = mu^2/2 [BSA24, Lemma fdptordp].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp._roots import least, peak
from shiftdp._rounding import EIGHTEEN_ROUNDINGS, LEAST_FLOAT, NINE_ROUNDINGS, THIRTY_SIX_ROUNDINGS

Curve = Callable[[float], float]

Numbers = float | Array
Formula = Callable[[Numbers, Numbers, float], Array]

_ORDERS = 1.0 + np.geomspace(1e-3, 1e6, 400)  # scanned; the best is between two neighbours
_SECTIONS = 36  # golden sections leave 3e-8 of an interval, and epsilon feels the square of that
_WINDOW = 3.0  # log of 20: how far from its approximation the best order is looked for


@dataclass(frozen=True)
class RenyiConversion:
    """What each formula gives; `epsilon` is the least of them, which papers report as "RDP"."""

    mironov: float
    balle: float
    asoodeh: float
    bun_steinke: float | None

    @property
    def epsilon(self) -> float:
        values = (self.mironov, self.balle, self.asoodeh, self.bun_steinke)
        return min(value for value in values if value is not None)


def epsilon_mironov(order: Numbers, divergence: Numbers, delta: float) -> Array:
    """rho + log(1/delta)/(order - 1). [Mir17, Prop 3]"""
    return np.asarray((divergence - math.log(delta) / (order - 1.0)) * (1.0 + NINE_ROUNDINGS))


def epsilon_balle(order: Numbers, divergence: Numbers, delta: float) -> Array:
    """rho + log((order-1)/order) - (log delta + log order)/(order - 1). [BBG20, Thm 20]"""
    loss, gain = np.log((order - 1.0) / order), -math.log(delta) / (order - 1.0)
    last = np.log(order) / (order - 1.0)
    # the terms cancel
    rounding = EIGHTEEN_ROUNDINGS * (divergence - loss + gain + last)
    return np.asarray(np.maximum(0.0, divergence + loss + gain - last + rounding))


def epsilon_asoodeh(order: Numbers, divergence: Numbers, delta: float) -> Array:
    """log(1 + (e^{(order-1) rho} - 1)/(order delta)) / (order - 1). [ALCKS21, Lemma 1]

    With r = dQ/dP: r^a - 1 - a(r - 1) >= a (g^{a-1} - 1)(r - g)_+ for g = e^eps, by convexity;
    taking expectations bounds delta by (e^{(a-1) rho} - 1) / (a (e^{(a-1) eps} - 1)).
    """
    with np.errstate(divide="ignore", over="ignore"):
        exponent, log_order = np.multiply(order - 1.0, divergence), np.log(order)
        # log((e^x - 1)/(order delta)), then log(1 + its exponential), which never overflows
        log_ratio = exponent + np.log(-np.expm1(-exponent)) - log_order - math.log(delta)
    excess = np.logaddexp(0.0, log_ratio)
    rounding = THIRTY_SIX_ROUNDINGS * (3.0 + exponent + log_order - math.log(delta))
    return np.asarray((excess + rounding * np.minimum(1.0, excess)) / (order - 1.0))


def epsilon_bun_steinke(rho: Array, delta: float) -> Array:
    """For rho-zCDP: delta = exp(-(eps-rho)^2/(4 rho)) min{1, sqrt(pi rho), 1/x, 2/(x + ...)}.

    [BS16, Lemma 3.5], with x = 1 + (eps-rho)/(2 rho): the tail bound, integrated, and the usual
    bounds on the Mills ratio of the integral. For rho > 0.
    """
    # less than log(delta) by more than the rounding of its two sides
    goal = math.log(delta) * (1.0 + THIRTY_SIX_ROUNDINGS) - THIRTY_SIX_ROUNDINGS

    def enough(epsilon: Array) -> NDArray[np.bool_]:
        x = 1.0 + (epsilon - rho) / (2.0 * rho)
        root = 2.0 / (x + np.sqrt(x * x + 4.0 / (math.pi * rho)))
        factor = np.minimum(np.minimum(1.0, np.sqrt(math.pi * rho)), np.minimum(1.0 / x, root))
        tail = ((epsilon - rho) / (2.0 * np.sqrt(rho))) ** 2
        return np.asarray(np.log(np.maximum(factor, LEAST_FLOAT)) - tail <= goal)

    with np.errstate(over="ignore"):
        high = rho + 2.0 * np.sqrt(rho) * math.sqrt(-goal) * (1.0 + THIRTY_SIX_ROUNDINGS)
        return least(enough, rho, high)


def renyi_epsilon(curve: Curve, *, delta: float) -> RenyiConversion:
    """The least epsilon over all orders, formula by formula.

    >>> round(renyi_epsilon(lambda order: 0.5 * order, delta=1e-5).epsilon, 4)
    4.7284
    """
    delta = number_in("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    divergences = _divergences(curve, _ORDERS)
    mironov, balle, asoodeh = (
        _best(formula, curve, divergences, delta)
        for formula in (epsilon_mironov, epsilon_balle, epsilon_asoodeh)
    )
    return RenyiConversion(mironov, balle, asoodeh, bun_steinke=None)


def zcdp_epsilon(rho: float, *, delta: float) -> RenyiConversion:
    """All four formulas for a mechanism with D_order <= rho order for every order > 1.

    >>> round(zcdp_epsilon(0.5, delta=1e-5).bun_steinke, 4)
    4.9273
    """
    rho = finite("rho", rho, 0.0)
    by_order = renyi_epsilon(lambda order: rho * order, delta=delta)
    last = float(epsilon_bun_steinke(np.array([rho]), delta)[0]) if rho > 0.0 else 0.0
    return replace(by_order, bun_steinke=last)


def zcdp_epsilons(rho: Array, delta: float) -> Array:
    """`zcdp_epsilon(rho, delta=delta).epsilon` of many rho at once.

    Only orders near 1 + sqrt(log(1/delta)/rho) are looked at: any gives a valid epsilon. Mironov's
    formula is never below that of Balle and others.

    >>> zcdp_epsilons(np.array([0.0, 0.5]), 1e-5).round(4).tolist()
    [0.0, 4.7284]
    """
    delta = number_in("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    safe = np.where((rho > 0.0) & np.isfinite(rho), rho, 1.0)
    best = epsilon_bun_steinke(safe, delta)
    centre = 0.5 * (math.log(-math.log(delta)) - np.log(safe))
    for formula in (epsilon_balle, epsilon_asoodeh):

        def at(order: Array, formula: Formula = formula) -> Array:
            return formula(order, safe * order, delta)

        best = np.minimum(best, _golden(at, centre - _WINDOW, centre + _WINDOW))
    return np.where(rho == 0.0, 0.0, np.where(np.isfinite(rho), np.maximum(best, 0.0), math.inf))


def _divergences(curve: Curve, orders: Array) -> Array:
    """The curve at each order; an order without a bound says nothing."""
    values = [curve(order) for order in orders.tolist()]
    for order, divergence in zip(orders.tolist(), values, strict=True):
        if divergence < 0:
            raise InvalidInput(
                "curve", (order, divergence), "is negative", "give an upper bound on a divergence"
            )
    return np.array([math.inf if math.isnan(value) else value for value in values])


def _best(formula: Formula, curve: Curve, divergences: Array, delta: float) -> float:
    """The least value over orders: a scan, then golden sections around its best point."""
    values = formula(_ORDERS, divergences, delta)
    i = int(np.argmin(values))
    low, high = np.log(_ORDERS[[max(i - 1, 0), min(i + 1, _ORDERS.size - 1)]] - 1.0)

    def at(order: Array) -> Array:
        return formula(order, _divergences(curve, order.ravel()).reshape(order.shape), delta)

    found = _golden(at, np.array([low]), np.array([high]))
    return max(0.0, min(float(values[i]), float(found[0])))


def _golden(at: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The least value that is met on the way to a minimum over log(order - 1)."""
    return -peak(lambda u: -at(1.0 + np.exp(u)), low, high, _SECTIONS)
