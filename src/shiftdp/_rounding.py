"""The margins of rounding that the library adds to its numbers, with the reason for each size.

A privacy bound has to stay a bound when it is computed in floats. Upper bounds are therefore raised
and lower bounds lowered by more than their evaluation can be off, so that the float that comes out
is a bound itself and not only close to one. What is proved by an argument that holds in one module
only (the two verifiers, for instance) is named and explained there.

**Counting roundings.** A sum, product, quotient or square root of floats is off by a part of at
most `UNIT = 2^-53`: one rounding. A function of the C library (`exp`, `log`, `expm1`, `log1p`,
`erf`) is off by at most one unit in the last place, `ULP`, which counts as two. Terms of one sign
are added without amplifying the errors of the terms. So a value that took k roundings is a bound
once it is multiplied by 1 + (k + 2) UNIT: one more pays for that product, and one for the products
of errors. The margins below are named by their sizes in roundings.
"""

from __future__ import annotations

import numpy as np

from shiftdp._checks import Array

# --- roundings ---------------------------------------------------------------------------------

UNIT = 2.0**-53
"""The relative error of one correctly rounded operation: one rounding."""

ULP = 2.0**-52
"""A unit in the last place of 1: the error of a library function, two roundings."""

THREE_ROUNDINGS = 4e-16
"""A product or two and the product with the margin; absolutely, a difference of numbers below 1."""

FOUR_ROUNDINGS = 2.0**-51
"""A product, a sum and a quotient, for instance: `1.0 + FOUR_ROUNDINGS` is an exact float."""

SEVEN_ROUNDINGS = 8e-16
"""A library function and a few operations; absolutely, two differences of numbers below 1."""

EIGHT_ROUNDINGS = 2.0**-50
"""As `SEVEN_ROUNDINGS`, where `1.0 + EIGHT_ROUNDINGS` is to be an exact float."""

NINE_ROUNDINGS = 1e-15
"""The usual margin of a formula: two or three library functions with a few operations."""

EIGHTEEN_ROUNDINGS = 2e-15
"""A formula in which the value of one library function is the argument of another, or two."""

THIRTY_SIX_ROUNDINGS = 4e-15
"""A formula of that kind with a dozen operations, or with an error of SciPy's special functions."""

FFT_ULPS = 8.0
"""The error of a step of a Fourier transform of radix 2 to 11, in ulps for each factor of 2 in the
radix, of the sum of the moduli of its inputs."""

AMPLE = 1e-12
"""4,500 ULP: for results of long sums, and of special functions, whose errors are not counted one
by one. A part of 1e-12 of an epsilon or delta is no loss to anybody."""

GENEROUS = 1e-9
"""For ends of brackets and for cut-offs, which need not be sharp but must be on their side."""

# --- the ends of the range of floats -----------------------------------------------------------

LEAST_FLOAT = 5e-324
"""The least positive float. A subnormal product is off by half of it, whatever its size."""

NOT_ZERO = 1e-300
"""Stands in for 0 as a divisor or under a logarithm: its reciprocal is still a float."""

HUGE = 1e300
"""Stands in for infinity where a product with 0, or a difference, would otherwise be no number."""

NORMAL_EXPONENT = 708.0
"""exp(-708) = 3e-308 is the last normal float: smaller ones have lost digits, and count as 0."""

LARGEST_EXPONENT = 700.0
"""Exponents are cut off here: exp(700) = 1e304 is a float, exp(710) is not."""

INVERTIBLE_EXPONENT = 690.0
"""Cuts exponents off where the product with a few factors has to be a float: exp(690) = 1e299."""

ROOMY_EXPONENT = 600.0
"""Cuts exponents off where large factors, or some exponentials, are multiplied: e^600 = 4e260."""

LARGEST_WHOLE = 2**53
"""Up to here every whole number is a float; beyond, several share one."""

SPLITTER = 2.0**27 + 1.0
"""Veltkamp's constant: multiplying by it splits a float into two halves of at most 26 bits."""

FAR_TAIL = 40.0
"""Phi(-40) = 1e-350 is below the least positive float: no tail is worth anything beyond."""

# --- closed forms and what is stated for them --------------------------------------------------
#
# A closed form of `interpolation` takes a few dozen roundings on well-conditioned terms, so its
# relative error stays under 2^-47, which is 64 of them.

_CLOSED_FORM = 2.0**-47  # as said above

STATED = 1e-12
"""A mu found together with shifts is stated above its float evaluation by this part, so that what a
verifier proves is below it (`interpolation.equal_steps` counts)."""

PROVED = 2.0**-40
"""A mu that a verifier proved is stated above it by this part: a verifier elsewhere may have
logarithms that round differently, in exponents of up to 745, and has to come out below."""

_TERM = 2.0**-51  # four roundings for each term of a product or of a sum


def round_up(value: float) -> float:
    """A float above the exact value of a closed form whose float evaluation is `value` >= 0."""
    return value * (1.0 + _CLOSED_FORM)


def round_down(value: float, operations: int = 0) -> float:
    """A float below the exact value; `operations` is the length of a product or sum in it.

    >>> round_down(1.0) < 1.0 < round_up(1.0)
    True
    """
    return max(0.0, value * (1.0 - _CLOSED_FORM - operations * _TERM))


# --- roundings that no factor can express ------------------------------------------------------


def complement_down(x: Array) -> Array:
    """The greatest float that is at most 1 - x, for x in [0, 1].

    >>> float(complement_down(np.array(1e-300))), float(complement_down(np.array(0.25)))
    (0.9999999999999999, 0.75)
    """
    value = 1.0 - x
    # 1 - value is exact wherever 1 - x is not
    too_large = 1.0 - value < x
    return np.where(too_large, np.nextafter(value, 0.0), value)


def scaled_up(weight: float | Array, x: Array) -> Array:
    """weight x, rounded up, for weight in [0, 1]: what is positive stays so when it underflows."""
    # the last term is for subnormal products, which are rounded by half of it twice at most
    scaled = weight * x * (1 + THREE_ROUNDINGS) + LEAST_FLOAT
    return np.where((x > 0.0) & (weight > 0.0), scaled, 0.0)


# --- clipping in single precision ---------------------------------------------------------------

GRADIENT_IN_SINGLE = 1e-5
"""By this part a record's gradient in single precision, or its norm, may be above the exact one."""

OPACUS_ADDS = 1e-6
"""Opacus scales gradients by C / (norm + 1e-6) where that is below 1."""


def unclipped_norm(clip: float) -> float:
    """The norm up to which Opacus, in single precision, leaves a gradient as it is.

    >>> unclipped_norm(1.0) * (1.0 + GRADIENT_IN_SINGLE) + OPACUS_ADDS < 1.0
    True
    """
    return (clip - OPACUS_ADDS) / (1.0 + GRADIENT_IN_SINGLE) * (1.0 - EIGHT_ROUNDINGS)
