"""A search that is done: it stands for the model that it chose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp.training.estimators.scored import PrivatelyScored
from shiftdp.training.selection.gains import model_of

from sklearn.utils.metaestimators import available_if  # isort: skip
from sklearn.utils.validation import check_is_fitted  # isort: skip


def _fitted_has(name: str) -> Any:
    """The method is there if the chosen model has it, or the one to be fitted."""

    def has(self: Any) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return available_if(has)


class ChosenModel(PrivatelyScored):
    """What the chosen model predicts, and what the search that chose it guarantees."""

    estimator: Any
    best_estimator_: Any
    delta: float
    not_covered_: tuple[str, ...]

    @property
    def plan_(self) -> Any:
        """The plan of the model that was chosen."""
        return self.best_estimator_.plan_

    def statement(self) -> str:
        """The guarantee of the whole search in words, and what it does not cover."""
        check_is_fitted(self)
        lines = [self.certificate_.statement(delta=self.delta)]
        return "\n".join([*lines, *(f"Not covered: {leak}." for leak in self.not_covered_)])

    def _stated_model(self) -> Any:
        return model_of(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def score(self, X: Any, y: Any) -> float:
        """The score of the chosen model, without noise: for records that need no protection."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    @_fitted_has("predict")  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:
        """What the chosen model predicts."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @_fitted_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes, by the chosen model."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @_fitted_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores of the chosen model."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))
