"""Gaussian differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from shiftdp._checks import Array, number_in
from shiftdp._rounding import FAR_TAIL, HUGE, LEAST_FLOAT, NINE_ROUNDINGS, ULP
from shiftdp.fdp.pairs.gaussian_arrays import (
    gaussian_delta_array,
    gaussian_epsilon_array,
    gaussian_tangent_array,
)
from shiftdp.fdp.pairs.gaussian_profile import (
    FAR_MU,
    MILLS_CONDITION,
    RELATIVE_ERROR,
    SERIES_CONDITION,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    point,
)
from shiftdp.fdp.tradeoff import TradeoffFunction

if TYPE_CHECKING:
    from shiftdp.fdp.composition.product import Product

_BLIND = 80.0  # mu beyond which Phi(z - mu) is 0 for every float alpha, as |z| < 38.5
_NARROW = 1e-100  # mu below which eps/mu may overflow
_WIDE = 10.0  # mu beyond which the Mills ratio would have to be taken far left of 0


@dataclass(frozen=True)
class GaussianTradeoff(TradeoffFunction):
    """G(mu) = T(N(0, 1), N(mu, 1)): alpha -> Phi(Phi^-1(1 - alpha) - mu). [BSA24, Def GDP]

    `mu = 0` is perfect privacy, `mu = inf` none.

    >>> f = GaussianTradeoff(1.0)
    >>> round(f.epsilon(1e-5), 6), round(f.delta(1.0), 6), f.renyi(2.0)
    (4.377178, 0.126937, 1.0)
    >>> GaussianTradeoff(3.0).compose(GaussianTradeoff(4.0))
    GaussianTradeoff(mu=5.0)
    """

    type_name = "gaussian"

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", number_in("mu", self.mu, 0.0))

    @classmethod
    def from_budget(cls, epsilon: float, delta: float) -> GaussianTradeoff:
        """The least private G(mu) that is (epsilon, delta)-DP; mu is rounded down.

        >>> round(GaussianTradeoff.from_budget(1.0, 1e-5).mu, 6)
        0.268051
        """
        epsilon = number_in("epsilon", epsilon, 0.0)
        delta = number_in("delta", delta, 0.0, 1.0)
        return cls(gaussian_mu(epsilon, delta) * (1.0 - RELATIVE_ERROR))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def zcdp(self) -> float:
        """rho with D_alpha <= rho alpha for every order: mu^2 / 2. [BSA24, Lemma fdptordp]"""
        return math.nextafter(self.mu * self.mu / 2.0, math.inf) if self.mu > 0 else 0.0

    def _beta(self, alpha: Array) -> Array:
        if self.mu > _BLIND:
            # Phi(z - mu) is below the least positive float for every alpha > 0
            return np.where((alpha <= 0.0) & (self.mu < math.inf), 1.0, 0.0)
        with np.errstate(invalid="ignore"):
            z = -scipy.special.ndtri(alpha)
            x = z - self.mu
            # the condition number of Phi at x, times the errors of z, x and Phi itself
            condition = (1.0 + np.abs(x)) * np.exp(-0.5 * np.maximum(x, 0.0) ** 2)
            error = 16 * ULP * (1.0 + condition * (1.0 + np.abs(z) + self.mu))
            # and Phi may be denormal, where a relative error says nothing
            value = scipy.special.ndtr(x) * (1.0 - error) - LEAST_FLOAT
        return np.where(alpha <= 0.0, 1.0, np.where(alpha >= 1.0, 0.0, value))

    def _delta(self, epsilon: Array) -> Array:
        positive = np.abs(epsilon)
        if epsilon.size == 1:
            delta = np.array([gaussian_delta(self.mu, float(positive[0]))])
        else:
            delta = gaussian_delta_array(np.asarray(self.mu), positive)
        return _rounded_up(np.asarray(self.mu), epsilon, delta)

    def _epsilon(self, delta: Array) -> Array:
        if delta.size == 1:
            return np.array([gaussian_epsilon(self.mu, float(delta[0])) * (1.0 + RELATIVE_ERROR)])
        with np.errstate(over="ignore"):  # to infinity, which is an upper bound
            epsilon = gaussian_epsilon_array(np.asarray(self.mu), delta)
            return epsilon * (1.0 + RELATIVE_ERROR)

    @property
    def _smooth(self) -> bool:
        return _NARROW <= self.mu <= _WIDE

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        mu = self.mu
        u = np.minimum(epsilon / mu, FAR_TAIL + 0.5 * mu)
        delta, tail = gaussian_tangent_array(mu, u)
        # one error bound for all points: that of the largest eps
        most = float(u.max(initial=0.0))
        reach = max(most - 0.5 * mu, 0.5 * mu)
        loss = (MILLS_CONDITION + most) * min(1.0 / mu, SERIES_CONDITION + most)
        error = 4 * ULP * (6.0 + reach**2 + (1.0 + reach) * (most + 0.5 * mu) + 2.0 * loss)
        return delta * (1.0 + error) + 2 * LEAST_FLOAT, tail

    def _log_moment(self, order: float) -> float:
        if self.mu == 0.0:
            return 0.0
        # multiplied in this order the product overflows only if the result does
        return (order * self.mu) * ((order - 1.0) * self.mu) / 2.0 * (
            1 + NINE_ROUNDINGS
        ) + 2 * LEAST_FLOAT

    @property
    def gdp_mu(self) -> float:
        return self.mu

    def _gaussian_below(self) -> tuple[float, float]:
        return self.mu, 0.0

    def _deflated(self, factor: float) -> TradeoffFunction:
        return GaussianTradeoff(self.mu * factor)

    def _join(self, product: Product, k: int) -> None:
        """G(mu_1) (x) G(mu_2) = G(sqrt(mu_1^2 + mu_2^2)). [BSA24, Lemma various (c)]"""
        product.gaussian(self.mu, k)


def gaussian_profiles(mu: Array, epsilon: Array) -> Array:
    """delta(eps) of many G(mu) at once, a row each, rounded up as for one."""
    column = mu[:, None]
    return _rounded_up(column, epsilon, gaussian_delta_array(column, np.abs(epsilon)))


def _rounded_up(mu: Array, epsilon: Array, delta: Array) -> Array:
    """The profile at eps, from delta at |eps| as it was computed."""
    positive = np.abs(epsilon)
    delta = delta * (1.0 + _log_delta_error(mu, positive))
    # delta > 0 for every finite eps, even where it is denormal or underflows
    delta = np.where((positive < math.inf) & (mu > 0), delta + 2 * LEAST_FLOAT, delta)
    mirrored = (-np.expm1(-positive) + np.exp(-positive) * delta) * (1.0 + 4 * ULP)
    return np.where(epsilon < 0, mirrored, delta)


def _log_delta_error(mu: Array, epsilon: Array) -> Array:
    """How far log delta may be off.

    delta carries the rounding of x = eps/mu - mu/2, some 1 + |x| times, and R(x) - R(y) what is
    lost in the difference: see `MILLS_CONDITION` and `SERIES_CONDITION`. Above `FAR_MU` that
    rounding is of x itself (`point`).
    """
    proper = (mu > 0) & (mu < math.inf)
    m = np.where(proper, np.minimum(mu, HUGE), 1.0)
    with np.errstate(over="ignore"):
        u = np.minimum(epsilon / m, FAR_TAIL + 0.5 * m)
        loss = (MILLS_CONDITION + u) * np.minimum(1.0 / m, SERIES_CONDITION + u)
    x, rounded = u - 0.5 * m, u + 0.5 * m
    far = m > FAR_MU
    if far.any():
        x = np.where(far, point(m, np.minimum(epsilon, HUGE)), x)
        rounded = np.where(far, 2.0 * (1.0 + np.minimum(np.abs(x), FAR_TAIL)), rounded)
    x = np.clip(x, -FAR_TAIL, FAR_TAIL)
    error = x * x + (1.0 + np.abs(x)) * rounded + 2.0 * loss
    # left of 0 delta is close to 1, and an error of x moves it by only phi(x) of that
    error = 4 * ULP * (6.0 + error * np.exp(-0.5 * np.minimum(x, 0.0) ** 2))
    return np.where(proper, error, 4 * ULP)
