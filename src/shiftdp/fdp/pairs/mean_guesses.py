"""Where the best test for a given delta lies, between mixtures of Gaussians with many means.

The profiles of `mean_profiles` are asked for an epsilon, and have to find its threshold. Asked for
a delta, it is quicker to look for the threshold itself: at each x both the delta and the epsilon of
the test {X > x} are sums. What is found here is rough: it starts searches that certify, and says
where a law has to be known well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._roots import narrowed
from shiftdp._rounding import FAR_TAIL, NOT_ZERO
from shiftdp.fdp.pairs.gaussian_arrays import mills_array
from shiftdp.fdp.pairs.mean_law import MeanLaw
from shiftdp.fdp.pairs.mean_profiles import excesses
from shiftdp.fdp.pairs.mean_thresholds import log_sum

_HALVINGS = 28  # of a bracket of some dozens: thresholds to 7 digits
_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


class Guess(NamedTuple):
    """A threshold, with the delta and the epsilon of its test, and -d delta/d eps."""

    x: Array
    delta: Array
    epsilon: Array
    slope: Array


def guess_forward(law: MeanLaw, delta: Array, capped: bool = False) -> Guess:
    """An estimate of epsilon of E N(W, 1) against N(0, 1), or of the capped integral of Theorem B7.

    >>> law = MeanLaw.of((0.0, 1.0), (0.99, 0.01))
    >>> guess_forward(law, np.array([1e-5])).epsilon.round(6).tolist()
    [0.19945]
    """

    def at(x: Array) -> Guess:
        means = np.minimum(law.mean, x) if capped else law.mean
        excess, density = excesses(means, x)
        if capped:
            excess = excess + _INVERSE_SQRT_2PI * np.maximum(law.mean - x, 0.0)
        epsilon, _ = log_sum(np.log(law.weight) + means * (x - 0.5 * means), means)
        slope = (law.weight * density).sum(axis=0) * mills_array(x)
        return Guess(x, (law.weight * excess).sum(axis=0), epsilon, slope)

    return _search(at, np.full(delta.shape, NOT_ZERO), law.largest + FAR_TAIL, delta)


def guess_two_sided(law: MeanLaw, delta: Array) -> Guess:
    """An estimate of epsilon of E N(W, 1) against E N(-W, 1)."""

    def at(x: Array) -> Guess:
        excess, density = excesses(law.mean, x)
        log_weight, half = np.log(law.weight), 0.5 * law.mean
        up, _ = log_sum(log_weight + law.mean * (x - half), law.mean)
        back = log_weight - law.mean * (x + half)
        down, _ = log_sum(back, law.mean)
        there = (law.weight * density).sum(axis=0)
        mills = (np.exp(back - down) * mills_array(x + law.mean)).sum(axis=0)
        value = (law.weight * excess).sum(axis=0) + there * (mills_array(x) - mills)
        return Guess(x, value, up - down, there * mills)

    return _search(at, np.zeros(delta.shape), law.largest + FAR_TAIL, delta)


def guess_backward(law: MeanLaw, delta: Array) -> Guess:
    """An estimate of epsilon of N(0, 1) against E N(-W, 1)."""

    def at(y: Array) -> Guess:
        log_ratio, _ = log_sum(np.log(law.weight) - law.mean * (y + 0.5 * law.mean), law.mean)
        # gamma times the mass of each component right of y, without overflow
        masses = scipy.special.log_ndtr(-y - law.mean) + np.log(law.weight) - log_ratio
        slope = np.exp(masses).sum(axis=0)
        value = np.maximum(scipy.special.ndtr(-y) - slope, 0.0)
        return Guess(y, value, -log_ratio, slope)

    return _search(at, np.full(delta.shape, -law.largest), FAR_TAIL, delta)


def _search(at: Callable[[Array], Guess], low: Array, most: float, delta: Array) -> Guess:
    """Bisection: the delta of a test falls with its threshold."""
    high = np.full(delta.shape, most)
    return at(narrowed(lambda x: at(x).delta <= delta, low, high, _HALVINGS))
