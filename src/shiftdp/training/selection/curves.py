"""Intervals for means and variances, and the AUC from a noisy histogram: all is free.

A record adds 1 to one cell of the histogram; every cell has independent Gaussian noise. What is
estimated are properties of the *law* that the records come from, so that an interval covers two
errors: that there are n records only, and the noise. Intervals are those of a normal law at the
level that is asked for; variances are bounds or estimates that are said where they are computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shiftdp.privacy.noisy_sums import SECOND
from shiftdp.training.losses.base import Floats

_CLEAR = 4.0  # how many deviations of its noise a count must be above 0 to be divided by
_STEPS = 2001  # points at which the ends of an interval are looked for


class Estimate(NamedTuple):
    """A number that was measured privately, and an interval for what it estimates."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


def mean_interval(value: float, n: int, noise: float, z: float) -> Estimate:
    """For the mean of numbers in [0, 1], of which n were summed with this noise.

    Their variance is at most a (1 - a), a being their mean: all a with
    |value - a|^2 <= z^2 (a (1 - a)/n + (noise/n)^2). For shares it is exact.

    >>> print(mean_interval(0.8, 1000, 0.0, 1.96))  # Wilson's
    0.8000 [0.7741, 0.8236]
    """
    square, sharp = z * z / n, (noise / n) ** 2
    a, b, c = 1.0 + square, value + 0.5 * square, value * value - z * z * sharp
    root = math.sqrt(max(b * b - a * c, 0.0))
    low, high = (b - root) / a, (b + root) / a
    return Estimate(_unit(value), _unit(low), _unit(high))


def variance_interval(mean: float, square: float, n: int, noise: float, z: float) -> Estimate:
    """Of numbers in [-1, 1], by noisy means of them and of their squares.

    With c their expectation, (t - c)^2 lies in [0, 4], so that its mean has a variance of at most
    v (4 - v)/n if v is its expectation; the noise of both sums comes on top. What is measured is
    less than that mean by the square of the error of the mean of t, which is at most
    z^2 (v + noise^2/n)/n. The interval has all v that agree with this: where few numbers are seen,
    rare ones may have been missed.
    """
    measured = square - mean * mean
    v = np.linspace(0.0, 1.0, _STEPS) ** 2  # dense near 0, by which r2 divides
    by_noise = (noise / n) ** 2 * (1.0 / SECOND**2 + 4.0 * mean * mean)
    half = z * np.sqrt(v * (4.0 - v) / n + by_noise)
    below = z * z * (v / n + (noise / n) ** 2)
    places = np.flatnonzero((measured <= v + half) & (measured >= v - half - below))
    value = min(max(measured, 0.0), 1.0)
    if not places.size:
        return Estimate(value, 0.0, 1.0)
    low, high = v[max(places[0] - 1, 0)], v[min(places[-1] + 1, _STEPS - 1)]
    return Estimate(value, min(float(low), value), max(float(high), value))


def auc(counts: Floats, noise: float, z: float) -> tuple[Estimate, float]:
    """The probability that a record of the second class has a larger score than one of the first.

    Of scores up to their cell: a pair in one cell counts half. How far that can be from the exact
    AUC, half of the share of such pairs, comes second.

    The variance by sampling is at most A (1 - A) / min(positives, negatives)
    [Birnbaum & Klose 1957]; that by noise is linear in the noise of the cells.
    """
    negative, positive = counts
    m, k = float(positive.sum()), float(negative.sum())
    spread = noise * math.sqrt(counts.shape[1])
    if min(m, k) < _CLEAR * spread or min(m, k) <= 0.0:
        return Estimate(0.5, 0.0, 1.0), 0.5
    below = np.cumsum(negative) - 0.5 * negative  # with half of the own cell
    above = m - (np.cumsum(positive) - 0.5 * positive)
    value = float(positive @ below) / (m * k)
    by_noise = noise**2 * (
        float(((below / k - value) ** 2).sum()) / m**2
        + float(((above / m - value) ** 2).sum()) / k**2
    )
    # a product of two noises in each cell, of mean 0
    by_noise += counts.shape[1] * noise**4 / (4.0 * (m * k) ** 2) * counts.shape[1]
    fewest = max(min(m, k) - z * spread, 1.0)
    inner = min(max(value, 0.0), 1.0)
    sampled = max(inner * (1.0 - inner), 1.0 / fewest) / fewest
    half = z * math.sqrt(sampled + by_noise)
    tied = abs(float(np.maximum(positive, 0.0) @ np.maximum(negative, 0.0))) / (m * k)
    return Estimate(_unit(value), _unit(value - half), _unit(value + half)), min(0.5, 0.5 * tied)


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
