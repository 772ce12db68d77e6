"""The drifting instance of Theorem B5, as data that can be simulated.

All records share one loss f_0 on the line. Its curvature is `background`, strictly inside (m, M),
so the noiseless path runs through `places` x_k = x_{k-1} (1 - eta_k background), far from one
another: towards the minimiser, or across it and back if eta_k background > 1. Around each place a
window of another curvature gives that step the slope that Theorem B5 asks for. Beside a window two
flanks undo it: outside, the gradient is background * x again, so the windows do not disturb the
path. The exchanged record's gradient is that of f_0 plus `sign(x) * L`, the sign passing from one
window's to the next one's linearly in the empty room between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from shiftdp._checks import Array, count, finite
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.interpolation.closed_forms._shared import per_step
from shiftdp.interpolation.schedule import Schedule

# Window half-widths in standard deviations, beyond the shift that both processes must fit in.
_DEVIATIONS = 9.0
# |x| beyond this many noise deviations would bring float rounding (1e-16 |x|) near the noise.
_LARGEST = 1e11
# Background curvatures that are tried, as parts of the way from m to M.
_BACKGROUNDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
# How much longer flanks are than they have to be, to keep curvatures strictly inside (m, M).
_LONGER = 1.25
# By how much, as a part of 1 + eta M, a slope may be outside its range by rounding.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class DriftingInstance:
    """One-dimensional losses and a start on which NoisyGD or NoisyCGD leaks as B5 says.

    Args:
        schedule: sensitivities `eta_k L / b_k` and noises `eta_k sigma_k` of the run.
        learning_rates: eta_k.
        background: curvature outside all windows and flanks.
        places: noiseless iterates x_0 .. x_t; window k is centred at `places[k - 1]`.
        curvatures: curvature in each window, `(1 - slope_k) / eta_k`.
        slopes: slope of each step, with its sign.
        signs: sign of the exchanged record's extra gradient in each window; the step moves
            against the gradient, so it is minus the sign of the weight of the step.
        half_width: W, half the length of a window.
        flank: F, length of each of the two flanks of a window.
    """

    schedule: Schedule
    learning_rates: Array
    background: float
    places: Array
    curvatures: Array
    slopes: Array
    signs: Array
    half_width: float
    flank: float
    _knots: tuple[Array, Array] = field(init=False, repr=False)
    _sign_knots: tuple[Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        W, F = self.half_width, self.flank
        order = np.argsort(self.places[:-1])
        centre = self.places[:-1][order]
        height = (self.curvatures[order] - self.background) * W
        x = centre[:, None] + np.array([-W - F, -W, W, W + F])
        y = height[:, None] * np.array([0.0, -1.0, 1.0, 0.0])
        object.__setattr__(self, "_knots", (x.ravel(), y.ravel()))
        edges = centre[:, None] + np.array([-W - F, W + F])
        object.__setattr__(self, "_sign_knots", (edges.ravel(), np.repeat(self.signs[order], 2)))

    @property
    def start(self) -> float:
        """x_0, the same for both data sets."""
        return float(self.places[0])

    @property
    def mu(self) -> float:
        """Mean shift over deviation as long as no run leaves its windows."""
        w = self._path_weights()
        shift = float(np.sum(np.abs(w) * self.schedule.sensitivity))
        return shift / math.sqrt(float(np.sum((w * self.schedule.noise) ** 2)))

    def gradient(self, x: Array) -> Array:
        """f_0'(x)."""
        return self.background * x + np.interp(x, *self._knots)

    def sign(self, x: Array) -> Array:
        """What the exchanged record adds to its gradient at x, in units of L."""
        return np.interp(x, *self._sign_knots)

    def curvature_range(self) -> tuple[float, float]:
        """Least and largest curvature of f_0 and of the exchanged record's loss (batch size 1)."""
        x, y = self._knots
        # Between the flanks of neighbouring windows y is 0 and only `sign` varies.
        own = np.diff(y) / np.diff(x)
        edges, signs = self._sign_knots
        L = float(np.max(self.schedule.sensitivity / self.learning_rates))
        added = L * np.diff(signs) / np.diff(edges)
        every = self.background + np.concatenate((own, added, [0.0]))
        return float(every.min()), float(every.max())

    def _path_weights(self) -> Array:
        w = np.ones(self.slopes.size)
        w[:-1] = np.cumprod(self.slopes[:0:-1])[::-1]
        return w


@dataclass(frozen=True, eq=False)
class Simulation:
    """Last iterates of both processes, one entry a run."""

    original: Array
    exchanged: Array

    @property
    def mean_shift_over_deviation(self) -> float:
        """The estimate of mu."""
        shift = float(np.mean(self.exchanged) - np.mean(self.original))
        spread = 0.5 * (float(np.var(self.original)) + float(np.var(self.exchanged)))
        return abs(shift) / math.sqrt(spread)


