"""Theorem B8 on a bounded set: a walk between two walls, whose law is computed by quadrature.

The set is a segment of length D, the losses are one quadratic (or linear) function up to a linear
term, so `X <- clip(slope X - pull + shift V + noise)`. The pull of the loss that all records share
leads both runs to the lower wall, where they forget; the record leads away from it.

**Quadrature.** After a step the law is an atom at each wall and, between them, a density that is a
mixture of Gaussians of deviation sd. What the next step makes of it is an integral of that density
against another Gaussian density or distribution function. At a distance of at most `b = 6 sd`
from the real line the product of the two has no larger modulus than `M = 7 exp(36)` (in units
of sd: |phi(x + ib)| = phi(x) exp(b^2/2), and |Phi(x + ib)| <= 1 + b exp(b^2/2)), so a Gauss rule
with N points errs by at most `(64/15) M rho^(-2N) / (1 - rho^-2)` on [-1, 1], where
`log rho = asinh(2 b / D)` is that of the ellipse of this height [Trefethen 2013, Theorem 19.3]. N
is chosen so that this is below 1e-30. The masses are sums of positive terms: their relative errors
are those of some hundred roundings a step.

**Long runs.** The walk is monotone in where it is. Of a long run only the last steps are followed,
with the record from the lower wall, without it from the upper one: both lower what is leaked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shiftdp._checks import Array
from shiftdp._rounding import AMPLE
from shiftdp.interpolation.instances.events import epsilon_from_tails

_WIDEST = 40.0  # deviations of noise between the walls; wider sets contain one of this diameter
_HEIGHT = 12.0  # 2 b / sd, see above
_NODES = (
    60.0  # N asinh(12 sd / D): with 2 log rho N >= 120 the error is below 7 e^36 e^-120 < 1e-34
)
_MORE_NODES = 12  # than the error bound asks for
_MOST_STEPS = 1500  # that are followed one by one
_SEARCHED = 150  # the same while the best pull is sought
_ERROR = 1e-7  # relative, for 1,500 steps with an error below 1e-12 each; what is lost is no matter
_QUADRATURE = 1e-25  # absolute, for 1,500 steps with an error below 1e-30 each
_LEVELS = 300  # of events {x > level}
_PULLS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)  # that are tried, in deviations of the noise
_CURVATURES = (0.0, 0.5, 1.0)  # that are tried, between the least and the largest that slopes allow


@dataclass(frozen=True)
class Phase:
    """Equal steps one after the other.

    Args:
        steps: how many.
        rate: the learning rate, by which curvature and pull are multiplied.
        shift: what the record moves the iterate by, rounded down.
        noise: the deviation of the noise on the iterate, rounded up.
    """

    steps: int
    rate: float
    shift: float
    noise: float


def best_walk(
    phases: list[Phase],
    p: float,
    diameter: float,
    delta: float,
    *,
    curvatures: tuple[float, float],
    pulled: bool,
    away: float = 0.0,
) -> float:
    """The best of the walks that were tried, rounded down.

    Args:
        phases: of the run, in the order of time.
        p: participation, rounded down.
        diameter: of the set.
        delta: where epsilon is read.
        curvatures: the least and the largest that the common loss may have, with slopes >= 0.
        pulled: whether the common loss may pull as hard as it likes, or not at all.
        away: the other version of the record moves the walk by this part, the other way.

    >>> phase = Phase(2000, rate=1.0, shift=3.0, noise=1.0)
    >>> found = best_walk([phase], 0.02, 20.0, 1e-5, curvatures=(0.0, 1.0), pulled=True)
    >>> round(found, 1)
    10.2
    """
    unit = min(phase.noise / phase.rate for phase in phases)
    low, high = curvatures
    tried = [
        (low + part * (high - low), pull * unit)
        for part in _CURVATURES
        if part == 0.0 or high > low
        for pull in (_PULLS if pulled else _PULLS[:1])
    ]

    def leak(each: tuple[float, float], most: int) -> float:
        curvature, pull = each
        shape = {"curvature": curvature, "pull": pull, "away": away}
        return walk_epsilon(phases, p, diameter, delta, **shape, most_steps=most)

    best = max(tried, key=lambda each: leak(each, _SEARCHED))
    return leak(best, _MOST_STEPS)


def walk_epsilon(
    phases: list[Phase],
    p: float,
    diameter: float,
    delta: float,
    *,
    curvature: float,
    pull: float,
    away: float = 0.0,
    most_steps: int = _MOST_STEPS,
) -> float:
    """What the walk with this curvature and pull leaks, rounded down.

    >>> one = Phase(1, rate=1.0, shift=3.0, noise=1.0)
    >>> epsilon = walk_epsilon([one], 1.0, 30.0, 1e-5, curvature=0.0, pull=-10.0)
    >>> round(epsilon, 2)  # that of G(3)
    16.68
    """
    phases, followed = _last(phases, most_steps)
    least = min(phase.noise for phase in phases)
    diameter = min(diameter, _WIDEST * least)
    nodes, weights = _gauss(math.ceil(_NODES / math.asinh(_HEIGHT * least / diameter)))
    x, g = diameter / 2.0 * (nodes + 1.0), diameter / 2.0 * weights
    points = np.concatenate([[0.0], x, [diameter]])
    with_record, without = np.zeros(points.size), np.zeros(points.size)
    with_record[0] = without[0 if followed else -1] = 1.0
    for number, phase in enumerate(phases):
        mean = (1.0 - phase.rate * curvature) * points - phase.rate * pull
        last = number == len(phases) - 1
        means = (mean, mean + phase.shift, mean - away * phase.shift)
        stay, move, back = (_kernel(at, x, g, diameter, phase.noise) for at in means)
        one = (1.0 - p) * stay + p * move
        other = (1.0 - p) * stay + p * back if away else stay
        for _ in range(phase.steps - last):
            with_record, without = one @ with_record, other @ without
    level = np.linspace(0.0, diameter, _LEVELS)
    moved = [(at - level[:, None]) / phases[-1].noise for at in means]
    return _read(moved, with_record, without, p, away, delta)


def _read(
    moved: list[Array], with_record: Array, without: Array, p: float, away: float, delta: float
) -> float:
    """Epsilon from the events {x > level} and {x < level} after the last step."""
    from scipy.special import ndtr

    best = 0.0
    for side in (1.0, -1.0):
        stay, move, back = (ndtr(side * at) for at in moved)
        one = ((1.0 - p) * stay + p * move) @ with_record
        other = ((1.0 - p) * stay + p * back if away else stay) @ without
        gained, paid = (one, other) if side > 0.0 else (other, one)
        gained = gained * (1.0 - _ERROR) - _QUADRATURE
        best = max(best, epsilon_from_tails(gained, paid * (1.0 + _ERROR) + _QUADRATURE, delta))
    return best * (1.0 - AMPLE)


def _last(phases: list[Phase], most: int) -> tuple[list[Phase], bool]:
    """The last steps, at most so many, and whether these are all."""
    kept: list[Phase] = []
    for phase in reversed(phases):
        left = most - sum(each.steps for each in kept)
        if left < phase.steps:
            part = [Phase(left, phase.rate, phase.shift, phase.noise)] if left else []
            return part + kept, False
        kept.insert(0, phase)
    return kept, True


def _kernel(mean: Array, x: Array, g: Array, diameter: float, noise: float) -> Array:
    """From each point to the lower wall, the nodes and the upper wall."""
    from scipy.special import ndtr

    density = np.exp(-0.5 * ((x[:, None] - mean[None, :]) / noise) ** 2)
    density *= g[:, None] / (noise * math.sqrt(2.0 * math.pi))
    return np.vstack([ndtr(-mean / noise), density, ndtr((mean - diameter) / noise)])


@lru_cache(maxsize=32)
def _gauss(order: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(order + _MORE_NODES)
    return nodes, weights
