"""From Renyi and concentrated privacy to (epsilon, delta): the four formulas of [BSA24, app:rdp].

Each takes a curve `rho(order)`, an upper bound on the Renyi divergence of that order. Any order
gives a valid epsilon, so the search over orders cannot break the bound. For zCDP the curve is
`order -> rho order`; G(mu) has rho = mu^2/2 [BSA24, Lemma fdptordp].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp._roots import least

__all__ = [
    "RenyiConversion",
    "epsilon_asoodeh",
    "epsilon_balle",
    "epsilon_bun_steinke",
    "epsilon_mironov",
    "renyi_epsilon",
    "zcdp_epsilon",
    "zcdp_epsilons",
]

Curve = Callable[[float], float]

_ORDERS = 1.0 + np.geomspace(1e-3, 1e6, 400)
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_SECTIONS = 36


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


def epsilon_mironov(order: float, divergence: float, delta: float) -> float:
    """rho + log(1/delta)/(order - 1). [Mir17, Prop 3]"""
    return (divergence - math.log(delta) / (order - 1.0)) * (1 + 1e-15)


def epsilon_balle(order: float, divergence: float, delta: float) -> float:
    """rho + log((order-1)/order) - (log delta + log order)/(order - 1). [BBG20, Thm 20]"""
    loss, gain = math.log((order - 1.0) / order), -math.log(delta) / (order - 1.0)
    last = math.log(order) / (order - 1.0)
    # the terms cancel
    rounding = 1e-15 * (divergence - loss + gain + last)
    return max(0.0, divergence + loss + gain - last + rounding)


def epsilon_asoodeh(order: float, divergence: float, delta: float) -> float:
    """log(1 + (e^{(order-1) rho} - 1)/(order delta)) / (order - 1). [ALCKS21, Lemma 1]

    With r = dQ/dP: r^a - 1 - a(r - 1) >= a (g^{a-1} - 1)(r - g)_+ for g = e^eps, by convexity;
    taking expectations bounds delta by (e^{(a-1) rho} - 1) / (a (e^{(a-1) eps} - 1)).
    """
    exponent = (order - 1.0) * divergence
    if exponent == 0.0 or exponent == math.inf:
        return exponent
    # log((e^x - 1)/(order delta)), then log(1 + its exponential), which never overflows
    log_ratio = exponent + math.log(-math.expm1(-exponent)) - math.log(order) - math.log(delta)
    if log_ratio > 0.0:
        excess = log_ratio + math.log1p(math.exp(-log_ratio))
    else:
        excess = math.log1p(math.exp(log_ratio))
    rounding = 2e-15 * (3.0 + exponent + math.log(order) - math.log(delta))
    return (excess + rounding * min(1.0, excess)) / (order - 1.0)


def epsilon_bun_steinke(rho: float, delta: float) -> float:
    """For rho-zCDP: delta = exp(-(eps-rho)^2/(4 rho)) min{1, sqrt(pi rho), 1/x, 2/(x + ...)}.

    [BS16, Lemma 3.5], with x = 1 + (eps-rho)/(2 rho): the tail bound, integrated, and the usual
    bounds on the Mills ratio of the integral.
    """
    if rho == 0.0:
        return 0.0

    def log_delta(epsilon: float) -> float:
        x = 1.0 + (epsilon - rho) / (2.0 * rho)
        factor = min(
            1.0,
            math.sqrt(math.pi * rho),
            1.0 / x,
            2.0 / (x + math.sqrt(x * x + 4 / (math.pi * rho))),
        )
        return -(((epsilon - rho) / (2.0 * math.sqrt(rho))) ** 2) + math.log(max(factor, 5e-324))

    # less than log(delta) by more than the rounding of log_delta
    goal = math.log(delta) * (1 + 2e-15) - 2e-15
    high = rho + 2.0 * math.sqrt(rho) * math.sqrt(-goal) * (1 + 1e-14)
    found = least(
        lambda e: np.array([log_delta(float(e[0])) <= goal]), np.array([rho]), np.array([high])
    )
    return float(found[0])


def renyi_epsilon(curve: Curve, delta: float) -> RenyiConversion:
    """The least epsilon over all orders, formula by formula.

    >>> round(renyi_epsilon(lambda order: 0.5 * order, 1e-5).epsilon, 4)
    4.7284
    """
    delta = number_in("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    return RenyiConversion(
        mironov=_best(epsilon_mironov, curve, delta),
        balle=_best(epsilon_balle, curve, delta),
        asoodeh=_best(epsilon_asoodeh, curve, delta),
        bun_steinke=None,
    )


def zcdp_epsilon(rho: float, delta: float) -> RenyiConversion:
    """All four formulas for a mechanism with D_order <= rho order for every order > 1.

    >>> round(zcdp_epsilon(0.5, 1e-5).bun_steinke, 4)
    4.9273
    """
    rho = finite("rho", rho, 0.0)
    by_order = renyi_epsilon(lambda order: rho * order, delta)
    return RenyiConversion(
        by_order.mironov, by_order.balle, by_order.asoodeh, epsilon_bun_steinke(rho, delta)
    )


def zcdp_epsilons(rho: Array, delta: float) -> Array:
    """`zcdp_epsilon(rho, delta).epsilon` of many rho at once.

    Only orders near 1 + sqrt(log(1/delta)/rho) are looked at: any gives a valid epsilon. Mironov's
    formula is never below that of Balle and others.

    >>> zcdp_epsilons(np.array([0.0, 0.5]), 1e-5).round(4).tolist()
    [0.0, 4.7284]
    """
    delta = number_in("delta", delta, 0.0, 1.0, open_low=True, open_high=True)
    safe = np.where((rho > 0.0) & np.isfinite(rho), rho, 1.0)
    best = _bun_steinke(safe, delta)
    centre = 0.5 * (math.log(-math.log(delta)) - np.log(safe))
    for formula in (_balle, _asoodeh):
        low, high = centre - 3.0, centre + 3.0
        for _ in range(_SECTIONS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            orders = 1.0 + np.exp(left), 1.0 + np.exp(right)
            one, two = (formula(order, safe * order, delta) for order in orders)
            best = np.minimum(best, np.minimum(one, two))
            low, high = np.where(one < two, low, left), np.where(one < two, right, high)
    return np.where(rho == 0.0, 0.0, np.where(np.isfinite(rho), np.maximum(best, 0.0), math.inf))


def _balle(order: Array, divergence: Array, delta: float) -> Array:
    """`epsilon_balle`."""
    loss, gain = np.log((order - 1.0) / order), -math.log(delta) / (order - 1.0)
    last = np.log(order) / (order - 1.0)
    rounding = 2e-15 * (divergence - loss + gain + last)
    return np.asarray(np.maximum(0.0, divergence + loss + gain - last + rounding))


def _asoodeh(order: Array, divergence: Array, delta: float) -> Array:
    """`epsilon_asoodeh`, for divergences > 0."""
    exponent = (order - 1.0) * divergence
    log_order = np.log(order)
    log_ratio = exponent + np.log(-np.expm1(-exponent)) - log_order - math.log(delta)
    excess = np.maximum(log_ratio, 0.0) + np.log1p(np.exp(-np.abs(log_ratio)))
    excess = np.where(log_ratio > 0.0, excess, np.log1p(np.exp(np.minimum(log_ratio, 0.0))))
    rounding = 4e-15 * (3.0 + exponent + log_order - math.log(delta))
    return np.asarray((excess + rounding * np.minimum(1.0, excess)) / (order - 1.0))


def _bun_steinke(rho: Array, delta: float) -> Array:
    """`epsilon_bun_steinke`."""
    goal = math.log(delta) * (1 + 4e-15) - 4e-15

    def enough(epsilon: Array) -> NDArray[np.bool_]:
        x = 1.0 + (epsilon - rho) / (2.0 * rho)
        root = 2.0 / (x + np.sqrt(x * x + 4 / (math.pi * rho)))
        factor = np.minimum(np.minimum(1.0, np.sqrt(math.pi * rho)), np.minimum(1.0 / x, root))
        tail = ((epsilon - rho) / (2.0 * np.sqrt(rho))) ** 2
        return np.asarray(np.log(np.maximum(factor, 5e-324)) - tail <= goal)

    return least(enough, rho, rho + 2.0 * np.sqrt(rho) * math.sqrt(-goal) * (1 + 1e-14))


def _best(formula: Callable[[float, float, float], float], curve: Curve, delta: float) -> float:
    """The least value over orders: a scan, then golden section around its best point."""

    def at(order: float) -> float:
        divergence = curve(order)
        if divergence < 0:
            raise InvalidInput(
                "curve", (order, divergence), "is negative", "give an upper bound on a divergence"
            )
        # an order without a bound says nothing
        return math.inf if math.isnan(divergence) else formula(order, divergence, delta)

    values = [at(float(order)) for order in _ORDERS]
    i = int(np.argmin(values))
    low = math.log(_ORDERS[max(i - 1, 0)] - 1.0)
    high = math.log(_ORDERS[min(i + 1, _ORDERS.size - 1)] - 1.0)
    best = values[i]
    for _ in range(60):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = at(1.0 + math.exp(left)), at(1.0 + math.exp(right))
        best = min(best, at_left, at_right)
        if at_left < at_right:
            high = right
        else:
            low = left
    return max(0.0, best)
