"""The data of a run, checked before any work, with what a step needs of each record cached.

No copy is made of features that are float32 or float64 and stored row by row (or column by column):
a row above the bound is scaled where it is used, by a factor that is kept for each record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.training.loss import Floats, described

if TYPE_CHECKING:
    from shiftdp.training.plan import Plan

__all__ = ["Records", "prepare"]

_BLOCK = 1 << 20  # entries that are looked at together


@dataclass(frozen=True, repr=False)
class Records:
    """Features as given; targets; scales to the bound; limits of the residuals."""

    features: Any
    targets: NDArray[Any]
    scales: Floats | None
    limits: Floats | None
    forms: dict[Any, Any] = field(default_factory=dict, compare=False)
    """Records in another form, kept by whoever makes it, because all threads use the same."""

    @property
    def sparse(self) -> bool:
        return not isinstance(self.features, np.ndarray)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.features.dtype
        return dtype


def prepare(plan: Plan, X: Any, y: Any) -> Records:
    """The records of a plan, or one error that tells nothing of their values."""
    features = _features(X)
    n, d = features.shape
    if n != plan.run.n:
        raise InvalidInput(
            "X", described(X), f"does not have the {plan.run.n} records of the plan", "plan anew"
        )
    if plan.features is not None and d != plan.features:
        raise InvalidInput(
            "X", described(X), f"does not have the {plan.features} features of the plan", "give it"
        )
    targets = plan.loss.targets(y, features.dtype)
    if targets.shape != (n,):
        raise InvalidInput("y", described(targets), f"does not have {n} entries", "give one a row")
    if not (targets.dtype.kind != "f" or np.isfinite(targets).all()):
        raise InvalidInput(
            "y", described(targets), f"has entries beyond {features.dtype}", "rescale it"
        )
    norms = _norms(features)
    if not np.isfinite(norms).all():
        raise InvalidInput(
            "X", described(X), "has entries that are not finite", "give finite numbers"
        )
    bound = plan.feature_bound
    # a norm is known to a few ulps: what may be above the bound is scaled as if it were
    norms *= 1.0 + 2.0**-40
    # ... and rows that were scaled to the bound in their own precision are not refused
    rounding = 1.0 + 8.0 * float(np.finfo(features.dtype).eps) + 2.0**-39
    if plan.oversized == "refuse" and (norms > bound * rounding).any():
        raise InvalidInput(
            "X",
            described(X),
            f"has a row of norm above feature_bound={bound:g}",
            'rescale it, or give the plan oversized="scale"',
        )
    with np.errstate(divide="ignore"):
        factors = np.minimum(1.0, bound / norms)
    held = np.minimum(norms, bound)
    scales = _below(factors, features.dtype) if (norms > bound).any() else None
    return Records(features, targets, scales, _limits(plan, held, features.dtype))


def _limits(plan: Plan, norms: NDArray[np.float64], dtype: np.dtype[Any]) -> Floats | None:
    """kappa = clip/|x| for each record, less what rounding may add to the norm of a residual."""
    if plan.residual_clip is None:
        return None
    if plan.intercept:
        norms = np.sqrt(norms * norms + 1.0)
    room = 1.0 - (8 + plan.loss.outputs) * float(np.finfo(dtype).eps)
    with np.errstate(divide="ignore"):
        limits = plan.residual_clip * room / norms
    return _below(np.minimum(limits, 0.5 * float(np.finfo(dtype).max)), dtype)


def _below(values: NDArray[np.float64], dtype: np.dtype[Any]) -> Floats:
    """Cast without rounding up."""
    cast: Floats = values.astype(dtype)
    return np.where(cast > values, np.nextafter(cast, dtype.type(0)), cast)


def _features(X: Any) -> Any:
    if _is_sparse(X):
        return _sparse(X)
    remedy = "give a matrix of finite numbers, one row a record"
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        raise InvalidInput("X", described(X), "is not a matrix", remedy) from None
    if array.dtype.kind not in "fiub":
        raise InvalidInput("X", described(array), "is not an array of real numbers", remedy)
    if array.ndim != 2 or 0 in array.shape:
        problem = "is empty" if array.size == 0 else "is not a matrix"
        raise InvalidInput("X", described(array), problem, remedy)
    if array.dtype not in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    return array


def _is_sparse(X: Any) -> bool:
    from scipy.sparse import issparse

    return bool(issparse(X))


def _sparse(X: Any) -> Any:
    if X.dtype.kind not in "fiub" or X.ndim != 2 or 0 in X.shape:
        raise InvalidInput(
            "X", described(X), "is not a matrix of real numbers", "give a CSR matrix with entries"
        )
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    matrix = X.tocsr().astype(dtype, copy=False)
    # entries given twice count as their sum, in products and so in norms
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _norms(features: Any) -> NDArray[np.float64]:
    """The norm of each row, in double precision, block by block; not finite where a row is not."""
    n, d = features.shape
    norms = np.empty(n)
    rows = max(1, _BLOCK // d)
    with np.errstate(over="ignore", invalid="ignore"):
        if not isinstance(features, np.ndarray):
            squares = features.data.astype(np.float64) ** 2
            owner = np.repeat(np.arange(n), np.diff(features.indptr))
            return np.sqrt(np.bincount(owner, weights=squares, minlength=n))
        for start in range(0, n, rows):
            block = features[start : start + rows].astype(np.float64, copy=False)
            norms[start : start + rows] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return norms
