"""Epsilon of many mixtures of Gaussians at once, each certified by its own profile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from shiftdp._checks import Array
from shiftdp._roots import regula_falsi
from shiftdp._rounding import GENEROUS, LEAST_FLOAT, NOT_ZERO, THREE_ROUNDINGS, scaled_up
from shiftdp.fdp.functions.gaussian import GaussianTradeoff, gaussian_profiles
from shiftdp.fdp.functions.mixture import Mixture
from shiftdp.fdp.pairs.gaussian_profile import gaussian_epsilon_array
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["is_gaussian_mixture", "mixture_epsilons"]

_RELATIVE = 1e-12  # the width of the bracket, as a part of epsilon, with which the search ends
_MOST_STEPS = 60  # what is not found by then is left to bisection


def is_gaussian_mixture(f: TradeoffFunction) -> TypeGuard[Mixture]:
    """Whether f is a mixture of Gaussians, none of which leaks everything."""
    return isinstance(f, Mixture) and all(
        isinstance(part, GaussianTradeoff) and part.mu < math.inf for part in f.components
    )


def mixture_epsilons(mixtures: Sequence[Mixture], delta: float) -> Array:
    """`f.epsilon(delta)` of mixtures of Gaussians, to a relative 1e-12 above.

    Regula falsi on log delta between 0 and the epsilon of the worst part, all mixtures in step;
    what is returned has delta(eps) <= delta.

    >>> f = Mixture([GaussianTradeoff(0.5), GaussianTradeoff(1.0)])
    >>> float(mixture_epsilons([f], 1e-5)[0]).__round__(6)
    4.212444
    """
    parts = [np.array([part.mu for part in f.components]) for f in mixtures]  # type: ignore[attr-defined]
    weights = np.concatenate([f.weights for f in mixtures])
    sizes = np.array([part.size for part in parts])
    starts, mu = np.append(0, np.cumsum(sizes)[:-1]), np.concatenate(parts)
    up = 1.0 + THREE_ROUNDINGS * (4.0 + sizes)

    def profile(epsilon: Array) -> Array:
        """delta(eps_i) of the i-th mixture, rounded up as by itself."""
        each = gaussian_profiles(mu, np.repeat(epsilon, sizes)[:, None])[:, 0]
        return np.asarray(np.add.reduceat(scaled_up(weights, each), starts) * up)

    worst = np.maximum.reduceat(mu, starts)
    low = np.zeros(len(mixtures))
    high = gaussian_epsilon_array(worst, np.full(low.shape, delta)) * (1.0 + GENEROUS) + NOT_ZERO

    def excess(epsilon: Array) -> Array:
        """log(delta(eps) / delta), with the exact sign even where the logarithm rounds to 0."""
        reached = profile(epsilon)
        with np.errstate(divide="ignore"):
            value = np.log(reached) - math.log(delta)
        return np.where(reached <= delta, np.minimum(value, 0.0), np.maximum(value, LEAST_FLOAT))

    epsilon, found = regula_falsi(excess, low, high, _RELATIVE, _MOST_STEPS)
    for i in np.flatnonzero(~found).tolist():  # too small for the method
        epsilon[i] = mixtures[i].epsilon(delta)
    return epsilon
