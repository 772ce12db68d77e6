"""Whether two answers are to one problem, to one accuracy.

Each function gives one that takes both answers, ours first, and returns None or what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Agree = Callable[[Any, Any], str | None]


def within(absolute: float = 0.0, relative: float = 0.0) -> Agree:
    """Two numbers, or two lists of them, that differ by no more than this."""

    def agree(ours: Any, theirs: Any) -> str | None:
        mine, others = _numbers(ours), _numbers(theirs)
        if len(mine) != len(others):
            return f"{len(mine)} numbers against {len(others)}"
        for one, other in zip(mine, others, strict=True):
            room = max(absolute, relative * max(abs(one), abs(other)))
            if not abs(one - other) <= room:  # also where one of them is no number
                return f"answers differ: {one:.9g} against {other:.9g}, by more than {room:.2g}"
        return None

    return agree


def as_accurate(error: Callable[[Any], float], accuracy: float, factor: float = 1.0) -> Agree:
    """Both are within `accuracy` of the truth, and ours is as close as theirs, up to a factor.

    Args:
        error: how far an answer is off, on the side where an answer may be off; negative where it
            claims too much, which no accuracy excuses.
    """

    def agree(ours: Any, theirs: Any) -> str | None:
        mine, others = error(ours), error(theirs)
        for who, off in (("ours", mine), ("the peer's", others)):
            if not 0.0 <= off <= accuracy:
                return f"{who} is off by {off:.2g}, which is not within {accuracy:.2g}"
        if mine > factor * others:
            return f"ours is off by {mine:.2g}, the peer's by {others:.2g}: it is not as accurate"
        return None

    return agree


def same(*keys: str) -> Agree:
    """Both answers are mappings that have the same under these names, or are equal if there are
    no names: for sizes of work, and for runs that both sides are about."""

    def agree(ours: Any, theirs: Any) -> str | None:
        if not keys:
            return None if ours == theirs else f"not the same: {ours} against {theirs}"
        for key in keys:
            if ours[key] != theirs[key]:
                return f"not the same {key}: {ours[key]} against {theirs[key]}"
        return None

    return agree


def _numbers(answer: Any) -> list[float]:
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return [float(one) for one in answer]
    try:
        return [float(answer)]
    except (TypeError, ValueError):
        return [math.nan]
