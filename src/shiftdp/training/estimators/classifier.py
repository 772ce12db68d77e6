"""Classifiers: labels are numbered for training, and numbers become labels in `predict`."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from shiftdp._errors import InvalidInput
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.estimators.base import Records
from shiftdp.training.estimators.fitting import Fitting
from shiftdp.training.estimators.forgetting import Forgetting
from shiftdp.training.estimators.inputs import (
    different,
    given_classes,
    labels_of,
    learnt_classes,
    quietly,
)
from shiftdp.training.estimators.prediction import scores_of
from shiftdp.training.estimators.streams import Streaming
from shiftdp.training.estimators.surroundings import PrivacyLeakWarning
from shiftdp.training.estimators.weights import relative_weights
from shiftdp.training.losses.base import Loss
from shiftdp.training.losses.weighted import Weighted


class PrivateClassifier(ClassifierMixin, Fitting, Streaming, Forgetting):  # type: ignore[misc]  # not typed
    """A classifier, whose classes are given, or read off the labels with a warning."""

    classes: Any
    class_weight: Any

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, groups: None = None) -> Self:
        """Go on with new records, each of which is used once, and release the model. [Theorem V2]

        The first call plans the stream; each later one begins from what the last released. The
        guarantee of a record does not depend on how many calls there are, as long as no record is
        given twice. If a call is refused, the model stays as it was.

        Args:
            X: features, as in `fit`; as many records as in the first call, about, or more.
            y: labels.
            classes: all labels that there will ever be; needed in the first call unless the model
                was made with them.
            groups: refused: a stream protects one record a person.
        """
        if not hasattr(self, "coef_") and self.classes is None and classes is None:
            raise InvalidInput(
                "classes",
                None,
                "are missing: later records may have labels that these have not",
                "give classes=... to the model, or to the first partial_fit",
            )
        return self._next_window(X, y, classes, groups=groups)

    def _read(self, X: Any, y: Any, *, reset: bool, classes: Any = None) -> Records:
        """Numbers for the labels; with `reset` the classes are those of the model, or `classes`."""
        X, y = self._checked(X, y, reset=reset)
        # of a file, the labels that occur: the type of all is that of these
        seen = different(y) if is_mapped(y) else y
        quietly(lambda: check_classification_targets(seen), X, y)
        if reset:
            names = classes if self.classes is None else self.classes
            learnt = names is None
            known, places = learnt_classes(y) if learnt else given_classes(names, y)
            self._require_classes(y, known.size)
            if learnt:
                warn_of_learnt_classes()
            self.classes_, self.classes_learnt_ = known, learnt
        else:
            known, places = given_classes(self.classes_, y)
        return Records(X, places, 1 if known.size == 2 else known.size)

    def _weighted(self, loss: Loss) -> Loss:
        """The loss with the weights of the classes, if there are some."""
        if self.class_weight is None:
            return loss
        known = getattr(self, "classes_", None) if self.classes is None else self.classes
        return Weighted(loss, relative_weights(self.class_weight, known))

    def _require_classes(self, y: NDArray[Any], count: int) -> None:
        """Refuse numbers of classes that this model cannot have: two or more are allowed here."""

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores: one a record for two classes (positive: the second), else one a class."""
        scores = scores_of(self, X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[places])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of records whose label is predicted."""
        accuracy = super().score
        names = labels_of(y)
        return float(quietly(lambda: accuracy(X, names, sample_weight), X, y))

    def _caveats(self) -> list[str]:
        leak = ["The classes were read off the labels, which the certificate does not cover."]
        return [*(leak if self.classes_learnt_ else []), *super()._caveats()]


def warn_of_learnt_classes() -> None:
    """Classes that are read off the labels are released as they are."""
    warnings.warn(
        "classes are read off the labels and released without noise: a class that one person alone "
        "has gives that person away. Give classes=...",
        PrivacyLeakWarning,
        stacklevel=4,  # whoever calls `fit`
    )
