"""Private linear models for scikit-learn: logistic regression, a linear SVC, a Huber regressor."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import LastBatch, Order, Sampling
from shiftdp.training.estimators.base import Records
from shiftdp.training.estimators.classifier import PrivateClassifier
from shiftdp.training.estimators.fitting import Fitting
from shiftdp.training.estimators.forgetting import Forgetting
from shiftdp.training.estimators.inputs import labels_of, quietly
from shiftdp.training.estimators.parameters import ALPHA, DELTA, Penalty, documented
from shiftdp.training.estimators.prediction import (
    explained,
    log_probabilities,
    probabilities,
    scores_of,
)
from shiftdp.training.estimators.streams import Streaming
from shiftdp.training.losses.base import Loss, described
from shiftdp.training.losses.scalar import Huber, Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.plan import Oversized
from shiftdp.training.planning.checkpoints import Checkpoints
from shiftdp.training.planning.problem import COMPUTE, Algorithm


@documented
class PrivateLogisticRegression(PrivateClassifier):
    """Logistic regression, binary or multinomial, with a certified last iterate.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = PrivateLogisticRegression(
    ...     epsilon=1.0, delta=1e-5, feature_bound=1.0, classes=[0, 1]
    ... )
    >>> model = model.fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.certificate_.epsilon(1e-5) <= 1.0
    (True, True)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DELTA,
        feature_bound: float | None = None,
        *,
        classes: Any = None,
        class_weight: Any = None,
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
        centre: bool | None = None,
        records_per_person: int = 1,
        penalty: Penalty = "l2",
        alpha: float = ALPHA,
        l1_ratio: float = 0.5,
        compute: float = COMPUTE,
        oversized: Oversized = "scale",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self._set(locals())

    def _loss(self, outputs: int) -> Loss:
        return self._weighted(Logistic() if outputs == 1 else Softmax(classes=outputs))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes; noise and clipping are not undone."""
        return probabilities(scores_of(self, X))

    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithms of the probabilities."""
        return log_probabilities(scores_of(self, X))


@documented
class PrivateLinearSVC(PrivateClassifier):
    """A support vector machine for two classes: the hinge, its kink smoothed over `width`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = PrivateLinearSVC(feature_bound=1.0, classes=["no", "yes"])
    >>> model = model.fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    >>> model.classes_.tolist(), model.plan_.plan.loss
    (['no', 'yes'], SmoothedHinge(width=1.0))
    """

    width: float

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DELTA,
        feature_bound: float | None = None,
        *,
        classes: Any = None,
        class_weight: Any = None,
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
        centre: bool | None = None,
        records_per_person: int = 1,
        penalty: Penalty = "l2",
        alpha: float = ALPHA,
        l1_ratio: float = 0.5,
        compute: float = COMPUTE,
        oversized: Oversized = "scale",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self._set(locals())

    def _loss(self, outputs: int) -> Loss:
        return self._weighted(SmoothedHinge(width=self.width))

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


@documented
class PrivateHuberRegressor(RegressorMixin, Fitting, Streaming, Forgetting):  # type: ignore[misc]  # not typed
    """Linear regression with the Huber loss: least squares up to residuals of `width`.

    y should be scaled, by a public rule, so that residuals of `width` are large.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 2)) / np.sqrt(2)
    >>> model = PrivateHuberRegressor(epsilon=2.0, feature_bound=1.0).fit(X, X @ [1.0, -1.0])
    >>> bool(model.score(X, X @ [1.0, -1.0]) > 0.8)
    True
    """

    _single = True
    width: float

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DELTA,
        feature_bound: float | None = None,
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
        centre: bool | None = None,
        records_per_person: int = 1,
        penalty: Penalty = "l2",
        alpha: float = ALPHA,
        l1_ratio: float = 0.5,
        compute: float = COMPUTE,
        oversized: Oversized = "scale",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self._set(locals())

    def _loss(self, outputs: int) -> Loss:
        return Huber(width=self.width)

    def _read(self, X: Any, y: Any, *, reset: bool, classes: Any = None) -> Records:
        return Records(*self._checked(X, y, y_numeric=True, reset=reset), outputs=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """X w + b."""
        return scores_of(self, X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2: 1 less the squared error, relative to that of the mean, as in scikit-learn."""
        predicted = self.predict(X)
        numbers = labels_of(y, numbers=True)
        return float(quietly(lambda: explained(numbers, predicted, sample_weight), X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # noise that hides a record of few may hide what they have in common
        tags.regressor_tags.poor_score = True
        return tags
