"""How good a private run will be, predicted from public numbers: its error on a reference problem.

The reference is a linear model whose features spread over directions j = 1, 2, ... with shares
lambda_j ~ 1/j of their squared norm R^2, and whose best scores have the energy q_j ~ j^-1.5 in
them. Descent pulls a direction towards its best weight at the rate eta (h R^2 lambda_j + m), where
h = slope/reach is the curvature of a loss whose derivative falls from its bound to nothing over the
scores that a good model reaches. What is left at the end has three parts, in squared scores:

- noise: what the steps added and contraction has not forgotten (for privacy, and by drawing
  batches at random);
- optimisation: what the steps have not reached yet;
- regularisation: what the ridge keeps away for good.

More steps, or longer ones, exchange the second for the first; a ridge makes the first cheaper and
pays with the third. The constants below were set once, by the three public data sets of
benchmarks/utility.py. Nothing here sees the user's data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftdp._checks import Array

__all__ = ["Prediction", "Reference"]

_SHARES = 1.0  # the power of 1/j in lambda_j
_ENERGIES = 1.5  # the power of 1/j in q_j
_EQUAL = 1e-12  # terms of a geometric sum whose ratio is nearer to 1 are counted as equal
_MOST_GROUPS = 64  # of directions that are treated alike


@dataclass(frozen=True)
class Prediction:
    """The parts of the predicted error, as shares of what a model of zeros has.

    >>> Prediction(noise=0.1, optimisation=0.2, regularisation=0.0).total
    0.30000000000000004
    """

    noise: float
    optimisation: float
    regularisation: float

    @property
    def total(self) -> float:
        return self.noise + self.optimisation + self.regularisation


@dataclass(frozen=True)
class Reference:
    """The reference problem for so many parameters a score, features of norm R, and a loss.

    Args:
        directions: how many parameters a score has.
        norm_bound: R.
        slope: the bound on the derivative of the loss after clipping.
        reach: the scores of a good model.
        outputs: how many scores a record has.
    """

    directions: int
    norm_bound: float
    slope: float
    reach: float
    outputs: int = 1

    @cached_property
    def _groups(self) -> tuple[Array, Array, Array]:
        """lambda, its weight, and q of groups of directions."""
        d = self.directions
        edges = np.unique(
            np.round(np.geomspace(1, d + 1, min(_MOST_GROUPS, d) + 1)).astype(np.int64)
        )
        counts = np.diff(edges).astype(np.float64)
        middle = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
        shares, energies = middle**-_SHARES, middle**-_ENERGIES
        shares /= (shares * counts).sum()
        energies /= (energies * counts).sum()
        return shares, counts, energies * counts

    @property
    def energy(self) -> float:
        """The squared scores of a good model; several classes share what separates them."""
        return self.reach**2 * 2.0 / (1.0 + self.outputs)

    def predict(
        self,
        rates: Array,
        steps: int,
        noise: Array,
        l2: Array,
        sampling: Array | None = None,
    ) -> list[Prediction]:
        """For several runs of one length at once.

        Args:
            rates: the learning rates: a row a run, with one column a step, or a single column
                where all steps have the same.
            steps: how many.
            noise: on the mean gradient, one number a run.
            l2: the ridge, one number a run.
            sampling: (1 - p)/b where batches are random: the variance of their mean, for records
                of variance 1.

        >>> reference = Reference(directions=10, norm_bound=1.0, slope=1.0, reach=1.0)
        >>> short, long = reference.predict(
        ...     np.array([[0.1], [1.0]]), 50, noise=np.full(2, 0.1), l2=np.zeros(2)
        ... )
        >>> short.optimisation > long.optimisation, short.noise < long.noise
        (True, True)
        """
        shares, counts, energies = self._groups
        m = l2[:, None]
        rate = self.slope / self.reach * self.norm_bound**2 * shares + m
        variance = np.broadcast_to((noise**2)[:, None], (len(rates), len(shares)))
        if sampling is not None:
            drawn = (self.slope * self.norm_bound) ** 2 / self.outputs * sampling
            variance = variance + drawn[:, None] * shares
        with np.errstate(all="ignore"):  # a run that diverges has an infinite error
            kept, squares = (
                _equal(rates, rate, steps) if rates.shape[1] == 1 else _each(rates, rate)
            )
            scores = squares * variance * (self.norm_bound**2 * shares * counts)
            held = m / rate
            left = held + (1.0 - held) * kept
            parts = (
                scores.sum(axis=1) / self.energy,
                ((left**2 - held**2) * energies).sum(axis=1),
                (held**2 * energies).sum(axis=1),
            )
        return [
            Prediction(*(value if math.isfinite(value) else math.inf for value in row))
            for row in np.stack(parts, axis=1).tolist()
        ]


def _each(rates: Array, rate: Array) -> tuple[Array, Array]:
    """What is kept of the start, and the sum of squared weights of the noises, step by step."""
    kept = np.ones_like(rate)
    squares = np.zeros_like(rate)
    for eta in rates.T[:, :, None]:
        c = 1.0 - eta * rate
        kept = kept * c
        squares = squares * (c * c) + eta**2
    return kept, squares


def _equal(rates: Array, rate: Array, steps: int) -> tuple[Array, Array]:
    """The same where all steps are alike: a geometric sum."""
    gap = rates * rate
    c = 1.0 - gap
    # 1 - c^2 = gap (2 - gap); where the gap is 2 all terms are 1
    ratio = gap * (2.0 - gap)
    total = np.where(
        np.abs(ratio) > _EQUAL,
        -np.expm1(steps * np.log1p(-np.minimum(ratio, 1.0))) / ratio,
        float(steps),
    )
    return c**steps, rates**2 * np.where(np.isnan(total), 1.0, total)
