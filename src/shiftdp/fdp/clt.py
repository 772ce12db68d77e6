"""The central limit theorem of subsampled composition: an approximation, never a bound."""

from __future__ import annotations

import math

from shiftdp._checks import count, finite, number_in
from shiftdp._kinds import Uncertified
from shiftdp.fdp.gaussian import GaussianTradeoff

__all__ = ["subsampled_clt"]


def subsampled_clt(p: float, mu: float, t: int) -> Uncertified[GaussianTradeoff]:
    """C_p(G(mu))^t is near G(p sqrt(2 t) sqrt(e^{mu^2} Phi(1.5 mu) + 3 Phi(-.5 mu) - 2)).

    [BSA24, Lemma clt], exact only as t -> infinity with p sqrt(t) fixed.

    >>> round(subsampled_clt(0.025, 2 / 3, 2000).value.mu, 2)
    1.03
    """
    p = number_in("p", p, 0.0, 1.0)
    mu = finite("mu", mu, 0.0)
    t = count("t", t, 0)
    limit = math.sqrt(2.0 * t) * p * math.sqrt(_variance(mu))
    return Uncertified(GaussianTradeoff(limit), "approximation", "CLT, [BSA24, Lemma clt]")


def _variance(mu: float) -> float:
    """e^{mu^2} Phi(1.5 mu) + 3 Phi(-mu/2) - 2, about mu^2/2 for small mu."""
    try:
        growth = math.expm1(mu * mu)
    except OverflowError:
        return math.inf
    root = math.sqrt(2.0)
    # with Phi(x) = (1 + erf(x/sqrt 2))/2 the constants cancel exactly
    erf_difference = math.erf(1.5 * mu / root) - 3.0 * math.erf(0.5 * mu / root)
    return 0.5 * growth * (1.0 + math.erf(1.5 * mu / root)) + 0.5 * erf_difference
