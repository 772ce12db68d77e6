"""Laws of a mean: N(W, 1) with a random W, of which a few hundred values are possible.

The pairs of Theorem B7 are mixtures of unit Gaussians whose means are the values of W. What all of
their formulas need is here: the values and weights as columns, and sums over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import UNIT


@dataclass(frozen=True, eq=False)
class MeanLaw:
    """A law on means m_0 < m_1 < ... >= 0, as columns.

    Args:
        mean: the m_i.
        weight: their probabilities; the first one is rounded, so that all of them add up to 1.
        rest: 1 - weight[0], to one rounding.
    """

    mean: Array
    weight: Array
    rest: float

    @classmethod
    def of(cls, mu: Sequence[float], weight: Sequence[float]) -> MeanLaw:
        """The law with Pr(W >= mu_i) = weight_i + weight_{i+1} + ... for i > 0, exactly.

        So the first weight is what the others leave of 1. Where they leave nothing, their sum being
        rounded, the smallest values are left out.

        >>> law = MeanLaw.of((0.0, 1.0), (0.9, 0.1))
        >>> law.weight.ravel().tolist(), law.rest
        ([0.9, 0.1], 0.1)
        >>> MeanLaw.of((0.0, 1.0, 2.0), (1e-17, 0.5, 0.5)).mean.ravel().tolist()
        [1.0, 2.0]
        """
        means, weights = list(mu), list(weight)
        while True:
            first = remainder(weights[1:])
            if first > 0.0:
                break
            del means[0], weights[0]
        weights[0] = first
        column = np.array(means)[:, None], np.array(weights)[:, None]
        return cls(*column, rest=math.fsum(weights[1:]))

    @property
    def size(self) -> int:
        return int(self.mean.size)

    def pairs(self) -> tuple[tuple[float, float], ...]:
        """(weight, mean) of each component."""
        return tuple(zip(self.weight.ravel().tolist(), self.mean.ravel().tolist(), strict=True))

    @property
    def largest(self) -> float:
        return float(self.mean[-1, 0])

    @property
    def spread(self) -> float:
        """The largest distance of two means, rounded up."""
        return math.nextafter(float(self.mean[-1, 0] - self.mean[0, 0]), math.inf)

    @property
    def positive(self) -> MeanLaw:
        """The law restricted to means above 0; its weights may add up to less than 1."""
        if self.mean[0, 0] > 0.0:
            return self
        return MeanLaw(self.mean[1:], self.weight[1:], 1.0)

    def within(self, distance: float) -> tuple[MeanLaw, float]:
        """A law that is stochastically at least that of W given W <= distance, and how likely that
        is, to some roundings. One mean has to be so near.

        >>> near, likely = MeanLaw.of((0.0, 1.0, 9.0), (0.5, 0.25, 0.25)).within(2.0)
        >>> near.mean.ravel().tolist(), round(near.rest * 3.0, 12), likely
        ([0.0, 1.0], 1.0, 0.75)
        """
        near = int(np.count_nonzero(self.mean <= distance))
        means, weights = self.mean[:near].ravel().tolist(), self.weight.ravel().tolist()
        likely = remainder(weights[near:])
        shares = [w / likely * (1.0 + 4 * UNIT) for w in weights[:near]]  # the first takes the rest
        return MeanLaw.of(means, shares), likely

    @property
    def sum_error(self) -> float:
        """How many roundings `total` may be off by, as a part of the sum of the sizes."""
        return float(max(1, math.ceil(math.log2(self.size))))

    def summed(self, terms: Array) -> Array:
        """`total` of terms >= 0 that carry some roundings, rounded up."""
        return total(terms) * (1.0 + (self.sum_error + 4.0) * UNIT)


def remainder(weights: Sequence[float], less: float = 0.0) -> float:
    """1 - less - w_1 - w_2 - ..., correctly rounded.

    >>> remainder([0.1]), remainder([0.1], 0.9)
    (0.9, -2.7755575615628914e-17)
    """
    return math.fsum([1.0, -less, *(-w for w in weights)])


def total(terms: Array) -> Array:
    """The sum over the rows, in halves: each term takes part in at most log2(n) additions.

    >>> total(np.array([[1.0], [2.0], [4.0]]))
    array([7.])
    """
    while (n := terms.shape[0]) > 1:
        half = (n + 1) // 2
        upper = terms[half:]
        terms = terms[:half].copy()
        terms[: n - half] += upper
    return np.asarray(terms[0])
