"""From counts of an event to lower bounds on epsilon and mu that hold with a stated confidence.

An event E is fixed before it is counted: `hits` of `tried` outputs of one data set are in it, and
`alarms` of `tried_without` outputs of its neighbour. Each count is binomial, so that the one-sided
bounds of [Clopper 1934] at risk r/2 each hold together with probability 1 - r:

    P(E) >= p := Beta^-1(r/2; hits, tried - hits + 1),
    Q(E) <= q := Beta^-1(1 - r/2; alarms + 1, tried_without - alarms).

On that event *all* of the following hold, for one r: a mechanism that is (eps, delta)-DP has
`P(E) <= e^eps Q(E) + delta`, and the same for the complement with P and Q exchanged, so

    eps >= max( log((p - delta) / q), log((1 - q - delta) / (1 - p)) );

one that is mu-GDP has `mu >= Phi^-1(p) - Phi^-1(q)`; and one that is f-DP has `f(q) <= 1 - p`. The
bounds are one-sided: nothing is said of how much more may leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import Array, count, number_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import AMPLE, GENEROUS
from shiftdp.fdp import TradeoffFunction

Counts = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Rates:
    """How often an event was seen with one data set, and with its neighbour.

    Args:
        hits: how often with the first.
        tried: outputs of the first.
        alarms: how often with the second.
        tried_without: outputs of the second.
    """

    hits: int
    tried: int
    alarms: int
    tried_without: int

    def __post_init__(self) -> None:
        for many, few in (("tried", "hits"), ("tried_without", "alarms")):
            total = count(many, getattr(self, many), 1)
            if count(few, getattr(self, few)) > total:
                raise InvalidInput(
                    few, getattr(self, few), f"exceeds {many}={total}", "count each output once"
                )

    def bounds(self, confidence: float) -> tuple[float, float]:
        """p below P(E) and q above Q(E), together with this confidence; rounded outwards.

        >>> p, q = Rates(900, 1000, 100, 1000).bounds(0.95)
        >>> round(p, 3), round(q, 3)
        (0.88, 0.12)
        """
        confidence = number_in("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True)
        hits, alarms = np.array([self.hits]), np.array([self.alarms])
        p, q = rate_bounds(hits, self.tried, alarms, self.tried_without, confidence)
        return float(p[0]), float(q[0])


def rate_bounds(
    hits: Counts, tried: int, alarms: Counts, tried_without: int, confidence: float
) -> tuple[Array, Array]:
    """`Rates.bounds` for each of many events, given by arrays of their hits and alarms.

    The confidence is that of one event chosen beforehand, not of all of them together.
    """
    risk = (1.0 - confidence) / 2.0
    high = 1.0 - binomial_low(tried_without - alarms, tried_without, risk)
    return binomial_low(hits, tried, risk), np.minimum(1.0, high * (1.0 + AMPLE))


def binomial_low(k: Counts, n: int, risk: float) -> Array:
    """The lower bounds of Clopper and Pearson on probabilities, one-sided: wrong with `risk`.

    >>> binomial_low(np.array([5, 0]), 10, 0.05).round(4)
    array([0.2224, 0.    ])
    """
    from scipy.special import betaincinv

    found = betaincinv(np.maximum(k, 1), n - k + 1, risk) * (1.0 - GENEROUS)
    return np.where(k > 0, found, 0.0)


def epsilon_of(p: Array, q: Array, delta: float) -> Array:
    """The least epsilon at this delta that goes with P(E) >= p and Q(E) <= q; 0 or more."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (
            np.where(gained > 0.0, np.log(np.maximum(gained, 0.0)) - np.log(paid), 0.0)
            for gained, paid in ((p - delta, q), (1.0 - q - delta, 1.0 - p))
        )
    return np.asarray(np.maximum(np.maximum(one, other), 0.0))


def mu_of(p: Array, q: Array) -> Array:
    """The least mu that goes with P(E) >= p and Q(E) <= q; 0 or more."""
    from scipy.special import ndtri

    known = (p > 0.0) & (q < 1.0)
    apart = ndtri(np.where(known, p, 0.5)) - ndtri(np.where(known, q, 0.5))
    return np.asarray(np.maximum(apart, 0.0))


def lower_epsilon(rates: Rates, *, delta: float, confidence: float) -> float:
    """No smaller epsilon holds at this delta, with this confidence; 0 if nothing was found.

    >>> round(lower_epsilon(Rates(900, 1000, 100, 1000), delta=1e-5, confidence=0.95), 2)
    1.99
    """
    p, q = rates.bounds(confidence)
    return float(epsilon_of(np.array(p), np.array(q), delta))


def lower_mu(rates: Rates, *, confidence: float) -> float:
    """No smaller mu holds, with this confidence; 0 if nothing was found.

    >>> round(lower_mu(Rates(900, 1000, 100, 1000), confidence=0.95), 2)
    2.35
    """
    p, q = rates.bounds(confidence)
    return float(mu_of(np.array(p), np.array(q)))


def contradicts(f: TradeoffFunction, rates: Rates, *, confidence: float) -> bool:
    """Whether the counts rule out that the mechanism is f-DP, with this confidence.

    Of an f that tells the two data sets apart both directions are asked, as an auditor need not
    know which of them is which.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> seen = Rates(900, 1000, 100, 1000)
    >>> [contradicts(GaussianTradeoff(mu), seen, confidence=0.95) for mu in (2.0, 2.5)]
    [True, False]
    """
    p, q = rates.bounds(confidence)
    sides = (f,) if f.symmetric else (f, f.inverse())
    least = min(float(np.asarray(side(q))) for side in sides)
    return least > (1.0 - p) * (1.0 + AMPLE)
