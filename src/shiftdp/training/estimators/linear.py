"""Private linear models for scikit-learn: logistic regression, a linear SVC, a Huber regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import LastBatch, Order, Sampling
from shiftdp.training.estimators.base import (
    Penalty,
    PrivateLinearModel,
    given_classes,
    learnt_classes,
    warn_of_learnt_classes,
)
from shiftdp.training.estimators.combinations import (
    refuse_forgetting,
    refuse_stream,
    refuse_unproved,
)
from shiftdp.training.estimators.inputs import labels_of, quietly
from shiftdp.training.losses.base import Loss, described
from shiftdp.training.losses.scalar import Huber, Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.plan import Oversized
from shiftdp.training.planning.checkpoints import Checkpoints
from shiftdp.training.planning.problem import COMPUTE, Algorithm

from sklearn.base import ClassifierMixin, RegressorMixin  # isort: skip
from sklearn.metrics import r2_score  # isort: skip
from sklearn.utils.multiclass import check_classification_targets  # isort: skip
from sklearn.utils.validation import check_is_fitted  # isort: skip

_ALPHA = (
    0.01  # the strength of an L1 penalty, of the size of a ridge that helps a few hundred records
)
_DELTA = 1e-5  # unless another is given: less than one over the records of most tables


class _PrivateClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]  # not typed
    """A classifier: labels are numbered for training, and numbers become labels in `predict`."""

    classes: Any

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release a model of these records; if the fit is refused, the model stays as it was.

        Args:
            X: features: an array, a data frame (nullable columns, columns of objects and those of
                Arrow included, as long as nothing is missing) or a sparse matrix of SciPy. An
                `np.matrix` is refused.
            y: labels.
            groups: whose record each is, with `records_per_person` above 1: of each person the
                first so many are used.
        """
        refuse_unproved(self, groups=groups)
        with self._all_or_nothing():
            X, y = self._checked(X, y)
            quietly(lambda: check_classification_targets(y), X, y)
            learnt = self.classes is None
            known, places = learnt_classes(y) if learnt else given_classes(self.classes, y)
            self._require_classes(y, known.size)
            if learnt:
                warn_of_learnt_classes()
            outputs = 1 if known.size == 2 else known.size
            released = self._run(X, places, outputs, groups)
            self.classes_ = known
            self.classes_learnt_ = learnt
            self._keep(released)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on with new records, each of which is used once, and release the model. Theorem V2.

        The first call plans the stream; each later one begins from what the last released. The
        guarantee of a record does not depend on how many calls there are, as long as no record is
        given twice. If a call is refused, the model stays as it was. `epochs` is refused here, and
        so are parameters that were set after the first call.
        A model that `fit` has made goes on from there; its records keep the certificate that they
        had, `stream_.before`.

        Args:
            X: features, as in `fit`; as many records as in the first call, about, or more.
            y: labels.
            classes: all labels there will ever be; needed in the first call unless the model was
                made with them.
        """
        refuse_stream(self)
        first = not hasattr(self, "coef_")
        names = classes if self.classes is None else self.classes
        if first and names is None:
            raise InvalidInput(
                "classes",
                None,
                "are missing: later records may have labels that these have not",
                "give classes=... to the model, or to the first partial_fit",
            )
        with self._all_or_nothing():
            X, y = self._checked(X, y, reset=first)
            quietly(lambda: check_classification_targets(y), X, y)
            known, places = given_classes(names if first else self.classes_, y)
            self._require_classes(y, known.size)
            released = self._run_window(X, places, 1 if known.size == 2 else known.size)
            self.classes_ = known
            if first:
                self.classes_learnt_ = False
            self._keep(released)
        return self

    def forget(
        self, X: Any, y: Any, *, epsilon: float, delta: float, groups: Any = None
    ) -> Certificate:
        """Go on without some records until they are forgotten: certified unlearning. [Theorem V3]

        The model becomes that after the further steps. For the records that stay they are one
        release more, with the certificate `further_certificate_`, which a ledger is charged.

        Args:
            X: the records that stay: those of `fit` but for the ones to be forgotten.
            y: their labels.
            epsilon: what may be left of those that are forgotten, at `delta`.
            delta: likewise.
            groups: as in `fit`, of the records that stay; all records of a person are forgotten.

        Returns:
            How well the model can be told from one that never had them. Its `run` has
            `further_steps`, and `training.steps`, which training anew would take.
        """
        check_is_fitted(self)
        refuse_forgetting(self)
        with self._all_or_nothing():
            X, y = self._checked(X, y, reset=False)
            _, places = given_classes(self.classes_, y)
            certificate, released = self._forget(X, places, epsilon, delta, groups)
            self._keep(released)
        return certificate

    def _require_classes(self, y: NDArray[Any], count: int) -> None:
        """Refuse numbers of classes that this model cannot have: two or more are allowed here."""

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores: one a record for two classes (positive: the second), else one a class."""
        scores = self._scores(X)
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


