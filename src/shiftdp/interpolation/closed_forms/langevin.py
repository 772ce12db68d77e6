"""Langevin Monte Carlo, its stationary law, and the exponential mechanism exp(-F).

LMC, `X <- X - eta grad F(X) + N(0, 2 eta I)`, is NoisyGD with n = 1 and sigma = sqrt(2 / eta); in
the units of the iterate `s = eta L`, `sd = sqrt(2 eta)`. Two constants are in use, and differ by a
factor 2: `sensitivity` is the Lipschitz constant of F - F', `lipschitz` that of F and of F'.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import Array, finite, number_in
from shiftdp._errors import UnmetHypothesis
from shiftdp._roots import most
from shiftdp._rounding import EIGHT_ROUNDINGS, round_up
from shiftdp.interpolation.closed_forms._shared import bounded, horizon, stationary_factor
from shiftdp.interpolation.closed_forms.gradient_descent import gd_proj_best

_BRACKET = (0.1, 2.0)  # around the only crossing of the two bounds that `pure_threshold` compares


def lmc(
    strong_convexity: float,
    smoothness: float,
    sensitivity: float,
    learning_rate: float,
    steps: float,
) -> float:
    """[BSA24, Prop lmc, before its constants are bounded] LMC after t steps, through gd-sc.

    mu = L sqrt(eta/2) sqrt((1-c^t)/(1+c^t) (1+c)/(1-c)), 1 - c = min(eta m, 2 - eta M). Wider than
    the proposition: any eta < 2/M.

    Args:
        strong_convexity: m > 0 of F and F'.
        smoothness: M of F and F'.
        sensitivity: L, the Lipschitz constant of F - F'.
        learning_rate: eta, in (0, 2/M).
        steps: t; `math.inf` gives the stationary law pi(eta).

    >>> round(lmc(1.0, 10.0, 1.0, 0.1, 5), 4), round(lmc(1.0, 10.0, 1.0, 0.1, math.inf), 4)
    (0.4946, 0.9747)
    """
    m, M, L, eta = _class(strong_convexity, smoothness, sensitivity, learning_rate)
    # Rounded down: the bound falls as 1 - c grows.
    decay = min(eta * m * (1.0 - EIGHT_ROUNDINGS), 2.0 - eta * M * (1.0 + EIGHT_ROUNDINGS))
    if decay <= 0.0:
        raise UnmetHypothesis(
            "learning_rate",
            eta,
            f"is not below 2/smoothness={2.0 / M:g}: the step is not a contraction",
            "lower it",
        )
    factor = stationary_factor(min(decay, 1.0), horizon("steps", steps))
    return round_up(L * math.sqrt(eta / 2.0 * factor))


def lmc_uniform(
    strong_convexity: float, smoothness: float, sensitivity: float, learning_rate: float
) -> float:
    """[BSA24, Prop lmc; Cor expmechsc, first part] mu = sqrt((2 - eta m)/2) L / sqrt(m).

    For LMC after any number of steps and for its stationary law; eta in (0, 2/(M+m)].

    >>> round(lmc_uniform(1.0, 10.0, 1.0, 0.1), 4)
    0.9747
    """
    m, M, L, eta = _class(strong_convexity, smoothness, sensitivity, learning_rate)
    if eta > 2.0 / (M + m) * (1.0 + EIGHT_ROUNDINGS):
        raise UnmetHypothesis(
            "learning_rate",
            eta,
            f"exceeds 2/(smoothness + strong_convexity)={2.0 / (M + m):g}",
            "lower it, or use lmc, which admits any learning rate below 2/smoothness",
        )
    return round_up(math.sqrt((2.0 - eta * m) / (2.0 * m)) * L)


def exponential_mechanism_sc(strong_convexity: float, sensitivity: float) -> float:
    """[BSA24, Cor expmechsc] exp(-F) against exp(-F'): mu = L / sqrt(m); attained by Gaussians.

    Args:
        strong_convexity: m > 0 of F and F'.
        sensitivity: L, the Lipschitz constant of F - F'.

    >>> round(exponential_mechanism_sc(4.0, 1.0), 6)
    0.5
    """
    m = finite("strong_convexity", strong_convexity, 0.0, open_low=True)
    return round_up(finite("sensitivity", sensitivity, 0.0) / math.sqrt(m))


def exponential_mechanism_convex(lipschitz: float, diameter: float) -> float:
    """[BSA24, Cor expmechconvex] exp(-F) on a convex body of diameter D: mu = 2 sqrt(L D).

    Here L is the Lipschitz constant of F and of F', both convex: F - F' has 2L.

    >>> round(exponential_mechanism_convex(1.0, 1.0), 6)
    2.0
    """
    L, D = finite("lipschitz", lipschitz, 0.0), bounded(diameter)
    return round_up(2.0 * math.sqrt(L) * math.sqrt(D))


def lmc_stationary_convex(
    lipschitz: float, diameter: float, smoothness: float, learning_rate: float
) -> float:
    """[BSA24, Cor expmechconvex] Stationary law of projected LMC: mu = sqrt(4 L D + 2 eta L^2).

    Args:
        lipschitz: L of F and of F', both convex.
        diameter: D, finite.
        smoothness: M of F and F'.
        learning_rate: eta, in (0, 2/M].

    >>> lmc_stationary_convex(1.0, 1.0, 4.0, 0.5) ** 2
    5.0000000000000...
    """
    L, D, eta = _constrained(lipschitz, diameter, smoothness, learning_rate)
    return round_up(math.sqrt(4.0 * L * D + 2.0 * eta * L * L))


def lmc_stationary_convex_best(
    lipschitz: float, diameter: float, smoothness: float, learning_rate: float
) -> float:
    """`lmc_stationary_convex` with the best whole number as window of cni-proj: never larger.

    >>> round(lmc_stationary_convex_best(1.0, 1.0, 4.0, 0.5) ** 2, 6)
    4.0
    """
    L, D, eta = _constrained(lipschitz, diameter, smoothness, learning_rate)
    return gd_proj_best(2.0 * eta * L, math.sqrt(2.0 * eta), D, math.inf)


def exponential_mechanism_pure_epsilon(lipschitz: float, diameter: float) -> float:
    """[MT07] The standard analysis of the exponential mechanism: (2 L D, 0)-DP.

    >>> round(exponential_mechanism_pure_epsilon(0.5, 1.0), 6)
    1.0
    """
    return round_up(2.0 * finite("lipschitz", lipschitz, 0.0) * bounded(diameter))


def pure_threshold() -> float:
    """[BSA24, §expmechnum] The L D up to which (2LD, 0)-DP is nowhere worse than G(2 sqrt(LD)).

    `f_eps >= G(mu)` iff `e^eps <= Phi(mu/2) / Phi(-mu/2)`; with eps = 2x, mu = 2 sqrt(x) the two
    sides meet at 0 and once more, at x = 0.676...; above that, neither bound contains the other.

    >>> round(pure_threshold(), 3)
    0.676
    """

    def pure_is_better(x: Array) -> NDArray[np.bool_]:
        root = np.sqrt(x)
        log_odds = scipy.special.log_ndtr(root) - scipy.special.log_ndtr(-root)
        return np.asarray(2.0 * x <= log_odds, dtype=np.bool_)

    low, high = _BRACKET
    return float(most(pure_is_better, np.array([low]), np.array([high]))[0])


def _class(m: float, M: float, L: float, eta: float) -> tuple[float, float, float, float]:
    low = number_in("strong_convexity", m, 0.0, open_high=True)
    if low == 0.0:
        raise UnmetHypothesis(
            "strong_convexity",
            low,
            "is 0: the bound asks for strongly convex F and F'",
            "add a ridge, or use the constrained convex bounds",
        )
    high = finite("smoothness", M, 0.0, open_low=True)
    if high < low:
        raise UnmetHypothesis(
            "smoothness", high, f"is below strong_convexity={low:g}", "give smoothness >= it"
        )
    return (
        low,
        high,
        finite("sensitivity", L, 0.0),
        finite("learning_rate", eta, 0.0, open_low=True),
    )


def _constrained(L: float, D: float, M: float, eta: float) -> tuple[float, float, float]:
    smooth = finite("smoothness", M, 0.0, open_low=True)
    rate = finite("learning_rate", eta, 0.0, open_low=True)
    if rate > 2.0 / smooth:
        raise UnmetHypothesis(
            "learning_rate",
            rate,
            f"exceeds 2/smoothness={2.0 / smooth:g}: the step is not contractive",
            "lower it",
        )
    return finite("lipschitz", L, 0.0), bounded(D), rate
