"""The data of a run, checked before any work, with what a step needs of each record."""

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

_UNIT = 2.0**-53


@dataclass(frozen=True, repr=False)
class Records:
    """Feature vectors within their bound; targets; the longest residual each record may have."""

    rows: BoundedRows
    targets: NDArray[Any]
    limits: Floats | None


def prepare(plan: Plan, X: Any, y: Any) -> Records:
    """The records of a plan, or one error that tells nothing of their values."""
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
    """kappa = clip/|x| for each record, less what rounding may add to the norm of a residual."""
    if plan.residual_clip is None:
        return None
    if plan.intercept:
        norms = np.sqrt(norms * norms + 1.0)
    room = 1.0 - 2.0 * (8 + plan.loss.outputs) * _UNIT
    with np.errstate(over="ignore"):
        limits = plan.residual_clip * room / norms
    return np.minimum(limits, 0.5 * float(np.finfo(np.float64).max))
