"""How good a private run will be, predicted from public numbers: its error on a reference problem.

The reference is a linear model whose best scores are spread evenly over directions of all speeds:
of every factor of e in speed there is the same share. Speeds are measured by *reach*, how far all
steps together could move the score of a record: a direction of reach Lambda_0 is learnt, but for
1/e, by steps whose strides s_k = eta_k slope R^2 add up to Lambda_0. Reaches run from
slope/curvature, which no direction goes below, to 10,000 times the scores of a good model. So each
doubling of the reach of a run is worth the same, until noise grows faster. What is left at the end
has five parts, in squared scores:

- noise: what the steps added for privacy and contraction has not forgotten;
- sampling: the same for what batches differ by;
- optimisation: what the steps have not reached yet;
- regularisation: what the ridge keeps away for good;
- clipping: what scores are off for good because long residuals count as short ones.

More steps, or longer ones, exchange the third for the first two; a ridge makes the first cheaper
and pays with the fourth, a small clip pays with the last. The constants below were set once, by
public data sets (docs/planner.md). Nothing here sees the user's data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftdp._checks import Array

_FARTHEST = 1e4  # the slowest direction's reach, in scores of a good model
_SPEEDS = 40  # directions that stand for all
_SPREAD = 25.0  # from so many directions on, records of one length have less of the scores in each
_MOST = 1.0  # of the squared score of a good model, however few directions there are
_CROWD = 0.5  # of the classes count as directions that the others take away
_EQUAL = 1e-12  # terms of a geometric sum whose ratio is nearer to 1 are counted as equal


@dataclass(frozen=True)
class Prediction:
    """The parts of the predicted error, as shares of what a model of zeros has.

    >>> Prediction(noise=0.1, optimisation=0.2).total
    0.30000000000000004
    """

    noise: float
    optimisation: float
    regularisation: float = 0.0
    sampling: float = 0.0
    clipping: float = 0.0

    @property
    def total(self) -> float:
        return self.noise + self.optimisation + self.regularisation + self.sampling + self.clipping


@dataclass(frozen=True)
class Segments:
    """Several runs of one length, each cut into parts of equal steps. Arrays have a row a run.

    Args:
        rates: the learning rate in each part.
        steps: how many steps every part has.
        deviation: of the noise on the mean gradient at every step; one column for each part, or a
            single one.
        placed: the variance of noise that is added to the iterate at the end of each part.
        l2: the ridge, one number a run.
        drawn: the variance of a batch's mean for records of variance 1, one number a run.
        in_turn: over how many steps batches make up for one another; 0 where they never do.
    """

    rates: Array
    steps: int
    deviation: Array
    placed: Array
    l2: Array
    drawn: Array
    in_turn: float = 0.0


@dataclass(frozen=True)
class Reference:
    """The reference problem for so many parameters a score, features of norm R, and a loss.

    Args:
        directions: how many parameters a score has; the more, the less of the energy in each.
        norm_bound: R.
        slope: how strongly records pull on average, after clipping.
        curvature: of the loss.
        reach: the scores of a good model.
        outputs: how many scores a record has.
        clipping: what the clip costs for good, as a share of what is learnt; less where classes
            are close, so that scores are small.
    """

    directions: int
    norm_bound: float
    slope: float
    curvature: float
    reach: float
    outputs: int = 1
    clipping: float = 0.0

    @cached_property
    def _pulls(self) -> Array:
        """By how much a rate of 1 brings each direction nearer to its best, as a share."""
        places = (np.arange(_SPEEDS) + 0.5) / _SPEEDS
        nearest, farthest = self.slope / self.curvature, _FARTHEST * self.reach
        reaches = nearest * (farthest / nearest) ** places
        return np.asarray(self.slope * self.norm_bound**2 / reaches)

    @property
    def apart(self) -> float:
        """How far classes are from one another: less where many share few directions.

        >>> Reference(directions=10, norm_bound=1, slope=1, curvature=1, reach=1, outputs=20).apart
        0.5
        """
        if self.outputs == 1:
            return 1.0
        return self.directions / (self.directions + _CROWD * self.outputs)

    @property
    def of_a_constant(self) -> float:
        """The error of a model that knows only what is learnt sooner than the scores of a good one
        are reached. It has not told anything apart yet: a constant does as well.

        >>> Reference(directions=9, norm_bound=1, slope=1, curvature=1, reach=1).of_a_constant
        1.0
        """
        nearest = self.slope / self.curvature
        return 1.0 - max(0.0, math.log(self.reach / nearest)) / math.log(
            _FARTHEST * self.reach / nearest
        )

    @property
    def energy(self) -> float:
        """The squared scores of a good model: less where records of one length spread over many
        directions, and where classes are close to one another."""
        return self.reach**2 * self.apart * min(_MOST, _SPREAD / self.directions)

    def predict(self, runs: Segments) -> list[Prediction]:
        """For several runs at once.

        >>> reference = Reference(
        ...     directions=10, norm_bound=1.0, slope=1.0, curvature=1.0, reach=1.0
        ... )
        >>> none = np.zeros((2, 1))
        >>> short, long = reference.predict(
        ...     Segments(np.array([[0.1], [1.0]]), 50, none + 0.1, none, none[:, 0], none[:, 0])
        ... )
        >>> short.optimisation > long.optimisation, short.noise < long.noise
        (True, True)
        """
        m = runs.l2[:, None]
        pull = self._pulls + m
        kept = np.ones_like(pull)
        noise, drawn = np.zeros_like(pull), np.zeros_like(pull)
        deviation = np.broadcast_to(runs.deviation, runs.rates.shape)
        # records differ most where they are longest, which is where they pull most
        spread = (self.slope * self.norm_bound) ** 2 * self._pulls / self._pulls.mean()
        with np.errstate(all="ignore"):  # a run that diverges has an infinite error
            together = _alike(runs.rates.mean(axis=1, keepdims=True), pull, runs.in_turn)
            for k in range(runs.rates.shape[1]):
                eta = runs.rates[:, k : k + 1]
                c = _contraction(eta, pull)
                power = c**runs.steps
                sums = eta**2 * _geometric(c * c, runs.steps)
                noise = noise * power**2 + sums * deviation[:, k : k + 1] ** 2
                noise = noise + runs.placed[:, k : k + 1]
                drawn = drawn * power**2 + sums * spread * runs.drawn[:, None]
                kept = kept * power
            held = m / pull
            left = held + (1.0 - held) * kept
            scores = self.norm_bound**2 / self.energy
            parts = (
                noise.mean(axis=1) * scores,
                (left**2 - held**2).mean(axis=1),
                (held**2).mean(axis=1),
                (drawn * together).mean(axis=1) * scores,
                self.clipping * self.apart * (1.0 - (left**2).mean(axis=1)),
            )
        return [
            Prediction(*(value if math.isfinite(value) else math.inf for value in row))
            for row in np.stack(parts, axis=1).tolist()
        ]

    def weights_of_noise(self, rates: Array, l2: Array) -> Array:
        """What is left at the end of noise of variance 1 on the gradient of each step, a row a run.

        >>> reference = Reference(directions=1, norm_bound=1.0, slope=1.0, curvature=1.0, reach=1.0)
        >>> early, late = reference.weights_of_noise(np.array([[0.1, 0.1]]), np.zeros(1))[0]
        >>> bool(early < late), round(float(late), 12)
        (True, 0.01)
        """
        pull = self._pulls + l2[:, None]
        c = _contraction(rates[:, :, None], pull[:, None, :])
        after = np.ones_like(c)
        after[:, :-1] = np.cumprod(c[:, :0:-1] ** 2, axis=1)[:, ::-1]
        return np.asarray(rates**2 * after.mean(axis=2))


def _contraction(eta: Array, pull: Array) -> Array:
    """1 - eta pull; but bounded gradients never lead further away than where they came from."""
    return np.asarray(np.maximum(1.0 - eta * pull, -1.0))


def _alike(rate: Array, pull: Array, steps: float) -> Array:
    """How much of what batches differ by counts: none if all batches have had their turn before
    anything is forgotten, all of it if they are random, or forgotten sooner."""
    if steps == 0.0:
        return np.ones_like(pull)
    return np.asarray((1.0 - np.abs(_contraction(rate, pull)) ** steps) ** 2)


def _geometric(ratio: Array, terms: int) -> Array:
    """1 + ratio + ... + ratio^(terms - 1), for ratios up to 1."""
    gap = 1.0 - ratio
    some = np.abs(gap) > _EQUAL
    return np.where(some, (1.0 - ratio**terms) / np.where(some, gap, 1.0), float(terms))
