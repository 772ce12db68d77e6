"""The exact law of one-dimensional NoisySGD on quadratics, by convolution on a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QuadraticRun:
    """X <- Proj(slope X - V pull + sd Z) on [-half, half], V ~ Ber(p), from 0, in `steps` steps.

    All losses share the curvature (1 - slope)/eta; the record's gradient has a constant part that
    moves the iterate by `pull`, the others' are zero. `rates`, if given, has for each step what its
    learning rate and its noise on the iterate are multiplied by.
    """

    slope: float
    p: float
    sd: float
    half: float
    steps: int
    cells: int = 401
    rates: tuple[tuple[float, float], ...] = ()

    def law(self, pull: float) -> Array:
        """The masses of the cells of the last iterate; the outermost cells hold the projections."""
        mass = np.zeros(self.cells)
        mass[self.cells // 2] = 1.0
        if self.rates:
            for eta, noise in self.rates:
                mass = mass @ self._step(
                    1.0 - eta * (1.0 - self.slope), eta * pull, noise * self.sd
                )
            return mass
        step = self._step(self.slope, pull, self.sd)
        for _ in range(self.steps):
            mass = mass @ step
        return mass

    def _step(self, slope: float, pull: float, sd: float) -> Array:
        edges = np.linspace(-self.half, self.half, self.cells + 1)
        centres = 0.5 * (edges[1:] + edges[:-1])
        edges[0], edges[-1] = -np.inf, np.inf
        step = np.zeros((self.cells, self.cells))
        for weight, moved in ((1.0 - self.p, 0.0), (self.p, pull)):
            mean = slope * centres - moved
            cdf = ndtr((edges[None, :] - mean[:, None]) / sd)
            step += weight * np.diff(cdf, axis=1)
        return step

    def delta(self, pull: float, other: float, epsilon: float) -> float:
        """The larger of the two hockey-stick divergences between the two runs."""
        first, second = self.law(pull), self.law(other)
        gamma = float(np.exp(epsilon))
        return max(
            float(np.maximum(first - gamma * second, 0.0).sum()),
            float(np.maximum(second - gamma * first, 0.0).sum()),
        )
