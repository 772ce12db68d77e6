"""How much of an epsilon that was composed numerically is numerical error."""

from __future__ import annotations

from shiftdp._rounding import NINE_ROUNDINGS
from shiftdp.fdp import Minimum, TradeoffFunction, WithFailure
from shiftdp.fdp.composition.composite import Composite

__all__ = ["composed_below"]

_CAP_ROUNDING = 1e-3  # the part by which the probability of a failure may be rounded up


def composed_below(f: TradeoffFunction, delta: float) -> float | None:
    """A number not above the exact epsilon of the bound that f states; None for closed forms."""
    if isinstance(f, Composite):
        return f.epsilon_between(delta)[0]
    if isinstance(f, Minimum):
        # the largest exact epsilon is at least that of the first, which is mostly the larger
        return composed_below(f.components[0], delta)
    if isinstance(f, WithFailure):
        left = (delta - f.failure * (1.0 - _CAP_ROUNDING)) * (1.0 + NINE_ROUNDINGS)
        return composed_below(f.base, min(left, 0.5)) if left > 0.0 else None
    return None
