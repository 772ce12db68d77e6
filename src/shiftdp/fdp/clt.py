"""The central limit theorem of subsampled composition: an approximation, never a bound."""

from __future__ import annotations

import math

from shiftdp._checks import count, finite, number_in
from shiftdp._kinds import Uncertified
from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.fdp.functions.gaussian import GaussianTradeoff

_SMALL_MU = 0.03  # below, terms that are linear in mu would cancel; the series is right to 1e-15
_SERIES = (0.5, 3 / 16, 13 / 256, 205 / 18432)  # its coefficients, in powers of -mu^2


def subsampled_clt(p: float, mu: float, t: int) -> Uncertified[GaussianTradeoff]:
    """C_p(G(mu))^t is near G(p sqrt(2 t) sqrt(e^{mu^2} Phi(1.5 mu) + 3 Phi(-.5 mu) - 2)).

    [BSA24, Lemma clt], exact only as t -> infinity with p sqrt(t) fixed.

    >>> round(subsampled_clt(0.025, 2 / 3, 2000).value.mu, 2)
    1.03
    """
    p = number_in("p", p, 0.0, 1.0)
    mu = finite("mu", mu, 0.0)
    t = count("t", t, 0)
    scale = math.sqrt(2.0 * number_in("t", t, 0.0, LARGEST_WHOLE)) * p
    limit = scale * math.sqrt(_variance(mu)) if scale > 0 else 0.0
    return Uncertified(GaussianTradeoff(limit), "approximation", "CLT, [BSA24, Lemma clt]")


def _variance(mu: float) -> float:
    """e^{mu^2} Phi(1.5 mu) + 3 Phi(-mu/2) - 2, about mu^2/2 for small mu."""
    try:
        growth = math.expm1(mu * mu)
    except OverflowError:
        return math.inf
    erf = math.erf(1.5 * mu / math.sqrt(2.0))
    # with Phi(x) = (1 + erf(x/sqrt 2))/2 the constants cancel exactly, and so do the terms that
    # are linear in mu: those of the next orders are summed
    if mu < _SMALL_MU:
        square = mu * mu
        first, second, third, fourth = _SERIES
        odd = first - square * (second - square * (third - square * fourth))
        half_difference = -mu * square / math.sqrt(2.0 * math.pi) * odd
    else:
        half_difference = 0.5 * (erf - 3.0 * math.erf(0.5 * mu / math.sqrt(2.0)))
    return 0.5 * growth * (1.0 + erf) + half_difference
