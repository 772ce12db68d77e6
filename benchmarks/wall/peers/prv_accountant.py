"""Tasks of prv_accountant. Run by ../serve.py in its environment."""

import math
import resource

import numpy as np
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import PrivacyRandomVariable
from scipy.special import log_ndtr, logsumexp, ndtr


class Symmetric(PrivacyRandomVariable):
    """The law of [BSA24, Prop subgdpcdf] of C_p(G(mu)).

    At a loss t >= 0 the tail is that of the Gaussian at s = log(1 + (e^t - 1)/p): with u = s/mu,
    the rejection rates are Phi(mu/2 - u) and Phi(-mu/2 - u), and

        P(loss > t) = p Phi(mu/2 - u) + (1 - p) Phi(-mu/2 - u),
        P(loss < -t) = Phi(-mu/2 - u).
    """

    def __init__(self, p, mu):
        self.p, self.mu = p, mu

    def _rates(self, t):
        s = np.log1p(np.expm1(t) / self.p)
        return ndtr(self.mu / 2 - s / self.mu), ndtr(-self.mu / 2 - s / self.mu)

    def cdf(self, t):
        t = np.asarray(t, dtype=np.float64)
        one, other = self._rates(np.abs(t))
        high = 1.0 - self.p * one - (1.0 - self.p) * other
        return np.where(t >= 0.0, high, other)

    def rdp(self, alpha):
        """log E exp((alpha - 1) loss) / (alpha - 1), by the trapezoidal rule on both tails."""
        k, t = alpha - 1.0, np.linspace(0.0, 60.0, 120_001)
        u = np.log1p(np.expm1(t) / self.p) / self.mu
        low = log_ndtr(-self.mu / 2 - u)
        high = np.logaddexp(math.log(self.p) + log_ndtr(self.mu / 2 - u), math.log1p(-self.p) + low)
        step = math.log(k * (t[1] - t[0]))
        gain = step + logsumexp(np.append(k * t + high, math.log(0.5) + high[0]), b=_ends(t))
        loss = step + logsumexp(np.append(-k * t + low, math.log(0.5) + low[0]), b=_ends(t))
        if gain > 30.0:
            return float(gain / k)
        return math.log1p(math.exp(gain) - math.exp(loss)) / k


def _ends(t):
    """Each point counts, the first by half: its half, at the end of the list, is taken off."""
    return np.append(np.ones(len(t)), -1.0)


def symmetric_interval(p, mu, steps, delta, eps_error, delta_error=1e-10):
    """The certified interval of epsilon, and the most memory of the process in megabytes."""
    accountant = PRVAccountant(
        prvs=[Symmetric(p, mu)],
        max_self_compositions=[steps],
        eps_error=eps_error,
        delta_error=delta_error,
    )
    low, _, high = accountant.compute_epsilon(delta, [steps])
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"low": float(low), "high": float(high), "megabytes": megabytes}
