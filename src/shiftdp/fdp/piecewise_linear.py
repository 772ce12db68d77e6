"""Piecewise linear tradeoff functions: finitely many (epsilon, delta) guarantees taken together."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array, array_in
from shiftdp._errors import InvalidInput
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["PiecewiseLinear"]

_SLACK = 1e-12  # how far from convex the rounding of knots may leave them


class PiecewiseLinear(TradeoffFunction):
    """The line through the knots (alpha_i, beta_i), from alpha = 0 to alpha = 1.

    Knots must be convex, decreasing and below 1 - alpha [BSA24, Lemma fdpchar]. The profile is the
    largest of the lines 1 - beta_i - e^eps alpha_i.

    >>> f = PiecewiseLinear([0, 0.25, 1], [1, 0.25, 0])
    >>> f(0.125), f.delta(0.0), round(f.epsilon(0.0), 6)
    (0.625, 0.5, 1.098612)
    """

    def __init__(self, alpha: ArrayLike, beta: ArrayLike) -> None:
        a = array_in("alpha", alpha, 0.0, 1.0)
        b = array_in("beta", beta, 0.0, 1.0)
        if a.ndim != 1 or a.shape != b.shape or a.size < 2:
            raise InvalidInput(
                "alpha, beta", (a.shape, b.shape), "do not fit", "give two lists of equal length"
            )
        remedy = "give knots of a convex decreasing function below 1 - alpha"
        if a[0] != 0.0 or a[-1] != 1.0 or np.any(np.diff(a) <= 0):
            raise InvalidInput("alpha", a.tolist(), "does not rise from 0 to 1", remedy)
        if np.any(np.diff(b) > 0) or np.any(b > 1.0 - a):
            raise InvalidInput("beta", b.tolist(), "rises, or exceeds 1 - alpha", remedy)
        chord = b[:-2] + (b[2:] - b[:-2]) * ((a[1:-1] - a[:-2]) / (a[2:] - a[:-2]))
        if np.any(b[1:-1] > chord + _SLACK):
            raise InvalidInput("beta", b.tolist(), "is not convex", remedy)
        a.flags.writeable = b.flags.writeable = False
        self.alpha, self.beta = a, b
        self._slopes = np.diff(b) / np.diff(a)

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_slopes"):
            raise AttributeError(f"{type(self).__name__} is immutable")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"PiecewiseLinear(<{self.alpha.size} knots>)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PiecewiseLinear):
            return NotImplemented
        return np.array_equal(self.alpha, other.alpha) and np.array_equal(self.beta, other.beta)

    def __hash__(self) -> int:
        return hash((self.alpha.tobytes(), self.beta.tobytes()))

    @classmethod
    def from_guarantees(cls, epsilon: ArrayLike, delta: ArrayLike) -> PiecewiseLinear:
        """What several (eps_i, delta_i) guarantees of one mechanism say together. [DRS22, Prop 6]

        >>> f = PiecewiseLinear.from_guarantees([0.0, 1.0], [0.3, 0.05])
        >>> round(f.delta(0.0), 12), round(f.delta(1.0), 12)
        (0.3, 0.05)
        """
        eps = array_in("epsilon", epsilon, 0.0, 700.0).ravel()
        d = array_in("delta", delta, 0.0, 1.0).ravel()
        if eps.size != d.size:
            raise InvalidInput(
                "epsilon, delta",
                (eps.size, d.size),
                "differ in length",
                "give one delta an epsilon",
            )
        # the reflected guarantee: e^-eps (1 - delta - alpha)
        reflected = np.exp(-eps)
        gamma = np.concatenate([np.exp(eps) * (1 + 1e-15), reflected])
        height = np.concatenate([1.0 - d, reflected * (1.0 - d) * (1 - 1e-15)])
        return cls(*_upper_envelope(gamma, height))

    @classmethod
    def below(cls, f: TradeoffFunction, epsilon: ArrayLike) -> PiecewiseLinear:
        """A certified lower envelope of any f: its supporting lines at the slopes -e^eps_i.

        >>> from shiftdp.fdp import GaussianTradeoff
        >>> f = PiecewiseLinear.below(GaussianTradeoff(1.0), np.linspace(-6, 6, 101))
        >>> 0 <= GaussianTradeoff(1.0)(0.1) - f(0.1) < 1e-3
        True
        """
        eps = array_in("epsilon", epsilon, -700.0, 700.0).ravel()
        return cls(*_upper_envelope(np.exp(eps) * (1 + 1e-15), 1.0 - f._delta(eps) - 1e-16))

    @property
    def symmetric(self) -> bool:
        inverse = self.inverse()
        return inverse.alpha.size == self.alpha.size and bool(
            np.allclose(inverse.alpha, self.alpha, rtol=0, atol=1e-15)
            and np.allclose(inverse.beta, self.beta, rtol=0, atol=1e-15)
        )

    def inverse(self) -> PiecewiseLinear:
        # f may reach 0 before alpha = 1: only the first such knot has an inverse
        last = int(np.argmin(self.beta))
        a, b = self.beta[last::-1], self.alpha[last::-1]
        keep = np.concatenate([[True], np.diff(a) > 0])
        a, b = a[keep], b[keep]
        if a[-1] < 1.0:
            a, b = np.append(a, 1.0), np.append(b, 0.0)
        return PiecewiseLinear(a, b)

    def _beta(self, alpha: Array) -> Array:
        return np.interp(alpha, self.alpha, self.beta) * (1 - 4e-16)

    def _delta(self, epsilon: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = np.exp(epsilon)
            # the knot where the slope passes -gamma; its neighbours guard against rounding
            knot = np.searchsorted(self._slopes, -gamma)
            values = []
            for near in (-1, 0, 1):
                i = np.clip(knot + near, 0, self.alpha.size - 1)
                cost = np.where(self.alpha[i] > 0, gamma * self.alpha[i], 0.0)
                values.append(1.0 - self.beta[i] - cost)
        best = np.maximum(np.maximum(values[0], values[1]), values[2])
        return np.maximum(0.0, np.where(best > 0, best + 2e-16, best))

    def _epsilon(self, delta: Array) -> Array:
        # each knot asks for e^eps >= (1 - beta_i - delta)/alpha_i
        epsilon = np.zeros(delta.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            for a, b in zip(self.alpha, self.beta, strict=True):
                need = 1.0 - b - delta
                bound = (
                    np.log(np.maximum(need, 0.0) / a) if a > 0 else np.full(need.shape, math.inf)
                )
                epsilon = np.where(need > 0, np.maximum(epsilon, bound), epsilon)
        return epsilon * (1 + 1e-15) + np.where(epsilon > 0, 2e-16, 0.0)

    def _log_moment(self, order: float) -> float:
        if self.beta[0] < 1.0:
            return math.inf
        ratio = -self._slopes
        moment = np.diff(self.alpha) * ratio**order
        return math.log(math.fsum(moment.tolist()) * (1 + 1e-14 * order))


def _upper_envelope(gamma: Array, height: Array) -> tuple[Array, Array]:
    """Knots of max(0, max_i height_i - gamma_i alpha) on [0, 1].

    At each knot the lower of the two lines that meet there is taken, so rounding of the crossing
    leaves the result below the envelope.
    """
    lines: list[tuple[float, float]] = []
    crossings: list[float] = []
    order = np.lexsort((-height, -gamma))
    steepest = [(float(gamma[i]), float(height[i])) for i in order] + [(0.0, 0.0)]
    for g, h in steepest:
        if lines and lines[-1][0] == g:
            continue
        while lines:
            g0, h0 = lines[-1]
            at = (h0 - h) / (g0 - g)
            if at > (crossings[-1] if crossings else 0.0):
                break
            lines.pop()
            if crossings:
                crossings.pop()
        else:
            lines.append((g, h))
            continue
        if at < 1.0:
            lines.append((g, h))
            crossings.append(at)
    a = np.array([0.0, *crossings, 1.0])
    left = np.array([lines[0], *lines])
    right = np.array([*lines, lines[-1]])
    b = np.minimum(left[:, 1] - left[:, 0] * a, right[:, 1] - right[:, 0] * a)
    b = np.clip(b, 0.0, 1.0 - a)
    return a, np.minimum.accumulate(b)