class PrivateLogisticRegression(_PrivateClassifier):
    """Logistic regression, binary or multinomial, with a certified last iterate.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = PrivateLogisticRegression(epsilon=1.0, delta=1e-5, classes=[0, 1]).fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.certificate_.epsilon(1e-5) <= 1.0
    (True, True)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = _DELTA,
        feature_bound: float = 1.0,
        *,
        classes: Any = None,
        adjacency: Adjacency = "replace_one",
        fit_intercept: bool = True,
        algorithm: Algorithm | None = None,
        order: Order | None = None,
        last_batch: LastBatch | None = None,
        sampling: Sampling | None = None,
        batch_size: int | None = None,
        epochs: float | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        clip: float | None = None,
        noise: float | None = None,
        bounds: Bounds | None = None,
        checkpoints: Checkpoints = None,
        average: int | None = None,
        records_per_person: int = 1,
        penalty: Penalty = "l2",
        alpha: float = _ALPHA,
        l1_ratio: float = 0.5,
        compute: float = COMPUTE,
        oversized: Oversized = "scale",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.feature_bound = feature_bound
        self.classes = classes
        self.adjacency = adjacency
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.order = order
        self.last_batch = last_batch
        self.sampling = sampling
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.l2 = l2
        self.clip = clip
        self.noise = noise
        self.bounds = bounds
        self.checkpoints = checkpoints
        self.average = average
        self.records_per_person = records_per_person
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.compute = compute
        self.oversized = oversized
        self.ledger = ledger
        self.random_state = random_state

    def _loss(self, outputs: int) -> Loss:
        return Logistic() if outputs == 1 else Softmax(classes=outputs)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes; noise and clipping are not undone."""
        from scipy.special import expit, softmax

        scores = self._scores(X)
        with np.errstate(all="ignore"):  # what is below the smallest float is 0
            if scores.shape[1] > 1:
                return np.asarray(softmax(scores, axis=1))
            return np.stack([expit(-scores[:, 0]), expit(scores[:, 0])], axis=1)

    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithms of the probabilities."""
        from scipy.special import log_expit, log_softmax

        scores = self._scores(X)
        with np.errstate(all="ignore"):
            if scores.shape[1] > 1:
                return np.asarray(log_softmax(scores, axis=1))
            return np.stack([log_expit(-scores[:, 0]), log_expit(scores[:, 0])], axis=1)


class PrivateLinearSVC(_PrivateClassifier):
    """A support vector machine for two classes: the hinge, its kink smoothed over `width`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = PrivateLinearSVC(classes=["no", "yes"]).fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    >>> model.classes_.tolist(), model.plan_.plan.loss
    (['no', 'yes'], SmoothedHinge(width=1.0))
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = _DELTA,
        feature_bound: float = 1.0,
        *,
        classes: Any = None,
        width: float = 1.0,
        adjacency: Adjacency = "replace_one",
        fit_intercept: bool = True,
        algorithm: Algorithm | None = None,
        order: Order | None = None,
        last_batch: LastBatch | None = None,
        sampling: Sampling | None = None,
        batch_size: int | None = None,
        epochs: float | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        clip: float | None = None,
        noise: float | None = None,
        bounds: Bounds | None = None,
        checkpoints: Checkpoints = None,
        average: int | None = None,
        records_per_person: int = 1,
        penalty: Penalty = "l2",
        alpha: float = _ALPHA,
        l1_ratio: float = 0.5,
        compute: float = COMPUTE,
        oversized: Oversized = "scale",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.feature_bound = feature_bound
        self.classes = classes
        self.width = width
        self.adjacency = adjacency
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.order = order
        self.last_batch = last_batch
        self.sampling = sampling
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.l2 = l2
        self.clip = clip
        self.noise = noise
        self.bounds = bounds
        self.checkpoints = checkpoints
        self.average = average
        self.records_per_person = records_per_person
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.compute = compute
        self.oversized = oversized
        self.ledger = ledger
        self.random_state = random_state

    def _loss(self, outputs: int) -> Loss:
        return SmoothedHinge(width=self.width)

    def _require_classes(self, y: NDArray[Any], count: int) -> None:
        if count == 2:
            return
        if self.classes is not None:
            raise InvalidInput(
                "classes", count, "are not two", "give two, or use PrivateLogisticRegression"
            )
        raise InvalidInput(
            "y",
            described(y),
            "Only binary classification is supported. The type of the target is multiclass.",
            "use PrivateLogisticRegression for more",
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class PrivateHuberRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]  # not typed
    """Linear regression with the Huber loss: least squares up to residuals of `width`.

    y should be scaled, by a public rule, so that residuals of `width` are large.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 2)) / np.sqrt(2)
    >>> model = PrivateHuberRegressor(epsilon=2.0).fit(X, X @ [1.0, -1.0])
    >>> bool(model.score(X, X @ [1.0, -1.0]) > 0.8)
    True
    """

    _single = True

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = _DELTA,
        feature_bound: float = 1.0,
        *,
        width: float = 1.0,
        adjacency: Adjacency = "replace_one",
        fit_intercept: bool = True,
        algorithm: Algorithm | None = None,
        order: Order | None = None,
        last_batch: LastBatch | None = None,
        sampling: Sampling | None = None,
        batch_size: int | None = None,
        epochs: float | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        clip: float | None = None,
        noise: float | None = None,
        bounds: Bounds | None = None,
        checkpoints: Checkpoints = None,
        average: int | None = None,
        records_per_person: int = 1,
        penalty: Penalty = "l2",
        alpha: float = _ALPHA,
        l1_ratio: float = 0.5,
        compute: float = COMPUTE,
        oversized: Oversized = "scale",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.feature_bound = feature_bound
        self.width = width
        self.adjacency = adjacency
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.order = order
        self.last_batch = last_batch
        self.sampling = sampling
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.l2 = l2
        self.clip = clip
        self.noise = noise
        self.bounds = bounds
        self.checkpoints = checkpoints
        self.average = average
        self.records_per_person = records_per_person
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.compute = compute
        self.oversized = oversized
        self.ledger = ledger
        self.random_state = random_state

    def _loss(self, outputs: int) -> Loss:
        return Huber(width=self.width)

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release a model of these records; if the fit is refused, the model stays as it was.

        Args:
            X: features: an array, a data frame (nullable columns, columns of objects and those of
                Arrow included, as long as nothing is missing) or a sparse matrix of SciPy. An
                `np.matrix` is refused.
            y: numbers.
            groups: whose record each is, with `records_per_person` above 1: of each person the
                first so many are used.
        """
        refuse_unproved(self, groups=groups)
        with self._all_or_nothing():
            X, y = self._checked(X, y, y_numeric=True)
            self._keep(self._run(X, y, 1, groups))
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Go on with new records, each of which is used once, and release the model. Theorem V2.

        The first call plans the stream; each later one begins from what the last released. The
        guarantee of a record does not depend on how many calls there are, as long as no record is
        given twice. If a call is refused, the model stays as it was. `epochs` is refused here, and
        so are parameters that were set after the first call.
        A model that `fit` has made goes on from there; its records keep the certificate that they
        had, `stream_.before`.

        Args:
            X: features, as in `fit`; as many records as in the first call, about, or more.
            y: numbers.
        """
        refuse_stream(self)
        with self._all_or_nothing():
            X, y = self._checked(X, y, y_numeric=True, reset=not hasattr(self, "coef_"))
            self._keep(self._run_window(X, y, 1))
        return self

    def forget(
        self, X: Any, y: Any, *, epsilon: float, delta: float, groups: Any = None
    ) -> Certificate:
        """Go on without some records until they are forgotten: certified unlearning. [Theorem V3]

        The model becomes that after the further steps. For the records that stay they are one
        release more, with the certificate `further_certificate_`, which a ledger is charged.

        Args:
            X: the records that stay: those of `fit` but for the ones to be forgotten.
            y: their numbers.
            epsilon: what may be left of those that are forgotten, at `delta`.
            delta: likewise.
            groups: as in `fit`, of the records that stay; all records of a person are forgotten.

        Returns:
            How well the model can be told from one that never had them. Its `run` has
            `further_steps`, and `training.steps`, which training anew would take.
        """
        check_is_fitted(self)
        refuse_forgetting(self)
        with self._all_or_nothing():
            X, y = self._checked(X, y, y_numeric=True, reset=False)
            certificate, released = self._forget(X, y, epsilon, delta, groups)
            self._keep(released)
        return certificate

    def predict(self, X: Any) -> NDArray[Any]:
        """X w + b."""
        return self._scores(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2: 1 less the squared error, relative to that of the mean, as in scikit-learn."""
        predicted = self.predict(X)
        numbers = labels_of(y, numbers=True)
        return float(quietly(lambda: _explained(numbers, predicted, sample_weight), X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # noise that hides a record of few may hide what they have in common
        tags.regressor_tags.poor_score = True
        return tags


def _explained(y: Any, predicted: NDArray[Any], weights: Any) -> float:
    """R^2 of both divided by one power of two, which changes nothing but that no square overflows.

    If y varies so little that R^2 is below all floats, it is the lowest.

    >>> _explained([1e308, -1e308], np.array([1e308, 0.0]), None)
    0.5
    """
    y = np.asarray(y, dtype=np.float64)
    largest = max(np.abs(y).max(initial=0.0), np.abs(predicted).max(initial=0.0))
    exponent = -int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
    y, predicted = np.ldexp(y, exponent), np.ldexp(predicted, exponent)
    share = float(r2_score(y, predicted, sample_weight=weights))
    return max(share, -float(np.finfo(np.float64).max))