def drifting_instance(
    schedule: Schedule,
    learning_rate: ArrayLike,
    strong_convexity: float,
    smoothness: float,
    slopes: ArrayLike,
) -> DriftingInstance:
    """Theorem B5: losses of the class (m, M), m < M, whose steps show the given slopes.

    Args:
        schedule: the steps, without projection.
        learning_rate: eta, one or one a step.
        strong_convexity: m.
        smoothness: M > m.
        slopes: |slope| of each step, as in `LowerBound.slopes`; the sign is chosen here: positive
            if the curvature (1 - c')/eta lies in [m, M], negative if only (1 + c')/eta does.

    >>> steps = Schedule([0.9] * 8, [0.19] * 8, [0.19] * 8)
    >>> instance = drifting_instance(steps, 0.19, 1.0, 10.0, slopes=[0.9] * 8)
    >>> round(instance.mu, 4), instance.slopes[0].round(2), instance.signs[:4]
    (2.7504, np.float64(-0.9), array([ 1., -1.,  1., -1.]))
    """
    if schedule.diameter != math.inf:
        raise UnmetHypothesis(
            "diameter", schedule.diameter, "is finite", "drop the projection: B5 needs room"
        )
    t = schedule.steps
    eta = per_step("learning_rate", learning_rate, t, open_low=True)
    m, M = finite("strong_convexity", strong_convexity), finite("smoothness", smoothness)
    if not m < M:
        raise UnmetHypothesis(
            "smoothness", M, f"is not above strong_convexity={m:g}", "B5 needs m < M"
        )
    size = per_step("slopes", slopes, t)
    signed = _signed_slopes(size, eta, m, M)
    curvatures = np.clip((1.0 - signed) / eta, m, M)
    w = np.ones(t)
    w[:-1] = np.cumprod(signed[:0:-1])[::-1]
    signs = np.where(w < 0.0, 1.0, -1.0)
    half_width = _half_width(schedule, size)
    background, places, flank = _path(schedule, eta, m, M, curvatures, half_width)
    return DriftingInstance(
        schedule, eta, background, places, curvatures, signed, signs, half_width, flank
    )


def simulate(instance: DriftingInstance, runs: int, rng: np.random.Generator) -> Simulation:
    """Run both processes; they share their noise, which alters neither law.

    Args:
        instance: what to run.
        runs: number of independent runs.
        rng: source of the noise.

    >>> steps = Schedule([0.9] * 8, [0.19] * 8, [0.19] * 8)
    >>> instance = drifting_instance(steps, 0.19, 1.0, 10.0, slopes=[0.9] * 8)
    >>> found = simulate(instance, 1000, np.random.default_rng(0))
    >>> abs(found.mean_shift_over_deviation / instance.mu - 1) < 0.1
    True
    """
    n = count("runs", runs, 2)
    steps = instance.schedule
    x = np.full(n, instance.start)
    y = x.copy()
    for eta, s, sd in zip(instance.learning_rates, steps.sensitivity, steps.noise, strict=True):
        noise = sd * rng.standard_normal(n)
        x = x - eta * instance.gradient(x) + noise
        y = y - eta * instance.gradient(y) - s * instance.sign(y) + noise
    return Simulation(x, y)


def _signed_slopes(size: Array, eta: Array, m: float, M: float) -> Array:
    slack = _SLACK * (1.0 + eta * max(abs(m), abs(M)))
    positive = ((1.0 - size) >= eta * m - slack) & ((1.0 - size) <= eta * M + slack)
    negative = ((1.0 + size) >= eta * m - slack) & ((1.0 + size) <= eta * M + slack)
    if not np.all(positive | negative):
        k = int(np.argmin(positive | negative))
        raise InvalidInput(
            "slopes",
            float(size[k]),
            f"is not |1 - eta h| of a curvature h in [{m:g}, {M:g}] at eta={eta[k]:g}",
            "keep each slope between slope_floor and the step's contraction",
        )
    return np.where(positive, size, -size)


def _half_width(schedule: Schedule, size: Array) -> float:
    """Room for the noise of either process, and for their shift, at every step."""
    variance, shift, widest = 0.0, 0.0, 0.0
    for c, s, sd in zip(size, schedule.sensitivity, schedule.noise, strict=True):
        variance, shift = c * c * variance + sd * sd, c * shift + s
        widest = max(widest, _DEVIATIONS * math.sqrt(variance) + shift)
    return widest


def _path(
    schedule: Schedule, eta: Array, m: float, M: float, curvatures: Array, W: float
) -> tuple[float, Array, float]:
    """The background curvature that needs the shortest drift, its path and the flanks' length."""
    L = float(np.max(schedule.sensitivity / eta))
    best: tuple[float, float, Array, float] | None = None
    for part in _BACKGROUNDS:
        h = m + part * (M - m)
        below, above = h - m, M - h
        # A flank has curvature h - (curvature - h) W / F; keep it inside (m, M) with room left.
        steep = max(
            float(np.max(curvatures - h)) / below, float(np.max(h - curvatures)) / above, 0.5
        )
        F = _LONGER * W * steep
        # Empty room between two windows, where the sign may turn: 2 L / room below the slack.
        room = 2.0 * F + 4.0 * L / min(below, above)
        unit = np.concatenate(([1.0], np.cumprod(1.0 - eta * h)))
        nearest = float(np.min(np.diff(np.sort(unit[:-1])))) if eta.size > 1 else 1.0
        if nearest <= 0.0:
            continue
        far = (2.0 * (W + F) + room) / nearest
        if best is None or far < best[0]:
            best = far, h, -far * unit, F
    least = float(np.min(schedule.noise[schedule.noise > 0.0], initial=math.inf))
    if best is None or best[0] > _LARGEST * least:
        raise UnmetHypothesis(
            "steps",
            schedule.steps,
            "need a drift that outgrows double precision",
            "simulate fewer steps or a learning rate farther from 1/curvature",
        )
    far, background, places, F = best
    return background, places, F
