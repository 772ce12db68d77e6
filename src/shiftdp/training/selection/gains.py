"""What one record says of a model: a gain in [0, 1], or a place in a histogram of scores.

Everything here is computed from one record and the model alone, so that a record counts in a sum
with nothing but its own term (Theorem S4).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import finite
from shiftdp._errors import InvalidInput
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.estimators.inputs import given_classes, labels_of
from shiftdp.training.losses.base import Floats, described
from shiftdp.training.preparation.learning import released

from sklearn.base import is_classifier  # isort: skip

_GRID = 20  # bits of a gain
_WORST_LOSS = 5.0
"""A log-loss that counts as a gain of 0: a probability of e^-5 for what is true."""
BINS = 24
"""Cells of the score: enough for a curve, few enough for the noise."""


class Targets(NamedTuple):
    """The range that numbers y are clipped to, which is public."""

    low: float
    high: float


def range_of(model: Any, targets: tuple[float, float] | None) -> Targets | None:
    """The range of y, which a regressor needs and a classifier does not have."""
    if is_classifier(model):
        if targets is not None:
            raise InvalidInput("targets", targets, "is for regressors", "leave it out")
        return None
    if targets is None:
        raise InvalidInput(
            "targets", None, "is missing: nothing bounds what one record adds",
            "give the range (low, high) that y is clipped to",
        )  # fmt: skip
    low, high = (finite("targets", one) for one in targets)
    if not math.isfinite(high - low) or not low < high:
        raise InvalidInput("targets", targets, "is no range", "give (low, high), low < high")
    return Targets(low, high)


def model_of(estimator: Any) -> Any:
    """The private model itself: of a search what it chose, of a pipeline its last step."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return estimator


def places_of(estimator: Any, y: Any) -> NDArray[np.intp]:
    """The place of each label among the classes of the model."""
    labels = np.asarray(labels_of(y))
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    _, places = given_classes(model_of(estimator).classes_, labels)
    return places


def class_gains(estimator: Any, X: Any, y: Any, scoring: str) -> Floats:
    """Gains of a classifier: `accuracy`, `brier` or `log_loss`."""
    places = places_of(estimator, y)
    if scoring == "accuracy":
        scores = np.asarray(estimator.decision_function(X))
        predicted = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return np.asarray(predicted == places, dtype=np.float64)
    p = np.asarray(estimator.predict_proba(X))
    if scoring == "log_loss":
        with np.errstate(divide="ignore"):
            loss = -np.log(p[np.arange(len(p)), places])
        return np.asarray(1.0 - np.minimum(loss, _WORST_LOSS) / _WORST_LOSS)
    p = p.copy()
    p[np.arange(len(p)), places] -= 1.0
    return np.asarray(1.0 - 0.5 * (p * p).sum(axis=1))


def relative_errors(estimator: Any, X: Any, y: Any, targets: Targets) -> tuple[Floats, Floats]:
    """Of a regressor: |y - prediction| as a part of the range, and y scaled to [-1, 1]."""
    numbers = np.asarray(labels_of(y, numbers=True), dtype=np.float64).reshape(-1)
    if not np.isfinite(numbers).all():
        raise InvalidInput("y", described(y), "has entries that are no numbers", "give numbers")
    low, high = targets
    clipped = np.clip(numbers, low, high)
    predicted = np.clip(np.asarray(estimator.predict(X), dtype=np.float64), low, high)
    if predicted.shape != clipped.shape:
        raise InvalidInput(
            "y", described(y), f"does not have {len(predicted)} entries", "give one a record"
        )
    scaled = 2.0 * ((clipped - low) / (high - low)) - 1.0
    return np.abs(predicted - clipped) / (high - low), scaled


def exact_sum(values: Floats) -> float:
    """The sum of g - 1/2 over gains g in [0, 1], on a grid of 2^-20: exact in any order.

    A gain that is no number counts as 0: as a whole number it would be the least of all.
    """
    known = np.clip(np.nan_to_num(values), 0.0, 1.0)
    whole = np.rint(known * float(1 << _GRID)).astype(np.int64)
    return (2 * int(whole.sum()) - (len(whole) << _GRID)) / (1 << _GRID + 1)


def noisy_mean(columns: list[Floats], noise: float, stream: Stream) -> list[float]:
    """The means of gains with noise, all of them in one release."""
    sums = released(np.array([exact_sum(column) for column in columns]), noise, stream)
    return [0.5 + float(one) / len(columns[0]) for one in sums]


def edges_of(estimator: Any) -> Floats:
    """Edges between cells of the score, which are public: they follow from released weights.

    Rows have the length R at most. The score of one that points anywhere is b + |w| R t, with t
    about 1/sqrt(d) in size: edges are quantiles of a normal law of that width, and 0, where a
    prediction changes.
    """
    from scipy.special import ndtri

    model = model_of(estimator)
    weights = np.atleast_2d(model.coef_)[0]
    width = float(np.linalg.norm(weights)) * model.plan_.plan.feature_bound
    width /= math.sqrt(max(len(weights), 1))
    centre = float(np.atleast_1d(model.intercept_)[0])
    places = ndtri(np.arange(1, BINS) / BINS)
    return np.unique(np.append(centre + width * places, 0.0))


def histogram(estimator: Any, X: Any, y: Any, edges: Floats) -> Floats:
    """How many records of each of two classes are in each cell: two rows."""
    places = places_of(estimator, y)
    scores = np.asarray(estimator.decision_function(X))
    if scores.ndim == 2:
        raise InvalidInput(
            "metrics", "auc", "is for two classes", "leave out auc and calibration, or score others"
        )
    # a score of exactly 0 is the first class, as in `predict`
    cells = np.searchsorted(edges, scores, side="left")
    counts = np.zeros((2, len(edges) + 1))
    np.add.at(counts, (places, cells), 1.0)
    return counts


def noisy_histogram(
    estimator: Any, X: Any, y: Any, edges: Floats, noise: float, stream: Stream
) -> Floats:
    """`histogram` with noise in every cell."""
    counts = histogram(estimator, X, y, edges)
    return released(counts.ravel(), noise, stream).reshape(counts.shape)
