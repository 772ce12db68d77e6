"""The data of a run, checked before the first step: features, targets, and clipping limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.rows import BoundedRows, bounded_rows
from shiftdp.training.losses.base import Floats, described

if TYPE_CHECKING:
    from shiftdp.training.plan import Plan

__all__ = ["Records", "prepare"]

_UNIT = 2.0**-53  # the relative error of one rounding in float64


@dataclass(frozen=True, repr=False)
class Records:
    """The records of a run.

    Args:
        rows: the feature vectors, none longer than the plan's bound.
        targets: the labels or numbers, in the form that the loss wants.
        limits: the norm that the residual of each record is clipped to; None without clipping.
    """

    rows: BoundedRows
    targets: NDArray[Any]
    limits: Floats | None


def prepare(plan: Plan, X: Any, y: Any) -> Records:
    """Check the data that a plan is to run on; an error names shapes and types, never a value."""
    rows = bounded_rows(X, plan.feature_bound)
    n, d = rows.shape
    if n != plan.run.n:
        raise InvalidInput(
            "X", described(X), f"does not have the {plan.run.n} records of the plan", "plan anew"
        )
    if plan.features is not None and d != plan.features:
        raise InvalidInput(
            "X", described(X), f"does not have the {plan.features} features of the plan", "give it"
        )
    targets = plan.loss.targets(y)
    if targets.shape != (n,):
        raise InvalidInput("y", described(targets), f"does not have {n} entries", "give one a row")
    # rows that were scaled to the bound in their own precision are not refused
    rounding = 8.0 * float(np.finfo(rows.features.dtype).eps) + (2 * d + 32) * _UNIT
    if plan.oversized == "refuse" and rows.longest > plan.feature_bound * (1.0 + rounding):
        raise InvalidInput(
            "X",
            described(X),
            f"has a row of norm above feature_bound={plan.feature_bound:g}",
            'rescale it, or give the plan oversized="scale"',
        )
    return Records(rows, targets, _limits(plan, rows.norms))


def _limits(plan: Plan, norms: NDArray[np.float64]) -> Floats | None:
    """The limit clip/|x| for the residual of each record: its gradient has the norm |g| |x|.

    It is made smaller by what rounding may add to the norm of a computed residual, so that no
    computed gradient is longer than the clip.
    """
    if plan.residual_clip is None:
        return None
    if plan.intercept:
        norms = np.sqrt(norms * norms + 1.0)
    room = 1.0 - 2.0 * (8 + plan.loss.outputs) * _UNIT
    with np.errstate(over="ignore"):
        limits = plan.residual_clip * room / norms
    return np.minimum(limits, 0.5 * float(np.finfo(np.float64).max))
