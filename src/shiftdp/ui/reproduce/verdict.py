"""Published, here, difference, verdict: one entry of a table, or one claim of a caption.

What the paper printed is in published.json beside this file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean, stdev
from typing import Any, Literal

Verdict = Literal["agrees", "corrected", "differs", "not compared"]

SLACK = 0.05
"""Percentage points that accuracies may differ beyond three standard errors."""


@dataclass(frozen=True)
class Entry:
    """One number of the paper beside ours.

    Args:
        setting: the row.
        quantity: the column.
        published: as printed; "" for what the paper does not have.
        here: as computed, with a digit or two more.
        difference: here less published; "" where there is nothing to subtract.
        verdict: `differs` is a failure of the whole reproduction.
        note: why it is corrected, or not compared.
    """

    setting: str
    quantity: str
    published: str
    here: str
    difference: str
    verdict: Verdict
    note: str = ""


def printed(
    setting: str,
    quantity: str,
    published: float,
    here: float,
    digits: int,
    *,
    low: float | None = None,
) -> Entry:
    """A number that must agree to the printed digits.

    Args:
        low: where the number is known to lie in [low, here] only, the lower end.

    >>> printed("50 epochs", "epsilon", 4.34, 4.33913, 2).verdict
    'agrees'
    >>> printed("50 epochs", "epsilon", 4.34, 4.347, 2).verdict
    'differs'
    """
    ends = (here,) if low is None else (low, here)
    agrees = min(round(end, digits) for end in ends) <= published
    agrees = agrees and published <= max(round(end, digits) for end in ends)
    return Entry(
        setting,
        quantity,
        f"{published:.{digits}f}",
        f"{here:.{digits + 2}f}",
        _signed(here - published, digits + 2),
        "agrees" if agrees else "differs",
    )


def corrected(
    setting: str, quantity: str, published: int, here: int, note: str, *, explained: bool
) -> Entry:
    """A number that was printed wrongly.

    Args:
        explained: whether the known slip gives what was printed. If not, something else is wrong.

    >>> corrected("l = 10", "E*", 31, 41, "a product for a sum", explained=True).verdict
    'corrected'
    """
    return Entry(
        setting,
        quantity,
        str(published),
        str(here),
        f"{here - published:+d}",
        "corrected" if explained else "differs",
        note,
    )


def claimed(setting: str, claim: str, holds: bool, *, ours: bool = False) -> Entry:
    """A statement that numbers can support or refute: of the paper, or one of `ours`."""
    return Entry(
        setting,
        claim,
        "" if ours else "claimed",
        "holds" if holds else "does not hold",
        "",
        "agrees" if holds else "differs",
    )


def measured(
    setting: str,
    quantity: str,
    published: Sequence[float],
    samples: Sequence[float],
    *,
    comparable: bool = True,
) -> Entry:
    """A mean over runs: within three standard errors of ours, and 0.05 points.

    One run has no standard error: it is held against the deviation that was published.

    Args:
        published: mean and standard deviation, in per cent.
        samples: one accuracy a run.
        comparable: whether the data are those of the paper.

    >>> measured("50 epochs", "train", (89.36, 0.03), (89.3, 89.4, 89.35)).verdict
    'agrees'
    >>> measured("50 epochs", "train", (89.36, 0.03), (88.9, 88.9, 88.9)).verdict
    'differs'
    >>> measured("50 epochs", "train", (89.36, 0.03), (89.45,)).note
    'one run: by the published deviation'
    """
    mean, alone = fmean(samples), len(samples) == 1
    error = published[1] if alone else stdev(samples) / math.sqrt(len(samples))
    near = abs(mean - published[0]) <= 3.0 * error + SLACK
    verdict: Verdict = "not compared" if not comparable else "agrees" if near else "differs"
    return Entry(
        setting,
        quantity,
        f"{published[0]:.2f} ± {published[1]:.2f}" if comparable else "",
        spread(samples),
        _signed(mean - published[0], 3) if comparable else "",
        verdict,
        "other data" if not comparable else "one run: by the published deviation" if alone else "",
    )


def spread(samples: Sequence[float], digits: int = 2) -> str:
    """Mean ± standard deviation, which one run does not have.

    >>> spread((90.0, 90.2)), spread((90.0,))
    ('90.10 ± 0.14', '90.00')
    """
    mean = f"{fmean(samples):.{digits}f}"
    return mean if len(samples) == 1 else f"{mean} ± {stdev(samples):.{digits}f}"


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}"
    return text.replace("+", "").replace("-", "") if float(text) == 0.0 else text


DELTA = 1e-5
"""Of every epsilon in the tables."""


@cache
def _document() -> dict[str, Any]:
    text = files("shiftdp.ui.reproduce").joinpath("published.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def published(name: str) -> Any:
    """One table, or one setting, by its name in published.json.

    >>> published("mnist_epsilon")["composition_cgd"]
    [30.51, 49.88, 83.83]
    """
    return _document()[name]
