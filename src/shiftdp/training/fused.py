"""One pass over the records of a large batch, for losses of one score, compiled by numba if it is
installed.

In NumPy a record is read twice, and its score and residual go through half a dozen calls, for which
threads queue. Compiled, each record is read once. Sums of 256 records are added up in double
precision, whatever the records have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from shiftdp.training.loss import Floats, Loss
from shiftdp.training.scalar_losses import ClippedSquared, Huber, Logistic, SmoothedHinge

__all__ = ["FusedSum", "fused_sum"]

_TOGETHER = 256  # records


class FusedSum(Protocol):
    """Writes sum_i g_i x_i to `out` and returns sum_i g_i, g_i the residual of the i-th record.

    Empty `limits` do not clip, empty `scales` do not scale the features.
    """

    def __call__(
        self,
        features: Floats,
        targets: Floats,
        limits: Floats,
        scales: Floats,
        weights: Floats,
        intercept: float,
        out: Floats,
    ) -> float: ...


def fused_sum(loss: Loss) -> FusedSum | None:
    """The sum for this loss; None where there is none, or no numba."""
    if type(loss) not in _RESIDUALS:
        return None
    try:
        import numba  # noqa: F401
    except ImportError:
        return None
    residual, parameter = _RESIDUALS[type(loss)]
    width = float(parameter(loss))
    compiled = _compiled(residual)
    return lambda *arguments: compiled(*arguments, width)


@cache
def _compiled(residual: Callable[[float, float, float], float]) -> Callable[..., float]:
    from numba import njit

    one = njit(nogil=True)(residual)

    # sums may be reordered, so that they run on vectors; infinities stay what they are
    @njit(nogil=True, fastmath={"reassoc", "contract"})
    def summed(
        X: Any, y: Any, limits: Any, scales: Any, w: Any, b: float, out: Any, width: float
    ) -> float:
        n, d = X.shape
        total = 0.0
        wide = [0.0] * d
        part = w * 0
        for start in range(0, n, _TOGETHER):
            part[:] = 0
            for i in range(start, min(start + _TOGETHER, n)):
                z = X[i, 0] * w[0]
                for j in range(1, d):
                    z += X[i, j] * w[j]
                if scales.size:
                    z *= scales[i]
                g = one(z + b, y[i], width)
                if limits.size:
                    g = min(max(g, -limits[i]), limits[i])
                total += g
                if scales.size:
                    g *= scales[i]
                rounded = part.dtype.type(g)
                for j in range(d):
                    part[j] += rounded * X[i, j]
            for j in range(d):
                wide[j] += part[j]
        for j in range(d):
            out[j] = wide[j]
        return total

    return summed


# --- residuals of one record, as `scalar_losses` has them for arrays ---


def _logistic(z: float, y: float, width: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) - y


def _hinge(z: float, y: float, width: float) -> float:
    return -y * min(max((1.0 - y * z) / width + 0.5, 0.0), 1.0)


def _huber(z: float, y: float, width: float) -> float:
    return min(max(z - y, -width), width)


_RESIDUALS: dict[type[Loss], tuple[Callable[..., float], Callable[[Any], float]]] = {
    Logistic: (_logistic, lambda loss: 0.0),
    SmoothedHinge: (_hinge, lambda loss: loss.width),
    Huber: (_huber, lambda loss: loss.width),
    ClippedSquared: (_huber, lambda loss: loss.residual_bound),
}
