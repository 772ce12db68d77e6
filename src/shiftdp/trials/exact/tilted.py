"""The exponential mechanism on a segment: two densities that differ by a linear tilt.

`F = a x + (m/2) x^2` on [0, D] and `F' = F - L x`: gradients L apart, both m-strongly convex. The
probabilities of {x > u} under exp(-F) and exp(-F') are integrals of smooth functions over panels,
by a Gauss rule of 16 points, whose error on panels with exponents that change by at most 1 is far
below a part of 1e-12 (the sixteenth-order remainder is below e (1/2)^32 / 32!).
"""

from __future__ import annotations

import math

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import GENEROUS
from shiftdp.interpolation.instances.events import epsilon_from_tails
from shiftdp.last_iterate.geometry import Geometry

_ORDER = 16  # points of the rule on each panel
_LEAST_PANELS, _MOST_PANELS = 400, 200_000  # as many as events {x > u} are tried
_WIDEST = 60.0  # of the set, in deviations 1/sqrt(m): a segment inside it is an instance too
# which centres of a strongly convex F are tried, as parts of D ...
_CENTRES = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
# ... and which pulls a, as parts of L
_PULLS = (*np.linspace(0.0, 2.0, 9).tolist(), *np.geomspace(2.2, 40.0, 28).tolist())


def tilted_epsilon(geometry: Geometry, delta: float) -> float | None:
    """An epsilon that the exponential mechanism needs on some segment; None if it is unbounded.

    >>> losses = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=3.0, diameter=0.7)
    >>> 1.7 < tilted_epsilon(losses, 1e-5) < 2.1  # L D = 2.1 is enough
    True
    """
    L, m = geometry.sensitivity, max(geometry.strong_convexity, 0.0)
    if not geometry.bounded or L == 0.0:
        return None
    D = geometry.diameter
    if m > 0.0:
        D = min(D, (_WIDEST + L / math.sqrt(m)) / math.sqrt(m))
    pulls = {part * L for part in _PULLS} | {L / 2.0 - m * part * D for part in _CENTRES}
    return max(_leak(pull, L, m, D, delta) for pull in sorted(pulls))


def _leak(a: float, L: float, m: float, D: float, delta: float) -> float:
    steepest = abs(a) + L + m * D
    panels = int(min(_MOST_PANELS, max(_LEAST_PANELS, math.ceil(steepest * D))))
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    h = D / panels
    x = (np.arange(panels)[:, None] + (nodes[None, :] + 1.0) / 2.0) * h
    with_record = _masses((L - a) * x - m / 2.0 * x * x, weights)
    without = _masses(-a * x - m / 2.0 * x * x, weights)
    right = [np.cumsum(mass[::-1]) for mass in (with_record, without)]
    left = [np.cumsum(mass) for mass in (with_record, without)]
    return max(
        epsilon_from_tails(right[0] * (1.0 - GENEROUS), right[1], delta),
        epsilon_from_tails(left[1] * (1.0 - GENEROUS), left[0], delta),
    )


def _masses(exponent: Array, weights: Array) -> Array:
    """The probabilities of the panels under the density proportional to exp(exponent)."""
    density = np.exp(exponent - np.max(exponent)) @ weights
    return np.asarray(density / np.sum(density))
