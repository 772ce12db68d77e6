"""What a loss is here: a convex function of a record's scores, with constants that are proved.

A linear model gives record x the scores z = W x, one for each of the loss's `outputs`. If the loss
is `slope`-Lipschitz and `curvature`-smooth in z, then on |x| <= R it is (slope R)-Lipschitz and
(curvature R^2)-smooth in W: its gradient is the outer product of the residual g, the gradient in z,
with x, and its Hessian is the Kronecker product of the Hessian in z with x x^T. The norm of a
record's gradient is therefore |g| |x|, and nobody has to form it. Proofs: docs/losses.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput

Floats = NDArray[Any]
"""An array of float64, or in formulas of losses a tensor of it on a device."""

Numbers = tuple[tuple[str, float], ...]
"""Numbers by name."""

_GOOD_LOGIT = 12.0  # e^-12 = 6e-6: how often a model of such logits expects to be wrong


class Loss(ABC):
    """A loss of a linear model. Frozen; only arrays that are passed in are written to."""

    @property
    def name(self) -> str:
        """What a certificate calls it."""
        return type(self).__name__

    @property
    def parameters(self) -> Numbers:
        """The numbers that it was made with, by name, as a certificate states them."""
        return numbers_of(self)

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many scores a record has."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """The Lipschitz constant in the scores, never rounded down; may be infinite."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The smoothness in the scores, never rounded down."""

    @property
    def least_limit(self) -> float:
        """The least limit that a residual can be clipped to with the accuracy that is certified."""
        return 0.0

    @property
    def initial_residual(self) -> float:
        """The norm of the gradient at scores of 0, where every record begins; `slope` if that is
        as long as any. The planner clips below it."""
        return self.slope

    @property
    def good_score(self) -> float:
        """How large the scores of a good model are: logits that tell classes apart for good."""
        return _GOOD_LOGIT

    @abstractmethod
    def targets(self, y: Any) -> NDArray[Any]:
        """The labels in the form that `residuals` wants, or one clear error."""

    @abstractmethod
    def residuals(self, z: Floats, targets: NDArray[Any], limits: Floats | None) -> None:
        """Replace the scores z, of shape (..., outputs, records), by the gradient in them.

        With `limits`, one number kappa a record, it is the gradient of the Lipschitz envelope:
        of the infimal convolution of the loss with kappa |.|. Axes before the last two are models
        that look at the same records. Where a device trains, z is a tensor of PyTorch. Arrays and
        tensors share operators, indexing and most functions, with `axis` and `out` as NumPy has
        them: formulas for both take the functions of `module_of(z)`.
        """

    def scaled_residuals(self, z: Floats, targets: NDArray[Any], limits: Floats) -> None:
        """`residuals` under plain clipping: each residual is scaled down to its limit."""
        self.residuals(z, targets, None)
        scale_to_limits(z, limits)


def module_of(array: Any) -> Any:
    """NumPy, or torch if the array is a tensor of it.

    >>> module_of(np.zeros(1)).__name__
    'numpy'
    """
    return np if isinstance(array, np.ndarray) else import_module("torch")


def numbers_of(item: Any) -> Numbers:
    """The numbers among the fields of a dataclass, by name."""
    if not is_dataclass(item):
        return ()
    values = ((part.name, getattr(item, part.name)) for part in fields(item))
    return tuple((name, value) for name, value in values if isinstance(value, (int, float)))


def scale_to_limits(g: Floats, limits: Floats) -> None:
    """Plain clipping: each residual scaled down to its limit. Not monotone for three classes."""
    xp = module_of(g)
    norms = xp.sqrt(xp.einsum("...kb,...kb->...b", g, g))
    xp.maximum(norms, limits, out=norms)
    g *= xp.divide(limits, norms, out=norms)[..., None, :]


def described(values: Any) -> str:
    """What an error may say of data: its shape and type, never an entry.

    The type of an array of text is "text": NumPy's own name for it tells the length of the longest.

    >>> described(np.array(["yes", "no"])), described([1.0])
    ('<shape (2,), text>', '<list>')
    """
    shape, dtype = getattr(values, "shape", None), getattr(values, "dtype", None)
    if shape is None:
        return f"<{type(values).__name__}>"
    known = f", {_type_name(dtype)}" if dtype is not None else ""
    return f"<shape {tuple(shape)}{known}>"


_TYPE_NAMES = {"U": "text", "S": "bytes", "O": "object", "V": "records"}


def _type_name(dtype: Any) -> str:
    if type(dtype).__module__ == "torch":
        return str(dtype).removeprefix("torch.")
    if not isinstance(dtype, np.dtype):  # of a data frame: its name may list categories
        return type(dtype).__name__
    return _TYPE_NAMES.get(dtype.kind, str(dtype))


def real_vector(name: str, values: Any) -> NDArray[Any]:
    """A vector of finite real numbers."""
    remedy = "give a vector of finite numbers, one a record"
    try:
        vector = np.asarray(values)
    except (TypeError, ValueError):
        vector = np.empty((), dtype=object)
    if vector.dtype.kind not in "fiub":
        raise InvalidInput(name, described(vector), "is not an array of real numbers", remedy)
    if vector.ndim != 1:
        raise InvalidInput(name, described(vector), "is not a vector", remedy)
    if vector.dtype.kind == "f" and not np.isfinite(vector).all():
        raise InvalidInput(name, described(vector), "has entries that are not finite", remedy)
    return vector


def real_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """A vector of numbers that are finite in float64, in that type.

    >>> real_numbers("y", [1, 2])
    array([1., 2.])
    """
    given = real_vector(name, values)
    with np.errstate(all="ignore"):  # of longer types
        vector = given.astype(np.float64)
    if not np.isfinite(vector).all():
        raise InvalidInput(
            name,
            described(given),
            "has entries that are not finite in float64",
            "give a vector of finite numbers, one a record",
        )
    return vector


def signs(y: Any) -> NDArray[Any]:
    """+1 where a label is 1, -1 where it is 0, or where it is -1; not both in one vector.

    >>> signs([0, 1, 1])
    array([-1.,  1.,  1.])
    """
    labels = real_vector("y", y)
    positive, zero, negative = labels == 1, labels == 0, labels == -1
    if not (positive | zero | negative).all() or (zero.any() and negative.any()):
        raise InvalidInput(
            "y", described(labels), "has labels other than two", "give 0 and 1, or -1 and 1"
        )
    return np.where(positive, 1.0, -1.0)
