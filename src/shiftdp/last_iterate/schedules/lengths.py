"""How long a run is, and the numbers that it has one of for all steps, or one a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shiftdp._checks import count, finite, magnitude, magnitudes
from shiftdp._errors import InvalidInput
from shiftdp._rounding import GENEROUS

__all__ = [
    "PerStep",
    "batches_of",
    "countable",
    "length",
    "no_epochs",
    "per_step",
    "steps_in",
    "whole_epochs",
]

PerStep = float | tuple[float, ...]
"""One number for all steps, or one a step."""

_MOST = 2**53


def batches_of(n: int, size: int, last_batch: str = "own_size") -> int:
    """How many batches an epoch has.

    >>> batches_of(10, 4), batches_of(10, 4, "drop")
    (3, 2)
    """
    return n // size if last_batch == "drop" else -(-n // size)


def steps_in(epochs: float | None, steps: float | None, batches: int) -> int:
    """The number of steps, from exactly one of two ways to say it.

    >>> steps_in(2.5, None, 4), steps_in(None, 7, 4)
    (10, 7)
    """
    if (epochs is None) == (steps is None):
        raise InvalidInput(
            "epochs, steps", (epochs, steps), "are not one length", "give exactly one of the two"
        )
    if steps is not None:
        return length("steps", steps)
    if np.ndim(cast(Any, epochs)) == 0 and epochs == math.inf:
        return length("epochs", epochs)
    if isinstance(epochs, (int, np.integer)):
        return countable("epochs", count("epochs", epochs, 1) * batches)
    t = finite("epochs", epochs, 0.0, open_low=True) * batches
    if math.isinf(t) or abs(t - round(t)) > GENEROUS * t:
        raise InvalidInput(
            "epochs",
            epochs,
            f"is not a whole number of steps at {batches} batches an epoch",
            f"give steps={max(1, round(t))} instead" if t < _MOST else "give fewer",
        )
    return countable("epochs", round(t))


def no_epochs(epochs: float | None, steps: float | None) -> float:
    """The steps of a run that has no epochs."""
    if epochs is not None:
        raise InvalidInput(
            "epochs",
            epochs,
            "is for random allocation: other random batches have no epochs",
            'give steps instead, or sampling="random_allocation"',
        )
    if steps is None:
        raise InvalidInput(
            "steps", steps, "is missing", "give it; math.inf for a bound that holds for any number"
        )
    return steps


def whole_epochs(epochs: float | None, steps: float | None, batches: int) -> int:
    """The steps of random allocation, which ends with an epoch."""
    t = steps_in(epochs, steps, batches)
    if t != math.inf and t % batches:
        name, given = ("steps", steps) if epochs is None else ("epochs", epochs)
        raise InvalidInput(
            name,
            given,
            f"is not a whole number of epochs, of {batches} steps each, as random allocation has",
            f"give epochs={max(1, round(t / batches))}",
        )
    return t


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
