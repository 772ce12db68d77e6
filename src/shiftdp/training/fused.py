"""One pass over the records of a large batch, for losses of one score, compiled by numba if it is
installed.

In NumPy a record is read twice, and its score and residual go through half a dozen calls, for which
threads queue. Compiled, each record is read once. The first use takes seconds to compile; what
comes of it is kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from shiftdp.training.loss import Floats, Loss
from shiftdp.training.scalar_losses import ClippedSquared, Huber, Logistic, SmoothedHinge

__all__ = ["FusedSum", "fused_sum", "kernels"]

_WORTHWHILE = 1 << 33  # multiplications: a few tenths of a second, which numba takes to be loaded


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


def fused_sum(loss: Loss, work: float) -> FusedSum | None:
    """The sum for losses of one score; None for others, or where `kernels` is None."""
    compiled = kernels(work) if type(loss) in _WIDTHS else None
    if compiled is None:
        return None
    kinds = {Logistic: compiled.LOGISTIC, SmoothedHinge: compiled.HINGE}
    kind, width = kinds.get(type(loss), compiled.CLIPPED), float(_WIDTHS[type(loss)](loss))
    return lambda *arguments: compiled.one_score_sum(*arguments, kind, width)


def kernels(work: float) -> Any:
    """The module `compiled`, or None without numba, or if it takes longer to load than it saves.

    Args:
        work: multiplications of all steps together.
    """
    if work < _WORTHWHILE:
        return None
    try:
        import numba  # noqa: F401
    except ImportError:
        return None
    from shiftdp.training import compiled

    return compiled


_WIDTHS: dict[type[Loss], Callable[[Any], float]] = {
    Logistic: lambda loss: 0.0,
    SmoothedHinge: lambda loss: loss.width,
    Huber: lambda loss: loss.width,
    ClippedSquared: lambda loss: loss.residual_bound,
}
