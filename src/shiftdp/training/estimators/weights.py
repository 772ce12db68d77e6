"""`class_weight`: what a record counts, by its label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftdp._checks import finite
from shiftdp._errors import InvalidInput

_REMEDY = "give a dictionary with a weight above 0 for each class"


def relative_weights(given: Any, classes: Any) -> tuple[float, ...]:
    """Weights in the order of the sorted classes, divided by the largest.

    Args:
        given: weights by label, one for each class.
        classes: all labels; None where they are not known.

    >>> relative_weights({"no": 1, "yes": 4}, ["yes", "no"])
    (0.25, 1.0)
    """
    if not isinstance(given, Mapping):
        problem = "is no dictionary"
        if given == "balanced":
            problem = "would be read off the labels, which the certificate does not cover"
        raise InvalidInput("class_weight", given, problem, _REMEDY + ", such as 1 over its share")
    if classes is None:
        raise InvalidInput(
            "class_weight", given, "is given, and the classes are not", "give classes=... too"
        )
    known = np.unique(np.asarray(classes)).tolist()
    if set(given) != set(known):
        raise InvalidInput(
            "class_weight", given, "does not have exactly the classes as its labels", _REMEDY
        )
    weights = [finite("class_weight", given[label], 0.0, open_low=True) for label in known]
    largest = max(weights)
    return tuple(weight / largest for weight in weights)
