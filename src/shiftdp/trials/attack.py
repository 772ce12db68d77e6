"""The test between two piles of outputs: learned on a part of them, judged on another.

For Gaussian outputs of equal spread the likelihood ratio is the linear discriminant, and for any
others of one mean the quadratic one; both are learned here from a first quarter of the outputs. On
a second quarter one of them, its direction and a threshold are chosen, once to make the lower bound
on mu large and once that on epsilon. The two events are then fixed, and counted on the other half,
which had no part in the choice: no threshold is paid for but these two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.trials.confidence import Rates, epsilon_of, mu_of, rate_bounds

Outputs = NDArray[np.float64]
Score = Callable[[Outputs], NDArray[np.float64]]
"""From outputs, one a row, to a number each; large ones speak for the first data set."""

LEAST_RUNS = 40
"""Of each data set: with fewer there is nothing to learn from, and little to count."""

_PLACES = np.concatenate([np.geomspace(1e-3, 0.1, 25), np.linspace(0.11, 0.5, 40)])  # quantiles ...
_PLACES = np.unique(np.concatenate([_PLACES, 1.0 - _PLACES]))  # ... that are tried as thresholds
_RIDGE = 1e-9  # of the largest variance: keeps a spread of rank less than full invertible
_WIDEST_QUADRATIC = 40  # numbers of an output up to which its spreads are learned for each pile
_LARGEST = 1e100  # of a number of an output: larger ones, and those that are none, count as this


@dataclass(frozen=True)
class Event:
    """What was counted: outputs whose score is above a threshold, and what it was chosen for."""

    purpose: str
    score: str
    threshold: float
    rates: Rates


def as_outputs(name: str, outputs: Any) -> Outputs:
    """A row of numbers for each output."""
    try:
        rows = [np.concatenate([np.ravel(part) for part in _parts(each)]) for each in outputs]
    except ValueError:  # nothing to concatenate, or rows of several lengths
        rows = []
    if len({row.size for row in rows}) != 1 or rows[0].dtype.kind not in "fiub" or not rows[0].size:
        raise InvalidInput(
            name,
            f"<{len(outputs)} outputs>",
            "are not all the same number of real numbers",
            "return the parameters as an array, or a tuple of arrays, of one shape",
        )
    matrix = np.stack(rows).astype(np.float64)
    return np.clip(np.nan_to_num(matrix, nan=_LARGEST), -_LARGEST, _LARGEST)


def _parts(output: Any) -> list[NDArray[Any]]:
    parts = output if isinstance(output, (tuple, list)) else [output]
    return [np.asarray(part) for part in parts]


def require_enough(runs: int) -> None:
    """Refuse fewer runs than a test can be learned from and counted on."""
    if runs < LEAST_RUNS:
        raise InvalidInput(
            "runs", runs, "are too few to learn a test and count", f"give {LEAST_RUNS} or more"
        )


def attack(
    one: Outputs, other: Outputs, *, delta: float, confidence: float, score: Score | None = None
) -> tuple[Event, Event]:
    """Two events, each chosen on the first halves and counted on the second ones.

    Args:
        one, other: the outputs of the two data sets, independent of each other, one a row.
        delta: where the second event is to show a large epsilon.
        confidence: with which the bounds are going to be read off, which the choice depends on.
        score: a test of your own, instead of those that are learned.
    """
    require_enough(min(len(one), len(other)))
    fit_one, choose_one, count_one = _split(one)
    fit_other, choose_other, count_other = _split(other)
    scores = {"given": _checked(score)} if score is not None else learned(fit_one, fit_other)
    best: dict[str, tuple[float, str, float, float]] = {}
    for name, each in scores.items():
        a, b = each(choose_one), each(choose_other)
        for sign in (1.0, -1.0):
            places = _thresholds(sign * a, sign * b)
            hits, alarms = _above(sign * a, places), _above(sign * b, places)
            p, q = rate_bounds(hits, a.size, alarms, b.size, confidence)
            for purpose, values in (("mu", mu_of(p, q)), ("epsilon", epsilon_of(p, q, delta))):
                k = int(np.argmax(values))
                if purpose not in best or values[k] > best[purpose][0]:
                    best[purpose] = (float(values[k]), name, sign, float(places[k]))
    events = []
    for purpose, (_, name, sign, threshold) in best.items():
        a, b = (sign * scores[name](part) for part in (count_one, count_other))
        shown = name if sign > 0.0 else f"{name}, reversed"
        events.append(Event(purpose, shown, threshold, _counted(a, b, threshold)))
    return events[0], events[1]


def _checked(score: Score) -> Score:
    """A user's score, which has to be one number an output: each is counted once."""

    def scored(outputs: Outputs) -> NDArray[np.float64]:
        found = np.asarray(score(outputs))
        if found.shape != outputs.shape[:1] or found.dtype.kind not in "fiub":
            raise InvalidInput(
                "score",
                f"<shape {found.shape}>",
                f"is not one real number for each of {len(outputs)} outputs",
                "return an array with one number for each row",
            )
        return found.astype(np.float64)

    return scored


