"""Checks of what users pass in. Each returns the value in the form that the formulas want."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftdp._errors import InvalidInput, OutOfRange

Array = NDArray[np.float64]

PerStep = float | tuple[float, ...]
"""One number for all steps, or one a step."""

LEAST, GREATEST = 1e-40, 1e40
"""The range of every quantity with a unit that describes a run or its losses.

What the theorems form of them are products and quotients of three such numbers and a count (at most
2^53), and squares of these: eta L / b and eta sigma lie between 1e-96 and 1e80, L / (b sigma) and
D / (eta sigma) between 1e-120 and 1e120, and all of their squares between 1e-240 and 1e240. So none
of them overflows, underflows or loses digits to a subnormal number. Powers of contractions and sums
over long runs may leave the range of floats nevertheless; the engine carries them as logarithms.
"""

DATA_LEAST, DATA_GREATEST = 1e-12, 1e12
"""The range of bounds on the data and of the constants of losses, of which sensitivity (k R) and
smoothness (R^2 / h) are made: they then lie between 1e-36 and 1e36.
"""

_LEAST_SHARE = 1e-300  # its reciprocal is a float
_MOST = 2**53  # up to here every whole number is a float

LEAST_DELTA = 1e-300
"""Of a delta that is asked for: the products of the formulas with it are normal floats."""

GREATEST_ORDER = 1e100
"""The largest order of a Renyi divergence: its square is a number, so no moment is inf - inf."""

LEAST_ACCURACY = 1e-6
"""The finest accuracy of a certificate: the work grows without bound as it shrinks, and whoever
reads a file has to do that work.
"""

LEAST_FINENESS = 1 / 64
"""The finest grid of random allocation, in deviations of what lies on it, for the same reason."""

RIDGE_GREATEST = 1e36
"""The most that a ridge may add to the smoothness."""


def number_in(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """A real number in the interval from `low` to `high`; infinity only where `high` admits it.

    >>> number_in("delta", 1e-5, 0, 1)
    1e-05
    >>> number_in("delta", 2, 0, 1)
    Traceback (most recent call last):
    ...
    shiftdp._errors.InvalidInput: delta=2 lies outside [0, 1]; give a number in [0, 1]
    """
    if type(value) is float and low < value < high:  # by far the most frequent case
        return value
    number = _real(value)
    high_enough = number > low or (number == low and not open_low)
    low_enough = number < high or (number == high and not open_high)
    if high_enough and low_enough:
        return number
    interval = _interval(low, high, open_low, open_high)
    problem = _no_number(value) or f"lies outside {interval}"
    raise InvalidInput(name, value, problem, f"give a number in {interval}")


def magnitude(
    name: str,
    value: Any,
    least: float = LEAST,
    greatest: float = GREATEST,
    *,
    zero: bool = False,
    infinite: bool = False,
    signed: bool = False,
) -> float:
    """A positive number from `least` to `greatest`; where allowed also 0, infinity, or a negative.

    >>> magnitude("noise", 0.5)
    0.5
    >>> magnitude("diameter", 1e50, infinite=True)
    Traceback (most recent call last):
    ...
    shiftdp._errors.OutOfRange: diameter=1e+50 lies outside its range; give a number in ...
    """
    number = _real(value)
    size = abs(number) if signed else number
    if least <= size <= greatest or (zero and size == 0.0) or (infinite and size == math.inf):
        return number
    named = [f"a number in [{least:g}, {greatest:g}]{', of either sign' if signed else ''}"]
    remedy = "give " + " or ".join(["0"] * zero + named + ["inf"] * infinite)
    problem = _no_number(value)
    if problem:
        raise InvalidInput(name, value, problem, remedy)
    raise OutOfRange(name, value, "lies outside its range", remedy)


def magnitudes(name: str, values: ArrayLike, *, zero: bool = False) -> Array:
    """`magnitude` for an array: positive numbers in its range, where allowed with zeros.

    >>> magnitudes("noise", [0.0, 0.5], zero=True)
    array([0. , 0.5])
    """
    remedy = f"give {'0 or ' if zero else ''}numbers in [{LEAST:g}, {GREATEST:g}]"
    problem = "lies outside its range"
    try:
        array = array_in(name, values, 0.0 if zero else LEAST, GREATEST)
    except InvalidInput as outside:
        if isinstance(outside.value, float) and not math.isnan(outside.value):
            raise OutOfRange(name, outside.value, problem, remedy) from None
        raise
    between = (array > 0.0) & (array < LEAST)
    if np.any(between):
        raise OutOfRange(name, float(array[between][0]), problem, remedy)
    return array


def probability(name: str, value: Any, *, open_low: bool = False) -> float:
    """A share of the records: 0 (unless `open_low`), or from 1e-300, by which one can divide."""
    share = number_in(name, value, 0.0, 1.0, open_low=open_low)
    if 0.0 < share < _LEAST_SHARE:
        raise OutOfRange(name, value, "lies outside its range", "give 0, or 1e-300 to 1")
    return share


def delta_in(value: Any) -> float:
    """A delta that is asked for, from 1e-300 to below 1."""
    return number_in("delta", value, LEAST_DELTA, 1.0, open_high=True)


def finite(name: str, value: Any, low: float = -math.inf, *, open_low: bool = False) -> float:
    """A finite real number, at least (or, with `open_low`, above) `low`."""
    return number_in(
        name, value, low, math.inf, open_low=open_low or low == -math.inf, open_high=True
    )


def count(name: str, value: Any, low: int = 0) -> int:
    """A whole number >= `low`.

    >>> count("steps", 10.0, 1)
    10
    """
    remedy = f"give a whole number >= {low}"
    if isinstance(value, bool) or not isinstance(value, (Real, np.integer)):
        raise InvalidInput(name, value, "is not a whole number", remedy)
    # never through a float where it is an integer already: it may be larger than one can hold
    if isinstance(value, (int, np.integer)):
        whole = int(value)
    elif float(value).is_integer():
        whole = int(float(value))
    else:
        raise InvalidInput(name, value, "is not a whole number", remedy)
    if whole < low:
        raise InvalidInput(name, value, f"is below {low}", remedy)
    return whole


def length(name: str, value: object) -> int:
    """A whole number >= 1, or infinity, which `certify` treats before it counts anything."""
    if np.ndim(cast(Any, value)) == 0 and value == math.inf:
        return cast(int, math.inf)
    return countable(name, value)


def countable(name: str, value: object) -> int:
    """A whole number >= 1 that floats and 64-bit integers hold exactly."""
    whole = count(name, value, 1)
    if whole > _MOST:
        raise InvalidInput(name, value, "is beyond counting", f"give at most {_MOST:g}")
    return whole


def per_step(
    name: str, value: float | Sequence[float], steps: int, *, zero: bool = False
) -> PerStep:
    """A number for all steps, or a tuple with one for each, where allowed with zeros in it.

    >>> per_step("noise", [1, 2], 2), per_step("noise", 3, 2)
    ((1.0, 2.0), 3.0)
    """
    # anything with entries but text and a NumPy scalar is meant as one number a step
    if not isinstance(value, (list, tuple)) and np.ndim(cast(Any, value)) == 0:
        return magnitude(name, value)
    values = magnitudes(name, value, zero=zero)
    if steps == math.inf:
        raise InvalidInput(
            name,
            f"<{values.size} entries>",
            "has one entry a step, and a run without end has equal steps",
            "give one number, or a number of steps",
        )
    if values.shape != (steps,):
        raise InvalidInput(
            name,
            f"<{values.size} entries>",
            f"does not have one entry a step ({steps})",
            f"give a number, or {steps} of them",
        )
    return tuple(values.tolist())


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """One of a few words.

    >>> choice("order", "random", ("fixed", "shuffled_once"))
    Traceback (most recent call last):
    ...
    shiftdp._errors.InvalidInput: order='random' is not known; choose 'fixed' or 'shuffled_once'
    """
    known = tuple(options)
    if not isinstance(value, str) or value not in known:
        remedy = "choose " + " or ".join(repr(word) for word in known)
        raise InvalidInput(name, value, "is not known", remedy)
    return value


def array_in(
    name: str,
    values: ArrayLike,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> Array:
    """A non-empty float array with every entry in the interval.

    >>> array_in("alpha", [0, 0.5, 1], 0, 1)
    array([0. , 0.5, 1. ])
    """
    if type(values) is float and low < values < high:  # by far the most frequent case
        return np.array(values)
    interval = _interval(low, high, open_low, open_high)
    remedy = f"give numbers in {interval}"
    try:
        raw = np.asarray(values)
    except (TypeError, ValueError):
        raise InvalidInput(name, values, "is not an array of numbers", remedy) from None
    if raw.size == 0:
        raise InvalidInput(name, values, "is empty", remedy)
    if raw.dtype.kind not in "fiu":
        raise InvalidInput(name, values, "is not an array of real numbers", remedy)
    array = raw.astype(np.float64)
    inside = (array > low) if open_low else (array >= low)
    inside &= (array < high) if open_high else (array <= high)
    if not np.all(inside):
        worst = array.ravel()[int(np.argmin(inside))]
        problem = "is not a number" if math.isnan(worst) else f"lies outside {interval}"
        raise InvalidInput(name, float(worst), problem, remedy)
    return array


def _real(value: Any) -> float:
    """The value as a float: infinity if no float can hold it, NaN if it is no real number."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu":
        value = value.item()
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction
        return math.inf if cast(Any, value) > 0 else -math.inf


def _no_number(value: Any) -> str:
    """Why a value is no real number, in words; nothing if it is one."""
    if not math.isnan(_real(value)):
        return ""
    single = isinstance(value, (Real, np.ndarray)) and np.ndim(cast(Any, value)) == 0
    return "is not a number" if single and value != value else "is not a real number"


def _interval(low: float, high: float, open_low: bool, open_high: bool) -> str:
    left = "(" if open_low or low == -math.inf else "["
    right = ")" if open_high or high == math.inf else "]"
    return f"{left}{low:g}, {high:g}{right}"
