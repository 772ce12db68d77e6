"""Rounding on the safe side: every margin of this room, with the reason for its size.

A closed form below is evaluated with a few dozen correctly rounded operations on well-conditioned
terms, so its relative error stays under 2^-47. Upper bounds are inflated and lower bounds deflated
by that much: the float that comes out is then a bound itself, not only close to one.

A mu that is stated together with shifts has to be at least what a checker proves with them, who
rounds every step upwards and computes powers and logarithms by another library. Three errors count.

- *The amounts.* They are quotients of geometric sums and powers `exp(N log c)`. The exponent is at
  most 745 in size (beyond, the power is 0), and is off by a part 2^-52, which moves the power by a
  part of at most 745 * 2^-52 < 2^-42; everything else errs by under 2^-47. The energy of a block is
  a minimum over feasible shifts, so wrong amounts raise it in proportion to their error only.
- *The distances.* The checker adds a part of at most 2^-50 to the distance in every step that it
  follows without a shift (`interpolation.verify`), which is what `tail` counts.
- *The sum*, its root, and the checker's own last factors: a part of under 2^-46.

`STATED = 1e-12` exceeds the sum of the first and the third five times over.
"""

from __future__ import annotations

__all__ = ["PROVED", "STATED", "round_down", "round_up", "stated_mu"]

_MARGIN = 2.0**-47

STATED = 1e-12
"""A closed form is stated above its float evaluation by this part."""

PROVED = 2.0**-40
"""What a checker proved is stated above it by this part: logarithms elsewhere round differently."""

_STEP = 2.0**-50
_FOLLOWED = 2**30  # more steps than this no checker follows one by one
_FAINTEST = 2.0**-500


def stated_mu(mu: float, tail: int = 0) -> float:
    """The mu to state for a closed form whose float evaluation is `mu`: see the module.

    Args:
        mu: the value in floats. 0 may be a power that underflowed, and does not stay 0.
        tail: steps through which a checker may have to carry the distance without a shift.

    >>> 0.0 < stated_mu(0.0) < 1e-150, 1.0 < stated_mu(1.0) <= 1.0 + 2e-12
    (True, True)
    """
    # the addend pays for powers of c that underflow
    return mu * (1.0 + STATED + min(tail, _FOLLOWED) * _STEP) + _FAINTEST


def round_up(value: float) -> float:
    """A float above the exact value of a closed form whose float evaluation is `value` >= 0."""
    return value * (1.0 + _MARGIN)


def round_down(value: float, operations: int = 0) -> float:
    """A float below the exact value; `operations` is the length of a product or sum in it.

    >>> round_down(1.0) < 1.0 < round_up(1.0)
    True
    """
    return max(0.0, value * (1.0 - _MARGIN - operations * 2.0**-51))
