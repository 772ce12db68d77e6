"""How often a mechanism is run whose best output is released: laws of a random number of trials.

Two families, both on 1, 2, ... [Papernot & Steinke 2022]. With phi(z) = E z^K:

- `negative_binomial`, truncated, of shape eta > -1 and rate gamma in (0, 1):
  phi'(z) = E[K] ((1 - (1 - gamma) z) / gamma)^(-1-eta), E[K] = eta (1 - gamma) / (gamma (1 -
  gamma^eta)); the geometric law is eta = 1, the logarithmic one eta = 0, where
  E[K] = (1 - gamma) / (gamma log(1/gamma)).
- `poisson`, of rate lam, given that it is not 0: phi'(z) = E[K] e^(lam (z - 1)),
  E[K] = lam / (1 - e^-lam).

What is drawn is a law whose probabilities are multiples of 2^-62, so that it is drawn exactly; see
`Trials.law_error` for how far its phi' is from the formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from shiftdp._checks import Array, choice, number_in
from shiftdp._errors import InvalidInput
from shiftdp._roots import least
from shiftdp._rounding import NOT_ZERO

TrialLaw = Literal["negative_binomial", "poisson"]

_BITS = 62  # of the uniform number by which a number of trials is drawn
_SHAPES = (-0.9, 4.0)  # eta: below, one trial is the rule; above, the law is close to Poisson's
_LEAST_RATE = 1e-3
"""gamma from here on: means of up to a thousand trials or so, and tables of a moderate length."""
_LARGEST_MEAN = 100.0  # of trials: a search has to end
_LEAST_FIRST = 1e-6  # P(K = 1): the error of the law is relative to it
_LOG_ERROR = 1e-14
"""The error of a logarithm of a probability relative to its largest term: 45 units in the last
place, where the gamma functions and logarithms it is made of have a few each."""


@dataclass(frozen=True)
class Trials:
    """The law of the number K of trials, which is at least 1.

    Args:
        law: `negative_binomial` or `poisson`.
        rate: gamma, or lam.
        shape: eta; None for `poisson`.

    >>> Trials("negative_binomial", 0.1, 1.0).mean  # geometric
    10.0
    >>> round(Trials.with_mean("poisson", 5.0).mean, 9)
    5.0
    """

    law: TrialLaw
    rate: float
    shape: float | None = None

    def __post_init__(self) -> None:
        choice("law", self.law, get_args(TrialLaw))
        if (self.shape is None) != (self.law == "poisson"):
            raise InvalidInput(
                "shape", self.shape, f"does not go with law={self.law!r}",
                "give one to negative_binomial, and to it alone",
            )  # fmt: skip
        if self.shape is None:
            rate = number_in("rate", self.rate, 0.0, _LARGEST_MEAN, open_low=True)
        else:
            object.__setattr__(self, "shape", number_in("shape", self.shape, *_SHAPES))
            rate = number_in("rate", self.rate, _LEAST_RATE, 1.0, open_high=True)
        object.__setattr__(self, "rate", rate)
        if float(self.slope(np.zeros(1))[0]) < _LEAST_FIRST:
            raise InvalidInput(
                "rate", self.rate, "makes one single trial less likely than 1e-6",
                "give a smaller mean, or a smaller shape",
            )  # fmt: skip

    @classmethod
    def with_mean(cls, law: TrialLaw, mean: float, shape: float | None = None) -> Trials:
        """The law of this family whose mean is at most this, and close to it."""
        mean = number_in("mean", mean, 1.0, _LARGEST_MEAN, open_low=True)
        if law == "poisson":
            # the mean grows with the rate, and lies above it
            rate = least(
                lambda less: _poisson_mean(mean - less) <= mean, np.zeros(1), np.full(1, mean)
            )
            return cls(law, float(mean - rate[0]), shape)
        eta = number_in("shape", 1.0 if shape is None else shape, *_SHAPES)
        low, high = np.full(1, _LEAST_RATE), np.ones(1)
        found = least(lambda rate: _binomial_mean(rate, eta) <= mean, low, high)
        return cls(law, min(float(found[0]), math.nextafter(1.0, 0.0)), eta)

    @property
    def mean(self) -> float:
        """E[K] = phi'(1)."""
        if self.shape is None:
            return float(_poisson_mean(np.array([self.rate]))[0])
        return float(_binomial_mean(np.array([self.rate]), self.shape)[0])

    def slope(self, z: Array) -> Array:
        """phi'(z) = E[K z^(K-1)] for z in [0, 1]."""
        if self.shape is None:
            return np.asarray(self.mean * np.exp(self.rate * (z - 1.0)))
        inside = (1.0 - (1.0 - self.rate) * z) / self.rate
        return np.asarray(self.mean * inside ** (-1.0 - self.shape))

    @property
    def law_error(self) -> float:
        """The part by which phi' of the law that is drawn may differ from `slope`, anywhere.

        The drawn probability of k > 1 is p_k, off by a part c = 1e-14 (100 + N log(N + 2)) of it,
        as its logarithm has no larger terms, rounded down to a multiple of 2^-62, and 0 beyond the
        end N of the table; what is left for k = 1 makes the sum 1. So phi' is off by at most
        sum k |error_k|, twice for k = 1, and less than 2 (2 c E[K] + N^2 2^-62 + the moment beyond
        N) in all; and phi' is at least p_1.
        """
        length = len(_table(self))
        part = _LOG_ERROR * (_LARGEST_MEAN + length * math.log(length + 2.0))
        error = 2.0 * part * self.mean + length**2 * math.ldexp(1.0, -_BITS) + _beyond(self)
        return 2.0 * error / float(self.slope(np.zeros(1))[0])

    def number(self, uniform: int) -> int:
        """K for a uniform whole number of 62 bits: the law that is certified.

        >>> Trials("negative_binomial", 0.5, 1.0).number(0)
        1
        """
        left = uniform
        for k, weight in enumerate(_table(self), start=1):
            left -= weight
            if left < 0:
                return k
        raise InvalidInput("uniform", uniform, f"has more than {_BITS} bits", "draw fewer")

    def __str__(self) -> str:
        if self.shape is None:
            return f"a Poisson number of trials that is not 0, {self.mean:.4g} on average"
        known = {0.0: "logarithmic", 1.0: "geometric"}
        name = known.get(self.shape, f"truncated negative binomial (shape {self.shape:g})")
        return f"a {name} number of trials, {self.mean:.4g} on average"


