"""Projected walks with visits at known steps: what a run on a bounded set leaks at least.

`interpolation.instances.clipped_walk` follows the law of a walk between two walls by quadrature.
There the record takes part with some probability in each step; here it does so in the steps of its
batch, and, after a deletion, in none.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np

from shiftdp._rounding import EIGHT_ROUNDINGS, ULP
from shiftdp.interpolation.instances.clipped_walk import Phase, best_walk
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import Run
from shiftdp.trials.exact.timeline import Timeline, timeline_of

UP, DOWN = 1.0 + EIGHT_ROUNDINGS, 1.0 - EIGHT_ROUNDINGS  # of products of a few factors
_MOST_PHASES = 400  # stretches of equal steps that are followed


def walled_epsilon(run: Run, geometry: Geometry, delta: float) -> float | None:
    """An epsilon that some losses on a segment of this diameter need; None if none is known.

    >>> from shiftdp.last_iterate import NoisyGD
    >>> run = NoisyGD(n=1, steps=1, learning_rate=1.0, noise=1.0)
    >>> losses = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=2.0, diameter=30.0)
    >>> 9.99 < walled_epsilon(run, losses, 1e-5) < 9.998  # that of G(2) is 9.9973
    True
    """
    if not geometry.bounded or geometry.prox_convexity or geometry.sensitivity == 0.0:
        return None
    line = timeline_of(run, geometry)
    if line is None or line.law not in ("position", "each_step") or line.releases[:-1]:
        return None
    low, steepest = max(geometry.strong_convexity, 0.0), 1.0 / float(np.max(line.rate)) * DOWN
    phases = _phases(line)
    if phases is None or low > steepest:
        return None
    return best_walk(
        phases,
        1.0 if line.law == "position" else line.p * (1.0 - ULP),
        geometry.diameter,
        delta,
        curvatures=(low, max(low, min(geometry.smoothness, steepest)) if line.alike else low),
        pulled=line.alike or low > 0.0,
    )


def _phases(line: Timeline) -> list[Phase] | None:
    """Stretches of equal steps, the record being in the last batch of each epoch."""
    moved = line.moved
    if line.law == "position":
        moved = np.where(np.arange(line.steps) % line.epoch == line.epoch - 1, moved, 0.0)
    steps = zip(line.rate.tolist(), line.noise.tolist(), moved.tolist(), strict=True)
    phases = [
        Phase(sum(1 for _ in same), rate, rate * shift * DOWN, rate * sd * UP)
        for (rate, sd, shift), same in groupby(steps)
    ]
    return phases if len(phases) <= _MOST_PHASES else None
