"""Laws of small runs, listed outcome by outcome: what the instances are held to."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import ndtr


def epsilon_of_mixture(shifts: Iterable[float], delta: float) -> float:
    """Epsilon of (mean of N(shift, 1), N(0, 1)), by half-lines, to about six digits."""
    places = np.linspace(-8.0, 12.0, 400_001)
    listed = list(shifts)
    right = np.mean([ndtr(shift - places) for shift in listed], axis=0)
    left = np.mean([ndtr(places - shift) for shift in listed], axis=0)
    best = 0.0
    for gained, paid in ((right, ndtr(-places)), (ndtr(places), left)):
        useful = gained > delta
        best = max(best, float(np.max(np.log(gained[useful] - delta) - np.log(paid[useful]))))
    return best


def kept(c: float, rate: float, noise: float, moved: float, visits: Iterable[int], t: int) -> float:
    """What is left of visits after t equal steps, in deviations of the noise."""
    spread = math.sqrt(sum((c ** (t - k) * rate * noise) ** 2 for k in range(1, t + 1)))
    return sum(c ** (t - k) * rate * moved for k in visits) / spread
