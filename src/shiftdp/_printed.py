"""Numbers in print, rounded to the private side: a bound is never shown smaller than it is.

One rule for every bound: five digits, and four decimals where that is more, so that a number reads
the same alone and in a table. And runs in print, whose schedules may have a number for each of many
thousand steps.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

_DIGITS, _DECIMALS = 5, 4  # of a bound in print, the more of the two
_LONG = 1e9  # from here on a column is written with exponents
_MOST_LISTED = 10  # values of a schedule that are written one by one


def up(value: float | None, digits: int | None = None) -> str:
    """A bound in print, never smaller than it is.

    Args:
        value: the bound; None where there is none.
        digits: how many; if not given five, and four decimals where that is more.

    >>> up(4.33910001), up(0.0), up(math.inf), up(None), up(30.50629), up(0.0123456)
    ('4.3392', '0', 'inf', '-', '30.5063', '0.012346')
    """
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float | None, digits: int | None = None) -> str:
    """What is attained, never larger than it is.

    >>> down(4.3391999)
    '4.3391'
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float | None, digits: int | None, rounding: str) -> str:
    if value is None or math.isnan(value):
        return "-"
    if value == 0.0 or math.isinf(value):
        return f"{value:g}"
    exact = Decimal(repr(float(value)))  # 0.1 is 0.1 in print
    last = exact.adjusted() + 1 - (_DIGITS if digits is None else digits)
    if digits is None and abs(value) < _LONG:
        last = min(last, -_DECIMALS)
    kept = exact.quantize(Decimal(1).scaleb(last), rounding=rounding)
    if -4 <= exact.adjusted() < 9:
        return f"{kept:f}" if kept.as_tuple().exponent < 0 else f"{int(kept)}"  # type: ignore[operator]
    mantissa, _, exponent = f"{kept:e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def column(values: Sequence[float | None], side: str = "up") -> list[str]:
    """Numbers that stand below one another, with as many decimals as the least of them needs.

    >>> column([30.50629, 4.33916, None, 0.0])
    ['30.5063', '4.3392', '-', '0']
    """
    rounding = ROUND_CEILING if side == "up" else ROUND_FLOOR
    known = [x for x in values if x is not None and math.isfinite(x) and x > 0.0]
    places = max(_DECIMALS, 3 - math.floor(math.log10(min(known)))) if known else _DECIMALS
    if places > 8 or (known and max(known) >= _LONG):
        return [_rounded(x, _DIGITS, rounding) for x in values]
    unit = Decimal(1).scaleb(-places)
    return [
        f"{Decimal(repr(x)).quantize(unit, rounding=rounding):f}"
        if x is not None and math.isfinite(x) and x != 0.0
        else _rounded(x, _DIGITS, rounding)
        for x in values
    ]


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Rows of cells as lines whose columns align, with a rule below the first, the headings.

    Args:
        rows: the cells, each row with as many.
        right: which columns are aligned at the right: those of numbers.

    >>> print("\\n".join(aligned([("name", "mu"), ("best", "0.99"), ("paper", "1")], right=[1])))
    name     mu
    -----------
    best   0.99
    paper     1
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def trimmed(text: str) -> str:
    """A printed number without the zeros at the end of its decimals.

    >>> trimmed("1.00000"), trimmed("4.3392"), trimmed("1.50e-7")
    ('1', '4.3392', '1.50e-7')
    """
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def percent(share: float, digits: int = 4) -> str:
    """A bound on a probability, as per cent, never smaller than it is.

    >>> percent(0.1234561), percent(0.0), percent(1.0)
    ('12.35%', '0%', '100%')
    """
    return "100%" if share >= 1.0 else f"{up(100 * share, digits)}%"


def parameters(run: Any) -> str:
    """The class and the parameters of a run, each long schedule by its number of values and range.

    It can be evaluated where no schedule is long.
    """
    shown = (f"{name}={schedule(value)}" for name, value in vars(run).items())
    return f"{type(run).__name__}({', '.join(shown)})"


def schedule(value: Any) -> str:
    """A parameter of a run as Python writes it; of more than ten values their number and range.

    >>> schedule("fixed"), schedule((10, 20)), schedule((0.5, *range(1, 13)))
    ("'fixed'", '(10, 20)', '<13 values, 0.5 to 12>')
    """
    if not isinstance(value, tuple) or len(value) <= _MOST_LISTED:
        return repr(value)
    low, high = min(value), max(value)
    between = f"all {_brief(low)}" if low == high else f"{_brief(low)} to {_brief(high)}"
    return f"<{len(value)} values, {between}>"


def _brief(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"
