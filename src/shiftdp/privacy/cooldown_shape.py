"""The cool-down that makes a run with random batches cheapest in noise, for a privacy budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shiftdp._checks import number_in
from shiftdp._errors import InvalidInput
from shiftdp._roots import sign_change
from shiftdp._rounding import NOT_ZERO
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, has_releases
from shiftdp.last_iterate.schedules.cooldown import cooldown
from shiftdp.last_iterate.theorems.hidden import hidden_estimate
from shiftdp.privacy.calibration import calibrate_noise, scaled

_LARGEST_FACTOR = 8.0
"""How much more noise the last steps have unless told: most of the gain is there, and one step does
not drown what was learnt."""
_SHARE = 0.3
"""Where the search begins: last * factor^2 as a part of n/b (see `cooldown`)."""
_CLOSE = 1e-3
"""How closely noise is looked for while lengths are compared: the best is calibrated anew."""
_RANGE = 1e-3, 1e3
"""What the noise of the run without a cool-down is multiplied by, at the least and at the most."""


def calibrate_cooldown(
    run: NoisySGD,
    geometry: Geometry,
    *,
    epsilon: float,
    delta: float,
    most: float = _LARGEST_FACTOR,
    bounds: Bounds = "best",
) -> NoisySGD:
    """The same run with the cool-down and the noise that meet the budget with least noise in all.

    What is made small is the sum of the variances over all steps. Of two cool-downs with the same
    sum the one with more noise in fewer last steps is better (Theorem C1), so the last steps have
    `most` times the noise of the others, and only their number is looked for: by Theorem B7, in
    steps of a factor of 2, from the rule of `cooldown`. The noise is then calibrated by
    `calibrate_noise`. Where no cool-down helps, the noise comes back equal.

    Args:
        run: equal noise in all steps, whose amount does not matter; without `releases`.
        geometry: what is assumed of the losses.
        epsilon: of the budget.
        delta: of the budget.
        most: the factor of the cool-down.
        bounds: as in `certify`, for the calibration.

    >>> geometry = Geometry(strong_convexity=0, smoothness=1, sensitivity=1, adjacency="zero_out")
    >>> run = NoisySGD(
    ...     n=2000, batch_size=20, steps=100, learning_rate=0.1, noise=0.1, sampling="poisson"
    ... )
    >>> found = calibrate_cooldown(run, geometry, epsilon=1.0, delta=1e-5)
    >>> flat = calibrate_noise(run, geometry, epsilon=1.0, delta=1e-5)
    >>> sum(x * x for x in found.noise) < 0.8 * 100 * flat.noise**2
    True
    """
    given: object = run
    if not isinstance(given, NoisySGD) or isinstance(run.noise, tuple) or math.isinf(run.steps):
        raise InvalidInput(
            "run",
            type(given).__name__,
            "is not a run with random batches, a last step, and equal noise",
            "give NoisySGD with a number of steps and one number as its noise",
        )
    if has_releases(run):
        raise InvalidInput(
            "releases",
            run.releases if isinstance(run.releases, str) else f"<{len(run.releases or ())} steps>",
            "leave no cool-down to look for: it hides the steps before the last iterate alone "
            "(Theorem B7)",
            "leave releases out, or use calibrate_noise",
        )
    factor = number_in("most", most, 1.0, open_low=True, open_high=True)
    flat = calibrate_noise(run, geometry, epsilon=epsilon, delta=delta, bounds=bounds)

    def cooled(last: int) -> NoisySGD:
        noise = cooldown(run.steps, flat.noise, last=last, factor=factor)
        return _just_enough(replace(flat, noise=noise), geometry, epsilon, delta)

    wanted = _SHARE / run.participation / factor**2
    shape = _least(cooled, max(1, round(wanted)), run.steps)
    found = calibrate_noise(shape, geometry, epsilon=epsilon, delta=delta, bounds=bounds)
    return min((flat, found), key=_total)


def _least(cooled: Callable[[int], NoisySGD], start: int, steps: int) -> NoisySGD:
    """The length whose neighbours, half and twice as long, are no better."""
    known: dict[int, NoisySGD] = {}

    def total(last: int) -> float:
        if last not in known:
            known[last] = cooled(last)
        return _total(known[last])

    last = min(start, steps)
    while True:
        near = (last, max(1, last // 2), min(steps, 2 * last))
        better = min(near, key=total)
        if better == last:
            return known[last]
        last = better


def _just_enough(run: NoisySGD, geometry: Geometry, epsilon: float, delta: float) -> NoisySGD:
    """With all its noise multiplied so that Theorem B7 just meets the budget, by estimates."""

    def excess(x: float) -> float:
        found = hidden_estimate(scaled(run, "noise", x), geometry, delta)
        return math.log(max(found, NOT_ZERO)) - math.log(max(epsilon, NOT_ZERO))

    found = sign_change(excess, 1.0, *_RANGE, slope=-1.0, relative=_CLOSE)
    return scaled(run, "noise", found.meets or _RANGE[1])


def _total(run: NoisySGD) -> float:
    """The sum of the variances of the noise."""
    return float(np.sum(np.broadcast_to(np.square(run.noise), run.steps)))
