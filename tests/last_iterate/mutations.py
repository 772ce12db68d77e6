"""Edits of the JSON of a certificate: one field or two, replaced by what a forger might try."""

from __future__ import annotations

import copy
import json
import math
import random
from typing import Any

from shiftdp import InvalidInput, VerificationFailed
from shiftdp.last_iterate import Certificate

__all__ = ["DELTAS", "judged", "mutated", "paths"]

Path = tuple[Any, ...]
DELTAS = (1e-3, 1e-6)

_ODD: tuple[Any, ...] = (
    0, 1, -1, 2, 1.5, 0.0, 1e-300, 5e-324, 1e-170, 1e-9, 1e9, 1e155, 1e160, 1e300, 1.7e308,
    2**53, 2**53 - 1, 2**53 + 2, 10**30, True, False, None, "", "inf", "-inf", "nan",
    "\uff11\uff12", "1", [], {}, [1], [[1, 1]], "zero_out", "replace_one", "fixed",
    "shuffled_once", "reshuffled", "poisson", "drop", "divide_by_b", "Theorem B1", "Theorem B3",
    "Theorem B4", "Thm sgd-proj", "Thm gd-sc", "x (composition)", "Thm sgd (composition)",
    "every", "final",
)  # fmt: skip


def paths(document: Any, here: Path = ()) -> list[Path]:
    """Every place in the document, leaves and branches."""
    found = [here] if here else []
    if isinstance(document, dict):
        items: Any = document.items()
    elif isinstance(document, list):
        items = enumerate(document[:40])
    else:
        return found
    for key, value in items:
        found += paths(value, (*here, key))
    return found


def mutated(document: Any, rng: random.Random, places: list[Path], edits: int) -> str:
    """The text of the document with so many edits."""
    changed = copy.deepcopy(document)
    for _ in range(edits):
        *way, last = rng.choice(places)
        target = changed
        try:
            for key in way:
                target = target[key]
            target[last] = _other(target[last], rng)
        except (LookupError, TypeError):
            continue  # the first edit took the place away
    if edits > 1 and "tradeoff" in changed and rng.random() < 0.5:
        tradeoff = changed["tradeoff"]  # a forger keeps the headline in step
        is_gaussian = isinstance(tradeoff, dict) and tradeoff.get("type") == "gaussian"
        changed["mu"] = tradeoff.get("mu") if is_gaussian else None
    return json.dumps(changed)


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.7:
        factor = rng.choice(
            (0.0, 0.5, 0.9, 0.999, 1 - 1e-6, 1 - 1e-9, 1 - 9e-12, 1 - 1e-15, 1 + 1e-9, 1.001, 2.0)
        )
        if isinstance(value, int):
            return rng.choice((value + 1, value - 1, 2 * value, value // 2, -value))
        return rng.choice((value * factor, math.nextafter(value, 0.0), -value))
    if isinstance(value, list) and value and rng.random() < 0.6:
        return rng.choice((value[:-1], value[1:], [*value, value[0]], value[::-1], value * 2))
    return copy.deepcopy(rng.choice(_ODD))


def judged(text: str, floor: dict[float, float]) -> str:
    """`holds`, `refused`, or what is wrong with how the text was received.

    `floor` has, for some deltas, the least epsilon that the bound of the honest run can have: what
    is accepted for the same run may not be below it.
    """
    try:
        certificate = Certificate.from_json(text)
        certificate.verify()
    except (VerificationFailed, InvalidInput):
        return "refused"
    for delta, least in floor.items():
        if certificate.epsilon(delta) < least:
            return f"accepts epsilon {certificate.epsilon(delta)} at {delta}, below {least}"
    return "holds"
