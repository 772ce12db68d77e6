"""What all private linear models share: the plan of a fit, the ledger, what is kept and said of it.

A fitted model holds its released weights, the plan and the certificate, and nothing else that the
data touched.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from shiftdp._checks import choice, count, number_in
from shiftdp.last_iterate import Certificate
from shiftdp.training.assumed_bound import ASSUMED_BOUND
from shiftdp.training.centring import refuse_to_centre
from shiftdp.training.charging import charged
from shiftdp.training.descent.disk import is_mapped
from shiftdp.training.descent.entropy import Entropy, entropy_of
from shiftdp.training.descent.proximal import L1, ElasticNet, Prox
from shiftdp.training.descent.resume import Kept
from shiftdp.training.estimators.combinations import refuse_unproved
from shiftdp.training.estimators.inputs import (
    given_classes,
    labels_of,
    learnt_classes,
    require_here,
    require_one_a_record,
    validated,
)
from shiftdp.training.estimators.parameters import Penalty
from shiftdp.training.estimators.people import for_people, used_records
from shiftdp.training.estimators.stated import Stating
from shiftdp.training.estimators.surroundings import PrivacyLeakWarning
from shiftdp.training.losses.base import Loss
from shiftdp.training.planning.planner import Planned, plan_for
from shiftdp.training.planning.problem import Overrides, Problem

__all__ = [
    "PrivacyLeakWarning",
    "PrivateLinearModel",
    "Records",
    "entropy_of",
    "given_classes",
    "learnt_classes",
]

_CHOICES = tuple(Overrides.__dataclass_fields__)


class Records(NamedTuple):
    """What a model is trained on: features, a number for each record, and how many scores it has.

    `people` says whose record each is, where one person may have several.
    """

    X: Any
    targets: NDArray[Any]
    outputs: int
    people: NDArray[np.intp] | None = None


class PrivateLinearModel(Stating, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]  # not typed
    """A linear model whose weights are the last iterate of a certified run.

    Parameters are public: whatever is given must not be read off the data. They are described in
    `shiftdp.training.estimators.parameters`.
    """

    _single = False  # whether it has one vector of weights, and not one for each score

    epsilon: float
    delta: float
    feature_bound: float | None
    average: int | None
    checkpoints: Any
    noise: float | None
    centre: bool | None = None  # also of models that were pickled before there was any
    adjacency: Any
    fit_intercept: bool
    oversized: Any
    compute: float
    records_per_person: int
    penalty: Penalty
    alpha: float
    l1_ratio: float
    ledger: Any
    random_state: Any

    def _set(self, given: dict[str, Any]) -> None:
        """Keep the parameters of a constructor as they are, from its `locals()`."""
        self.__dict__.update((name, value) for name, value in given.items() if name != "self")

    # --- what a model has to say ---

    @abstractmethod
    def _loss(self, outputs: int) -> Loss:
        """The loss for so many scores a record."""

    @abstractmethod
    def _read(self, X: Any, y: Any, *, reset: bool, classes: Any = None) -> Records:
        """The records of a call; with `reset` they are the first, and what they are like is kept.

        `classes` are all labels of a classifier that was made without them.
        """

    # --- before a run ---

    def plan(self, n: int, features: int, outputs: int = 1, *, dense: bool = True) -> Planned:
        """What `fit` would run on so many records, without any data.

        Args:
            n: how many records.
            features: how many features.
            outputs: scores a record has: the number of classes where it is above 2, else 1.
            dense: whether the rows are an array, which can be centred, and not sparse or on a
                cluster.
        """
        if self._releases_several:
            refuse_unproved(self)
        if self.centre is True and not dense:
            raise refuse_to_centre("rows that are sparse, or elsewhere, or kept in a state")
        open_to_it = dense and self.penalty == "l2" and self.records_per_person == 1
        planned = plan_for(
            self._problem(n, features, outputs),
            self._overrides(centre=None if open_to_it else False),
            entropy=entropy_of(self.random_state),
            oversized=self.oversized,
        )
        planned = self._penalised(planned)
        k = self._cap_of_people()
        return planned if k == 1 else for_people(planned, k, noise=self.noise)

    @property
    def _releases_several(self) -> bool:
        """Whether other models than the last one are asked for."""
        return self.checkpoints is not None or self.average is not None

    def _overrides(self, centre: bool | None = False) -> Overrides:
        """What the user has chosen; `centre` is what holds where nothing is said of it."""
        chosen = {name: getattr(self, name) for name in _CHOICES}
        if self.centre is None:
            chosen["centre"] = centre
        return Overrides(**chosen)

    def _problem(self, n: int, features: int, outputs: int) -> Problem:
        return Problem(
            n=n,
            features=features,
            loss=self._loss(outputs),
            feature_bound=ASSUMED_BOUND if self.feature_bound is None else self.feature_bound,
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=self.adjacency,
            intercept=bool(self.fit_intercept),
            compute=self.compute,
        )

    def _penalised(self, planned: Planned) -> Planned:
        """The plan with the prox of the penalty, which never costs anything."""
        penalty = choice("penalty", self.penalty, get_args(Penalty))
        if penalty == "l2":
            return planned
        prox: Prox = L1(self.alpha)
        if penalty == "elasticnet":
            share = number_in("l1_ratio", self.l1_ratio, 0.0, 1.0)
            prox = ElasticNet(self.alpha * share, self.alpha * (1.0 - share))
        return replace(planned, plan=replace(planned.plan, prox=prox))

    def _cap_of_people(self) -> int:
        """How many records a person may have."""
        return count("records_per_person", self.records_per_person, 1)

    def _of_people(self, records: Records, groups: Any) -> Records:
        """The records that are used, at most so many of each person, and whose they are."""
        k = self._cap_of_people()
        if groups is None and k == 1:
            return records
        used, people = used_records(groups, records.X.shape[0], k)
        return Records(records.X[used], records.targets[used], records.outputs, people)

    def _checked(self, X: Any, y: Any, **more: Any) -> tuple[Any, NDArray[Any]]:
        """X and y as arrays, each entry read by itself; a refusal tells shapes and types only."""
        require_here(X=X, y=y)
        y = labels_of(y, numbers=bool(more.get("y_numeric")))
        if is_mapped(y):
            X = validated(self, X, reset=more["reset"])
            require_one_a_record(X, y)
            return X, y
        X, y = validated(self, X, y, **more)
        return X, y

    # --- around a run ---

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the model as it was, names and number of features included, if a fit ends early."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _charged(
        self, certificate: Certificate, entropy: Entropy, label: str, kept: Kept | None = None
    ) -> AbstractContextManager[None]:
        """Charge the ledger, if there is one, before a run, and note its end if it comes to that:
        see `charging.charged`."""
        if self.ledger is None:
            return nullcontext()
        return charged(self.ledger, certificate, entropy, label, self.random_state, kept)

    def _signed(self, certificate: Certificate) -> Certificate:
        """The certificate with the name of this estimator in its training record."""
        training = certificate.training
        if training is None:
            return certificate
        return replace(certificate, training=replace(training, estimator=type(self).__name__))

    # --- the released parameters ---

    def _keep(self, released: NDArray[Any]) -> None:
        """The released parameters as `coef_` and `intercept_`, in scikit-learn's shapes."""
        self.coef_, self.intercept_ = self._parts(released)

    def _parts(self, released: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """Weights and constants."""
        weights = np.atleast_2d(released)
        if self.plan_.plan.intercept:
            weights, constants = weights[:, :-1], weights[:, -1]
        else:
            constants = np.zeros(len(weights))
        if self._single:
            return weights[0].copy(), float(constants[0])
        return weights.copy(), constants.copy()

    def _weights(self) -> NDArray[Any]:
        """The released parameters as the loop has them."""
        weights = np.atleast_2d(self.coef_)
        if not self.plan_.plan.intercept:
            return weights
        return np.concatenate([weights, np.reshape(self.intercept_, (-1, 1))], axis=1)

    # --- what is said of a fitted model: by what `fit` kept, as parameters may have been set ---

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")
