"""The warning of a delta that is too large for the number of records.

Whoever publishes the record of one person, drawn at random from n, and nothing else, satisfies
(0, 1/n)-differential privacy. So a delta of 1/n or more promises nothing to that person, whatever
epsilon is. The number of records is public, so that the warning tells nothing of them.
"""

from __future__ import annotations

import math
import warnings


class LargeDeltaWarning(UserWarning):
    """Delta is at least 1/n: publishing somebody's record as it is would satisfy it."""


def complaint_of_delta(delta: float, n: int) -> str | None:
    """What is wrong with delta for so many records, with the cure; None if nothing is.

    >>> complaint_of_delta(1e-5, 99_999) is None
    True
    >>> complaint_of_delta(1e-5, 250_000)
    'delta=1e-05 is not below 1/n for 250000 records: publishing one of them, drawn at random, \
would meet it. Give a smaller one, such as delta=1e-07'
    """
    if delta * n < 1.0:
        return None
    advised = 10.0 ** -(math.floor(math.log10(n)) + 2)  # a tenth of 1/n, or less
    return (
        f"delta={delta:g} is not below 1/n for {n} records: publishing one of them, drawn at "
        f"random, would meet it. Give a smaller one, such as delta={advised:g}"
    )


def warn_of_large_delta(delta: float, n: int, *, stacklevel: int) -> None:
    """Say it, if it is so.

    Args:
        delta: of the budget.
        n: how many records there are.
        stacklevel: how far up the line is that caused it, 1 being the caller of this.
    """
    text = complaint_of_delta(delta, n)
    if text is not None:
        warnings.warn(text, LargeDeltaWarning, stacklevel=stacklevel + 1)
