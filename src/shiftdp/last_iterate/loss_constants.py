"""What is proved of the losses that training knows, from what a certificate says of them.

`verify` does not ask the trainer for its constants: they are here once more, as exact fractions.
[docs/losses.md]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

Parameters = tuple[tuple[str, float], ...]
Constants = tuple[Fraction | None, Fraction]
"""The square of the slope (None where it is not bounded) and the curvature."""

LEAST, MOST = Fraction(1, 10**12), Fraction(10**12)
"""Of parameters of losses and sets."""

JOINT = "Joint"
"""The loss of several heads, whose parameters name their losses. [docs/losses.md, Lemma 7]"""

_LOSSES: dict[str, Callable[[Mapping[str, Fraction]], Constants]] = {
    "Logistic": lambda of: (Fraction(1), Fraction(1, 4)),
    "Softmax": lambda of: (Fraction(2), Fraction(1, 2)),
    "SmoothedHinge": lambda of: (Fraction(1), 1 / of["width"]),
    "Huber": lambda of: (of["width"] ** 2, Fraction(1)),
    "ClippedSquared": lambda of: (
        of["residual_bound"] ** 2 if "residual_bound" in of else None,
        Fraction(1),
    ),
}
_NEEDED = {"SmoothedHinge": {"width"}, "Huber": {"width"}}
_NAMES = ("classes", "width", "residual_bound")  # of their parameters, weights of classes apart
_OF_CLASSES = ("Logistic", "Softmax", "SmoothedHinge")
_PART = re.compile(r"head_(\d+)_(\w+)", re.ASCII)


def is_known(loss: str) -> bool:
    """Whether a loss is one of ours."""
    return loss in _LOSSES or loss == JOINT


def constants_of(loss: str, parameters: Parameters) -> Constants | None:
    """Slope and curvature of a loss of ours whose parameters have no `flaw_of`; None for others.

    >>> constants_of("Huber", (("width", 1.5),))
    (Fraction(9, 4), Fraction(1, 1))
    """
    if loss == JOINT:
        parts = [constants_of(name, own) for name, _, own in _heads(parameters) or ()]
        known = [part for part in parts if part is not None]
        slopes = [slope for slope, _ in known if slope is not None]
        return (
            sum(slopes, Fraction(0)) if len(slopes) == len(known) else None,
            max((bend for _, bend in known), default=Fraction(0)),
        )
    least = _LOSSES.get(loss)
    if least is None:
        return None
    return least({name: Fraction(x) for name, x in parameters if math.isfinite(x)})


def flaw_of(loss: str, parameters: Parameters, outputs: int) -> str | None:
    """What is wrong with the parameters of a loss of ours, in a word or two; None if nothing is.

    >>> flaw_of("Softmax", (("classes", 3),), 4)
    'number of scores'
    """
    if loss == JOINT:
        heads = _heads(parameters)
        if not heads or any(name not in _LOSSES for name, _, _ in heads):
            return "list of heads"
        if sum(scores for _, scores, _ in heads) != outputs:
            return "number of scores"
        flaws = (flaw_of(name, own, scores) for name, scores, own in heads)
        return next((flaw for flaw in flaws if flaw is not None), None)
    if loss not in _LOSSES:
        return None
    numbers = dict(parameters)
    expected = numbers.get("classes") if loss == "Softmax" else 1
    if outputs != expected or (loss == "Softmax" and outputs < 2):
        return "number of scores"
    finite = {name for name, value in numbers.items() if math.isfinite(value)}
    if len(numbers) != len(parameters) or not _NEEDED.get(loss, set()) <= finite:
        return "parameter of the loss"
    weights = {name: value for name, value in numbers.items() if name not in _NAMES}
    known = {f"weight_{place}" for place in range(max(2, outputs))}
    if weights and not (set(weights) == known and loss in _OF_CLASSES):
        return "weight of a class"
    if any(not weight <= 1 for weight in weights.values()):
        return "weight of a class"
    if not all(in_range(value) for value in numbers.values()):
        return "parameter of the loss or of the set"
    return None


def in_range(value: float) -> bool:
    """Whether a parameter of a loss or of a set can be what it is."""
    return value > 0 and (math.isinf(value) or LEAST <= Fraction(value) <= MOST)


def named_parts(heads: Sequence[tuple[str, int, Parameters]]) -> Parameters:
    """Losses of several heads as numbers by name, as a certificate states them.

    Args:
        heads: name, number of scores and parameters of each.

    >>> named_parts([("Logistic", 1, ()), ("Huber", 1, (("width", 2.0),))])
    (('head_0_Logistic', 1), ('head_1_Huber', 1), ('head_1_width', 2.0))
    """
    found: list[tuple[str, float]] = []
    for place, (name, outputs, parameters) in enumerate(heads):
        found.append((f"head_{place}_{name}", outputs))
        found += [(f"head_{place}_{key}", value) for key, value in parameters]
    return tuple(found)


def _heads(parameters: Parameters) -> list[tuple[str, int, Parameters]] | None:
    """What `named_parts` was given; None if it cannot have made this."""
    found: list[tuple[str, int, list[tuple[str, float]]]] = []
    for name, value in parameters:
        part = _PART.fullmatch(name)
        if part is None:
            return None
        place, key = int(part[1]), part[2]
        if place == len(found) and float(value).is_integer():
            found.append((key, int(value), []))
        elif place == len(found) - 1:
            found[-1][2].append((key, value))
        else:
            return None
    return [(name, outputs, tuple(own)) for name, outputs, own in found]