def learned(one: Outputs, other: Outputs) -> dict[str, Score]:
    """The tests that are learned from outputs of both data sets."""
    centre = (one.mean(axis=0) + other.mean(axis=0)) / 2.0
    line = one.mean(axis=0) - other.mean(axis=0)
    pooled = (_spread(one) + _spread(other)) / 2.0
    best = np.linalg.solve(pooled, line)
    scores: dict[str, Score] = {
        "mean difference": lambda x: (x - centre) @ line,
        "linear discriminant": lambda x: (x - centre) @ best,
    }
    if one.shape[1] <= _WIDEST_QUADRATIC and min(len(one), len(other)) > 4 * one.shape[1]:
        first, second = _log_density(one), _log_density(other)
        scores["quadratic discriminant"] = lambda x: first(x) - second(x)
    return scores


def _spread(outputs: Outputs) -> NDArray[np.float64]:
    """The covariance, or the variances alone where there are too few outputs for it."""
    d = outputs.shape[1]
    if len(outputs) > 2 * d:
        spread = np.atleast_2d(np.cov(outputs.T))
    else:
        spread = np.diag(outputs.var(axis=0))
    largest = float(np.max(np.diag(spread)))
    return np.asarray(spread + (_RIDGE * largest or 1.0) * np.eye(d))


def _log_density(outputs: Outputs) -> Score:
    """Of the Gaussian with their mean and spread, up to a constant."""
    mean, spread = outputs.mean(axis=0), _spread(outputs)
    precision = np.linalg.inv(spread)
    volume = float(np.linalg.slogdet(spread)[1])
    return lambda x: -0.5 * (np.einsum("ij,jk,ik->i", x - mean, precision, x - mean) + volume)


def _split(outputs: Outputs) -> tuple[Outputs, Outputs, Outputs]:
    """A quarter to learn from, a quarter to choose by, and half to count."""
    quarter = len(outputs) // 4
    return outputs[:quarter], outputs[quarter : 2 * quarter], outputs[2 * quarter :]


def _above(values: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.intp]:
    """How many of the values are above each place."""
    return np.asarray(values.size - np.searchsorted(np.sort(values), places, side="right"))


def _thresholds(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of both piles, and the places between two that lie apart."""
    places = [np.quantile(pile, _PLACES) for pile in (a, b)]
    between = (np.quantile(a, _PLACES[:1]) + np.quantile(b, _PLACES[-1:])) / 2.0
    return np.unique(np.concatenate([*places, between]))


def _counted(a: NDArray[np.float64], b: NDArray[np.float64], threshold: float) -> Rates:
    return Rates(
        int(np.count_nonzero(a > threshold)), a.size, int(np.count_nonzero(b > threshold)), b.size
    )
