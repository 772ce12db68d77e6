"""One noisy step in which a record takes part at random, and whose input may be off: S_p(a, s).

[Theorem B2] Let P = (1-p) N(u0, I) + p N(u1, I) and Q = (1-p) N(v0, I) + p N(v1, I) with
|u0 - v0| <= a and the other three distances at most d = a + s. For gamma = e^eps >= 1 both
H_gamma(P || Q) and H_gamma(Q || P) are at most

    (1-p) delta_{G(a)}(eps) + p delta_{G(d)}(eps)               if eps <= a d / 2,
    max_x (1-p) Phi(a - x) + p Phi(d - x) - gamma Phi(-x)       otherwise,

and this is attained. The first is the larger of the two for every eps, so a boundary that is
rounded up is safe; the second is `forward_profile`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, NINE_ROUNDINGS, THREE_ROUNDINGS
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.sampled_step import SampledStep
from shiftdp.fdp.functions.subsampling import subsample
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_profiles import forward_profile, gaussian_terms
from shiftdp.fdp.pairs.mean_rates import NORMAL_RATE, MeanRate
from shiftdp.fdp.pairs.profiles import upper_point
from shiftdp.fdp.renyi.halves import halves_log_moment
from shiftdp.fdp.tradeoff import TradeoffFunction


def shifted_subsampled(p: float, a: float, s: float) -> TradeoffFunction:
    """S_p(a, s) in its simplest form: S_p(0, s) = C_p(G(s)), S_1(a, s) = G(a + s), and
    S_0(a, s) = S_p(a, 0) = G(a).

    >>> shifted_subsampled(1.0, 0.5, 1.0), shifted_subsampled(0.1, 0.5, 0.0)
    (GaussianTradeoff(mu=1.5), GaussianTradeoff(mu=0.5))
    >>> shifted_subsampled(0.1, 0.0, 1.0)
    Subsampled(base=GaussianTradeoff(mu=1.0), p=0.1)
    """
    f = ShiftedSubsampled(p, a, s)
    if f._simple is not None:
        return f._simple
    return subsample(GaussianTradeoff(f.s), f.p) if f.a == 0.0 else f


@dataclass(frozen=True)
class ShiftedSubsampled(SampledStep):
    """S_p(a, s) of Theorem B2.

    >>> f = ShiftedSubsampled(p=0.01, a=0.05, s=1.0)
    >>> round(f.delta(0.1), 9), round(f.epsilon(1e-5), 9)
    (0.002320261, 0.396130835)
    """

    type_name = "shifted_subsampled"

    def _profile(self, epsilon: Array) -> tuple[Array, Array]:
        law = self._law
        apart = epsilon <= 0.5 * self.a * self._span * (1 + NINE_ROUNDINGS)
        if not apart.any():
            return forward_profile(law, epsilon)
        delta, slope = np.empty(epsilon.shape), np.empty(epsilon.shape)
        delta[apart], slope[apart] = gaussian_terms(law, epsilon[apart])
        if not apart.all():
            delta[~apart], slope[~apart] = forward_profile(law, epsilon[~apart])
        return delta, slope

    def _own_log_moment(self, order: float) -> float:
        return halves_log_moment(self.p, self.a, self._span, order)

    def _curve(self, alpha: Array) -> Array:
        """f in three parts, by the eps at which it touches the line 1 - delta - e^eps alpha.

        eps > a d/2: alpha = Phi(-x), f the mass of (1-p) N(a) + p N(d) left of x;
        |eps| <= a d/2: alpha and f are sum_i w_i Phi(-+eps/m_i - m_i/2), m = (a, d);
        eps < -a d/2: the inverse of the first.
        The middle part lies below the others, so its range may be rounded outwards. For a = 0 it
        is the line of slope -1.
        """
        p, a, d = self.p, self.a, self._span
        left = MeanRate(self._law)
        knot = np.array([0.5 * (a + d)])
        steep = alpha <= NORMAL_RATE.down(-knot) * (1 - AMPLE)
        # 1 - alpha at the other end is the mass of the mixture right of the knot
        low, high = scipy.special.ndtr(np.array([-0.5, 0.5]) * (d - a))
        flat = 1.0 - alpha <= ((1.0 - p) * low + p * high) * (1 - AMPLE)
        beta = np.empty(alpha.shape)
        beta[steep] = left.down(upper_point(alpha[steep]))
        beta[flat] = NORMAL_RATE.down(-left.argument_up(alpha[flat]))
        rest = ~(steep | flat)
        if a == 0.0:
            total = float(self._profile(np.zeros(1))[0][0])
            beta[rest] = np.maximum(1.0 - total - alpha[rest] - THREE_ROUNDINGS, 0.0)
        else:
            halves = MeanLaw.of((0.5 * a, 0.5 * d), (1.0 - p, p))
            middle = MeanRate(halves, scale=(1.0 / a, 1.0 / d))
            beta[rest] = middle.down(-middle.argument_up(alpha[rest]))
        return beta
