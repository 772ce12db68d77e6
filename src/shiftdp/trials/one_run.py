"""One run, many canaries: the bound of Steinke, Nasr and Jagielski.

A fair coin S_i in {-1, 1} decides, for each of m canaries and independently, which of two versions
is in the data. After training the auditor guesses some T_i in {-1, 1} from the model, at most r of
them, r being fixed beforehand. If training is (eps, delta)-DP, then for every v

    P( #{i : T_i = S_i} >= v ) <= beta + 2 m delta alpha,
    beta  = P( B >= v ),   B ~ Binomial(r, e^eps / (1 + e^eps)),
    alpha = max_{1 <= i <= v} P( v - i <= B < v ) / i.

[Steinke 2023, Theorem 5.2 and Corollary 5.4]. The two versions may be any two records
(`replace_one`) or a record and none (`zero_out`): the theorem is about a map of the m coins, each
of which changes one record.

**f-DP.** A mechanism that is f-DP is (eps, delta(eps))-DP for *every* eps, so for each v the least
of these right-hand sides counts. That is what a certificate is held to. **Every eps that is
rejected is a lower bound.** Let eps be rejected if the right-hand side at the number of hits is at
most the risk, and v_eps be the least v at which it is. Then eps is rejected only if hits >= v_eps,
and that has a probability of at most the risk if eps holds. Some eps that holds is rejected only if
hits >= the least of these v_eps, which is one of them: at most the risk again. The same is true of
mu, with the delta(eps) of G(mu). So no monotonicity in eps or mu is needed, and no correction for
having tried many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import count, number_in
from shiftdp._errors import InvalidInput
from shiftdp._roots import largest
from shiftdp._rounding import GENEROUS
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction

_LARGEST = 40.0  # an epsilon, or a mu, that no audit of this kind can reject
_HALVINGS = 24  # of an interval of length 40: to 3e-6
_EPSILONS = np.concatenate([np.linspace(0.0, 2.0, 41), np.linspace(2.2, 10.0, 40)])  # of a profile


def chance_of_guesses(m: int, guesses: int, hits: int, *, epsilon: float, delta: float) -> float:
    """The right-hand side of the theorem: how likely so many hits can be under (eps, delta)-DP.

    Args:
        m: canaries.
        guesses: r, those that the auditor guessed of.
        hits: v, guesses that were right.
        epsilon, delta: what is claimed.

    >>> round(chance_of_guesses(1000, 100, 90, epsilon=1.0, delta=1e-6), 5)
    0.00011
    """
    m, r, v = count("m", m, 1), count("guesses", guesses), count("hits", hits)
    if not v <= r <= m:
        raise InvalidInput(
            "hits", v, f"is no number of right ones of {r} guesses of {m}", "give 0 <= v <= r <= m"
        )
    eps = number_in("epsilon", epsilon, 0.0)
    delta = number_in("delta", delta, 0.0, 1.0)
    return float(_chances(m, r, v, np.array([eps]), np.array([delta]))[0])


def _chances(
    m: int, r: int, v: int, epsilons: NDArray[np.float64], deltas: NDArray[np.float64]
) -> NDArray[np.float64]:
    if v == 0:
        return np.ones(epsilons.shape)
    from scipy.special import betainc
    from scipy.stats import binom

    q = 1.0 / (1.0 + np.exp(-epsilons))
    beta = betainc(v, r - v + 1, q)  # P(B >= v)
    below = np.cumsum(binom.pmf(np.arange(v - 1, -1, -1)[:, None], r, q[None, :]), axis=0)
    alpha = np.max(below / np.arange(1, v + 1)[:, None], axis=0)
    return np.asarray(np.minimum(1.0, (beta + 2.0 * m * deltas * alpha) * (1.0 + GENEROUS)))


def chance_under(f: TradeoffFunction, m: int, guesses: int, hits: int) -> float:
    """`chance_of_guesses` for a mechanism that is f-DP: the least over all (eps, delta(eps)).

    >>> round(chance_under(GaussianTradeoff(0.2), 1000, 100, 80), 4)
    0.0042
    """
    sides = (f,) if f.symmetric else (f, f.inverse())
    deltas = np.max([np.asarray(side.delta(_EPSILONS)) for side in sides], axis=0)
    return float(np.min(_chances(m, guesses, hits, _EPSILONS, deltas)))


def epsilon_from_guesses(
    m: int, guesses: int, hits: int, *, delta: float, confidence: float
) -> float:
    """No smaller epsilon holds at this delta, with this confidence; 0 if nothing was found.

    >>> round(epsilon_from_guesses(1000, 100, 95, delta=1e-5, confidence=0.95), 2)
    2.16
    """
    risk = 1.0 - confidence
    return _largest_rejected(
        lambda eps: chance_of_guesses(m, guesses, hits, epsilon=eps, delta=delta) <= risk
    )


def mu_from_guesses(m: int, guesses: int, hits: int, *, confidence: float) -> float:
    """No smaller mu holds, with this confidence; 0 if nothing was found.

    >>> 0.4 < mu_from_guesses(1000, 100, 95, confidence=0.95) < 2.0
    True
    """
    risk = 1.0 - confidence
    return _largest_rejected(
        lambda mu: chance_under(GaussianTradeoff(mu), m, guesses, hits) <= risk
    )


def _largest_rejected(rejected: Callable[[float], bool]) -> float:
    """A value that is rejected, about as large as can be; 0 if 0 is not rejected."""
    return largest(rejected, 0.0, _LARGEST, _HALVINGS) if rejected(0.0) else 0.0
