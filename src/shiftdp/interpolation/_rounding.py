"""Rounding on the safe side, and the rational reading of decimal inputs.

A closed form below is evaluated with a few dozen correctly rounded operations on well-conditioned
terms, so its relative error stays under 2^-47. Upper bounds are inflated and lower bounds deflated
by that much: the float that comes out is then a bound itself, not only close to one.
"""

from __future__ import annotations

from fractions import Fraction

from shiftdp._checks import finite

__all__ = ["decimal_fraction", "round_down", "round_up"]

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


def decimal_fraction(name: str, value: float | str | Fraction) -> Fraction:
    """The rational number that a user wrote: 0.04 means 4/100, not its nearest binary float.

    >>> decimal_fraction("learning_rate", 0.04)
    Fraction(1, 25)
    """
    if isinstance(value, (Fraction, str)):
        return Fraction(value)
    return Fraction(repr(finite(name, value)))
