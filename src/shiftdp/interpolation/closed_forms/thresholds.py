"""When the constrained closed forms start to pay: the t* and E* of the paper's tables.

Computed in rational arithmetic, because most of the published settings are exact ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shiftdp._checks import count, finite
from shiftdp._errors import InvalidInput


def gd_proj_crossing(
    diameter: float | Fraction, sensitivity: float | Fraction, learning_rate: float | Fraction
) -> int:
    """The first t at which composition reaches the level of gd-proj: t* = ceil(3 R + ceil(R)).

    `R = D n / (eta L)`, in rational arithmetic, because the paper's settings are exact ties.

    Args:
        diameter: D.
        sensitivity: L / n.
        learning_rate: eta.

    >>> gd_proj_crossing(1, 0.25, 0.2)
    80
    """
    R = _decimal("diameter", diameter) / (
        _decimal("sensitivity", sensitivity) * _decimal("learning_rate", learning_rate)
    )
    return math.ceil(3 * R + math.ceil(R))


@dataclass(frozen=True)
class EpochThresholds:
    """From which epoch on the level mu* of mgd-proj is worth having.

    Args:
        composition: first E at which composition (Thm mgd) reaches mu*.
        from_the_start: first E at which the best earlier bound does, Theorem B1 from the start:
            (s / sd) sqrt(1 + (E-1)/l).
        closed_form: least E that Thm mgd-proj itself admits, ceil(D b / (eta L)).
        printed: E* in the paper's tables, ceil((R / l) (3 + (L/b)^2)) with R = D b / (eta L): a
            product where the formula has a sum. Kept to compare with print, true of nothing.
    """

    composition: int
    from_the_start: int
    closed_form: int
    printed: int


def mgd_proj_crossing(
    diameter: float | Fraction,
    sensitivity: float | Fraction,
    learning_rate: float | Fraction,
    batches: int,
) -> EpochThresholds:
    """The epochs at which mgd-proj starts to matter, in rational arithmetic (most are ties).

    With R = D b/(eta L): composition `ceil(1 + (3R + ceil R)/l)`, from the start
    `ceil(1 + 3R + ceil R)`, which is 1 + 4 D b/(eta L) for whole R.

    Args:
        diameter: D.
        sensitivity: L / b.
        learning_rate: eta.
        batches: l.

    >>> mgd_proj_crossing(1, 0.25, 0.04, batches=10)
    EpochThresholds(composition=41, from_the_start=401, closed_form=100, printed=31)
    """
    r = _decimal("sensitivity", sensitivity)
    R = _decimal("diameter", diameter) / (r * _decimal("learning_rate", learning_rate))
    ell = count("batches", batches, 1)
    K = math.ceil(R)
    return EpochThresholds(
        composition=math.ceil(1 + (3 * R + K) / ell),
        from_the_start=math.ceil(1 + 3 * R + K),
        closed_form=K,
        printed=math.ceil(R / ell * (3 + r * r)),
    )


def _decimal(name: str, value: float | str | Fraction) -> Fraction:
    """The rational number that a user wrote: 0.04 means 4/100, not its nearest binary float.

    >>> _decimal("learning_rate", 0.04)
    Fraction(1, 25)
    """
    exact = Fraction(value) if isinstance(value, (Fraction, str)) else None
    if exact is None:
        exact = Fraction(repr(finite(name, value, 0.0, open_low=True)))
    if exact <= 0:
        raise InvalidInput(name, value, "is not positive", "give a number above 0")
    return exact
