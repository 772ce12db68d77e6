"""Rounding on the safe side.

A closed form below is evaluated with a few dozen correctly rounded operations on well-conditioned
terms, so its relative error stays under 2^-47. Upper bounds are inflated and lower bounds deflated
by that much: the float that comes out is then a bound itself, not only close to one.
"""

from __future__ import annotations

__all__ = ["round_down", "round_up"]

_MARGIN = 2.0**-47


def round_up(value: float) -> float:
    """A float above the exact value of a closed form whose float evaluation is `value` >= 0."""
    return value * (1.0 + _MARGIN)


def round_down(value: float, operations: int = 0) -> float:
    """A float below the exact value; `operations` is the length of a product or sum in it.

    >>> round_down(1.0) < 1.0 < round_up(1.0)
    True
    """
    return max(0.0, value * (1.0 - _MARGIN - operations * 2.0**-51))
