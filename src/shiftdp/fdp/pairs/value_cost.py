"""What larger values of a law cost: how much epsilon grows when W does, at several deltas.

At the threshold x of the test that decides delta, a value m with weight w contributes w u(m) to
delta, with

    u(m) = Phi(m - x) for m <= x,     1/2 + (m - x)/sqrt(2 pi) beyond,

as in part 1 of Theorem B7; for the pairs of the other parts it is Phi(m - x), which grows less. x
is the best test's, so to first order nothing else changes, and what is added to delta, over
-d delta/d eps, is added to epsilon. In the other direction of a zero-out, N(0) against E N(-W) with
threshold y, u(m) is -gamma Phi(-m - y); the two together are what an exchange with Poisson batches
feels. The sum of the relative costs in epsilon at several deltas is one function u again.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE, INVERTIBLE_EXPONENT, NOT_ZERO
from shiftdp.fdp.pairs.mean_guesses import Guess, guess_backward, guess_forward
from shiftdp.fdp.pairs.mean_law import MeanLaw

_DELTAS = (1e-3, 1e-5, 2e-7, 3e-9, 5e-11, 1e-12)  # at which epsilon is to grow little
_SHARES = (0.1, 1.0, 1.0, 1.0, 1.0, 1.0)  # how much each counts
_SMALL = 1e-9  # an epsilon below is not told apart from 0
_ROUGH = 128  # values of the law from which thresholds are read, which only steer
_IN_VIEW = 1e-14  # the probability beyond which values are not told apart there
_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


def value_costs(values: Array, weights: Array) -> tuple[Array, Array]:
    """u at each value, and the one of the other direction: two rising functions.

    Args:
        values: of the law, rising.
        weights: their probabilities.

    >>> there, back = value_costs(np.array([0.0, 1.0]), np.array([0.9, 0.1]))
    >>> there.round(2).tolist(), back.round(2).tolist()
    ([0.24, 20.7], [-2.12, -0.06])
    """
    law, deltas = _rough(values, weights), np.array(_DELTAS)
    # decides where nothing else does
    least = values * (AMPLE / max(float(values[-1]), NOT_ZERO))
    if law.size == 1:
        return np.asarray(least), np.asarray(least)
    forward, backward = guess_forward(law, deltas), guess_backward(law, deltas)
    epsilon = np.maximum(np.maximum(forward.epsilon, backward.epsilon), _SMALL)
    there, back = least, least
    for x, factor in zip(forward.x.tolist(), _scales(forward, epsilon), strict=True):
        power = scipy.special.ndtr(np.minimum(values - x, 0.0))
        there = there + factor * (power + _INVERSE_SQRT_2PI * np.maximum(values - x, 0.0))
    felt = np.minimum(backward.epsilon, INVERTIBLE_EXPONENT).tolist()
    for y, e, factor in zip(backward.x.tolist(), felt, _scales(backward, epsilon), strict=True):
        large = min(factor * math.exp(e), 1.0 / NOT_ZERO)  # where epsilon is, beyond all use
        back = back - large * scipy.special.ndtr(-y - values)
    return np.maximum.accumulate(there), np.maximum.accumulate(back)


def _scales(at: Guess, epsilon: Array) -> list[float]:
    """What delta costs of epsilon, as a part of it, at each threshold, and how much that counts."""
    part = np.array(_SHARES) / (np.maximum(at.slope, NOT_ZERO) * epsilon)
    found: list[float] = np.where(at.epsilon > 0.0, part, 0.0).tolist()
    return found


def _rough(values: Array, weights: Array) -> MeanLaw:
    """A law with few values, in cells of equal width: thresholds are read off it quickly."""
    tail = np.cumsum(weights[::-1])[::-1]
    view = float(values[tail >= _IN_VIEW].max(initial=float(values[0])))
    width = max(view - float(values[0]), NOT_ZERO)
    cell = np.minimum((values - values[0]) / width, 1.0) * (_ROUGH - 2)
    cell = np.where(values > view, _ROUGH - 1.0, np.floor(cell))
    last = np.append(np.flatnonzero(np.diff(cell) > 0.0), values.size - 1)
    weight = np.add.reduceat(weights, np.append(0, last[:-1] + 1))
    return MeanLaw.of(values[last].tolist(), weight.tolist())