def _poisson_mean(rate: Array) -> Array:
    positive = np.maximum(rate, NOT_ZERO)
    return np.asarray(positive / -np.expm1(-positive))


def _binomial_mean(rate: Array, shape: float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rate = np.log(rate)
        # (1 - gamma^eta) / eta, which is log(1/gamma) at eta = 0
        share = -log_rate if shape == 0.0 else -np.expm1(shape * log_rate) / shape
        return np.where(rate < 1.0, (1.0 - rate) / (rate * share), 1.0)


def _log_probabilities(trials: Trials, k: Array) -> Array:
    """log P(K = k): the k-th coefficient of phi."""
    from scipy.special import gammaln

    if trials.shape is None:
        scale = math.log(trials.mean) - trials.rate
        return np.asarray(scale + (k - 1.0) * math.log(trials.rate) - gammaln(k + 1.0))
    eta = trials.shape
    first = math.log(trials.mean) + (1.0 + eta) * math.log(trials.rate)
    rising = gammaln(k + eta) - gammaln(1.0 + eta) - gammaln(k + 1.0)
    return np.asarray(first + rising + (k - 1.0) * math.log1p(-trials.rate))


_LONGEST = 1 << 17  # entries of a table: gamma = 1e-3 needs 60,000


@lru_cache(maxsize=64)
def _table(trials: Trials) -> tuple[int, ...]:
    """P(K = k) in units of 2^-62, rounded down, until it is 0 for good; that of 1 is the rest.

    So they sum to 1. Logarithms are rounded up as well as down: without the rest, the largest
    numbers of trials could be cut off.
    """
    k = np.arange(1.0, _LONGEST)
    log_p = _log_probabilities(trials, k)
    # the law has one hump: from the last entry of at least a unit on there are none
    last = int(np.flatnonzero(log_p >= -_BITS * math.log(2.0))[-1])
    others = [int(math.ldexp(math.exp(x), _BITS)) for x in log_p[1 : last + 1].tolist()]
    return ((1 << _BITS) - sum(others), *others)


def _beyond(trials: Trials) -> float:
    """A bound on sum of k p_k beyond the table, where p_k falls at least like a geometric series.

    With ratio at most c from N on, it is p_N sum_{j>0} (N + j) c^j = p_N c (N + 1/(1-c)) / (1-c).
    """
    length = float(len(_table(trials)))
    if trials.shape is None:
        ratio = trials.rate / (length + 1.0)
    else:
        ratio = (1.0 - trials.rate) * max(1.0, (length + trials.shape) / (length + 1.0))
    if ratio >= 1.0:
        return math.inf
    next_one = math.ldexp(1.0, 1 - _BITS)
    return next_one * (length + 1.0 / (1.0 - ratio)) / (1.0 - ratio)
