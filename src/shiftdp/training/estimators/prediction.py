"""What released weights say of rows: scores, the probabilities of classes, and R^2."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from shiftdp.last_iterate.sum_rounding import CHUNK
from shiftdp.training.descent.records import bounded_rows
from shiftdp.training.estimators.base import PrivateLinearModel
from shiftdp.training.estimators.inputs import require_here, validated


def scores_of(model: PrivateLinearModel, X: Any) -> NDArray[Any]:
    """X w + b, one column a score, on rows that are held to the bound as in training."""
    check_is_fitted(model)
    require_here(X=X)
    rows = bounded_rows(validated(model, X, reset=False), model.plan_.plan.feature_bound)
    weights = np.atleast_2d(model.coef_)
    scores = np.empty((rows.shape[0], len(weights)))
    with np.errstate(all="ignore"):  # rows are within the bound: nothing but underflow
        for start in range(0, len(scores), CHUNK):
            part = slice(start, min(start + CHUNK, len(scores)))
            scores[part] = rows.take(part) @ weights.T
        return np.asarray(scores + model.intercept_)


def probabilities(scores: NDArray[Any]) -> NDArray[Any]:
    """Of the classes, by the scores: one column for two classes, else one a class.

    >>> probabilities(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    from scipy.special import expit, softmax

    with np.errstate(all="ignore"):  # what is below the smallest float is 0
        if scores.shape[1] > 1:
            return np.asarray(softmax(scores, axis=1))
        return np.stack([expit(-scores[:, 0]), expit(scores[:, 0])], axis=1)


def log_probabilities(scores: NDArray[Any]) -> NDArray[Any]:
    """The logarithms of `probabilities`, which stay finite where these are 0.

    >>> log_probabilities(np.array([[2000.0]]))
    array([[-2000.,    -0.]])
    """
    from scipy.special import log_expit, log_softmax

    with np.errstate(all="ignore"):
        if scores.shape[1] > 1:
            return np.asarray(log_softmax(scores, axis=1))
        return np.stack([log_expit(-scores[:, 0]), log_expit(scores[:, 0])], axis=1)


def explained(y: Any, predicted: NDArray[Any], weights: Any) -> float:
    """R^2 of both divided by one power of two, which changes nothing but that no square overflows.

    If y varies so little that R^2 is below all floats, it is the lowest.

    >>> explained([1e308, -1e308], np.array([1e308, 0.0]), None)
    0.5
    """
    y = np.asarray(y, dtype=np.float64)
    largest = max(np.abs(y).max(initial=0.0), np.abs(predicted).max(initial=0.0))
    exponent = -int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
    y, predicted = np.ldexp(y, exponent), np.ldexp(predicted, exponent)
    share = float(r2_score(y, predicted, sample_weight=weights))
    return max(share, -float(np.finfo(np.float64).max))
