"""Losses of one score: logistic, smoothed hinge, Huber, and squared with a clipped residual.

The Lipschitz envelope of a convex function of one number has the clipped derivative, so all of
them are clipped without losing convexity or smoothness. [docs/losses.md, Lemma 2]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from shiftdp._checks import DATA_GREATEST, DATA_LEAST, magnitude
from shiftdp.training.losses.base import Floats, Loss, module_of, real_numbers, signs


class _OneScore(Loss):
    """A loss of one score a record."""

    @property
    def outputs(self) -> int:
        return 1


@dataclass(frozen=True)
class Logistic(_OneScore):
    """log(1 + exp(-y z)) with labels y = 1 and y = -1 (or 0).

    >>> Logistic().slope, Logistic().curvature
    (1.0, 0.25)
    """

    @property
    def slope(self) -> float:
        return 1.0

    @property
    def curvature(self) -> float:
        return 0.25

    @property
    def initial_residual(self) -> float:
        return 0.5

    def targets(self, y: Any) -> NDArray[Any]:
        return np.asarray(np.maximum(signs(y), 0.0))

    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        # -y / (1 + e^{yz}) is the sigmoid, less 1 where y = 1: two calls, for which threads queue
        if isinstance(z, np.ndarray):
            scipy.special.expit(z, out=z)
        else:
            z.sigmoid_()
        z -= targets
        _clip(z, limits)


@dataclass(frozen=True)
class SmoothedHinge(_OneScore):
    """The hinge max(0, 1 - y z), its kink replaced by a parabola of full width h.

    It is (1 + h/2 - y z)^2 / (2h) for |1 - y z| <= h/2.

    >>> SmoothedHinge(width=0.5).curvature
    2.0
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        width = magnitude("width", self.width, DATA_LEAST, DATA_GREATEST)
        object.__setattr__(self, "width", width)

    @property
    def slope(self) -> float:
        return 1.0

    @property
    def curvature(self) -> float:
        ratio = 1.0 / self.width
        return ratio if ratio * self.width == 1.0 else math.nextafter(ratio, math.inf)

    def targets(self, y: Any) -> NDArray[Any]:
        return signs(y)

    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        opposite = -targets
        z *= opposite
        z += 1.0 + self.width / 2.0
        z /= self.width
        module_of(z).clip(z, 0.0, 1.0, out=z)
        z *= opposite
        _clip(z, limits)


class _Regression(_OneScore):
    """r^2/2 for residuals r = z - y of at most `slope`, and linear beyond."""

    @property
    def curvature(self) -> float:
        return 1.0

    @property
    def good_score(self) -> float:
        return self.slope

    def targets(self, y: Any) -> NDArray[Any]:
        return real_numbers("y", y)

    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        z -= targets
        if math.isfinite(self.slope):
            module_of(z).clip(z, -self.slope, self.slope, out=z)
        _clip(z, limits)


@dataclass(frozen=True)
class Huber(_Regression):
    """Regression: r^2/2 for |r| <= k, k|r| - k^2/2 beyond, r = z - y.

    >>> Huber(width=1.5).slope
    1.5
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        width = magnitude("width", self.width, DATA_LEAST, DATA_GREATEST)
        object.__setattr__(self, "width", width)

    @property
    def slope(self) -> float:
        return self.width


@dataclass(frozen=True)
class ClippedSquared(_Regression):
    """Least squares, the residual of each record clipped to `residual_bound`.

    Clipping the residual makes it the Huber loss of that width, whose constants it has. Without a
    bound (infinity) the plan must clip the gradients.

    >>> ClippedSquared(residual_bound=2.0).slope
    2.0
    """

    residual_bound: float = math.inf

    def __post_init__(self) -> None:
        bound = magnitude(
            "residual_bound", self.residual_bound, DATA_LEAST, DATA_GREATEST, infinite=True
        )
        object.__setattr__(self, "residual_bound", bound)

    @property
    def slope(self) -> float:
        return self.residual_bound


def _clip(g: Floats, limits: Floats | None) -> None:
    if limits is not None:
        xp = module_of(g)
        xp.minimum(g, limits, out=g)
        xp.maximum(g, -limits, out=g)
