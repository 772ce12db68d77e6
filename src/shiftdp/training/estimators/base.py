"""What the scikit-learn estimators share: checks, the plan, the ledger, the run, the release.

A fitted model holds its released weights, the plan and the certificate, and nothing else that the
data touched.
"""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from shiftdp._checks import choice, count, number_in
from shiftdp._errors import InvalidInput
from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.last_iterate import Certificate, NoisyCGD, NoisyGD, Unlearning, certify
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.last_iterate.runs import has_releases
from shiftdp.last_iterate.runs import people as people_in
from shiftdp.last_iterate.sum_rounding import CHUNK
from shiftdp.privacy.calibration import calibrate_noise
from shiftdp.privacy.ledger.entry import Account
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.unlearning import calibrate_unlearning
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.entropy import Entropy, MissingPackage, Seeded, System
from shiftdp.training.descent.loop import certified_records, descend_on
from shiftdp.training.descent.people import arranged, can_be_apart, people_of, within_cap
from shiftdp.training.descent.proximal import L1, ElasticNet, Prox
from shiftdp.training.descent.records import bounded_rows
from shiftdp.training.estimators.combinations import refuse_unproved
from shiftdp.training.estimators.inputs import (
    labels_of,
    quietly,
    readable,
    require_numbers,
    table_type,
)
from shiftdp.training.estimators.streams import (
    StreamState,
    first_window,
    next_window,
    require_unchanged,
    stream_certificate,
)
from shiftdp.training.estimators.surroundings import PrivacyLeakWarning, uncovered, warn_of
from shiftdp.training.losses.base import Loss, described
from shiftdp.training.plan import Plan
from shiftdp.training.planning.checkpoints import averaged_steps
from shiftdp.training.planning.outlook import warn_if_hopeless
from shiftdp.training.planning.planner import Planned, plan_for
from shiftdp.training.planning.problem import Overrides, Problem

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingPackage(
        "the estimators need scikit-learn 1.6 or newer: pip install 'shiftdp[sklearn]'"
    ) from error

__all__ = [
    "Checkpoint",
    "Penalty",
    "PrivacyLeakWarning",
    "PrivateLinearModel",
    "entropy_of",
    "given_classes",
    "learnt_classes",
    "warn_of_learnt_classes",
]

Penalty = Literal["l2", "l1", "elasticnet"]

_CHOICES = tuple(Overrides.__dataclass_fields__)


class Checkpoint(NamedTuple):
    """A model that was released after some step, in the shapes of `coef_` and `intercept_`."""

    step: int
    coef: NDArray[Any]
    intercept: Any


class PrivateLinearModel(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]  # not typed
    """A linear model whose weights are the last iterate of a certified run.

    Parameters are public: whatever is given must not be read off the data. Those that all models
    have:

    Parameters
    ----------
    epsilon, delta : float
        What the released model may cost.
    feature_bound : float, default=1.0
        Rows of X that are longer are scaled down to it, in `fit` and in `predict`. It must be
        public: it is never read off the data.
    adjacency : {"replace_one", "zero_out"}, default="replace_one"
        Which data sets are neighbours.
    fit_intercept : bool, default=True
        Whether a constant is joined to the features.
    algorithm, order, last_batch, sampling, batch_size, epochs
    learning_rate, l2, clip, noise, bounds
        Each is chosen by the planner unless it is given; see `shiftdp.training.planning.Overrides`.
    records_per_person : int, default=1
        How many records one person may have, who is protected as a whole; `fit` is then given
        `groups`, and uses the first so many of each person.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        `l2`: a ridge, chosen by the planner or given as `l2`. `l1` and `elasticnet`: besides, the
        prox of alpha |w|_1, or of alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2), in each step;
        weights that it sets to 0 are 0 in the released model. [Theorem V5]
    alpha : float, default=0.01
        The strength of that penalty.
    l1_ratio : float, default=0.5
        The share of L1 in it, from 0 to 1.
    checkpoints : "epochs", int or list of epochs, default=None
        Which models are released beside the last one, in `releases_`: after each pass over the
        data, so many at equal distances, or after these passes. The noise is enough for all of
        them together (Theorem V1).
    average : int, default=None
        `coef_` is the mean of the models after so many last passes. It costs what releasing each
        of them does, and they are in `releases_` too.
    compute : float, default=1e11
        How many multiplications a fit may take.
    oversized : {"scale", "refuse"}, default="scale"
        What happens to rows above the bound.
    ledger : Ledger or path, default=None
        Charged before each fit; a fit that does not fit its budget is refused.
    random_state : int, RandomState or None, default=None
        None draws from the operating system. Anything else makes the run reproducible and NOT
        private, which the certificate says.

    Attributes
    ----------
    coef_, intercept_ : the released parameters.
    plan_ : what was chosen, and why.
    certificate_ : the proved guarantee.
    releases_ : with checkpoints or an average, all models that were released, as (step, coef,
        intercept).
    stream_ : after `partial_fit`, the stream and how many windows it had.
    classes_learnt_ : of a classifier, whether the classes were read off the labels.
    not_covered_ : what around the fit learnt from the records too and is not covered; only if
        there was something.
    """

    _single = False  # whether it has one vector of weights, and not one for each score

    epsilon: float
    delta: float
    feature_bound: float
    average: int | None
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

    @abstractmethod
    def _loss(self, outputs: int) -> Loss:
        """The loss for so many scores a record."""

    # --- fitting ---

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

    def _checked(self, X: Any, y: Any, **more: Any) -> tuple[Any, NDArray[Any]]:
        """X and y as arrays, each entry read by itself; a refusal tells shapes and types only."""
        require_numbers(X)
        X = readable(X)
        y = labels_of(y, numbers=bool(more.get("y_numeric")))
        types = table_type(X)

        def check() -> Any:
            return validate_data(self, X, y, accept_sparse="csr", dtype=types, **more)

        X, y = quietly(check, X, y)
        return X, y

    def _run(self, X: Any, targets: NDArray[Any], outputs: int, groups: Any = None) -> NDArray[Any]:
        """Plan, certify, check the data, charge the ledger, train: in this order."""
        leaks = uncovered(charged=self.ledger is not None)
        warn_of(leaks)
        X, targets, people = self._capped(X, targets, groups)
        planned = self._planned(X.shape[0], X.shape[1], outputs)
        warn_if_hopeless(planned, self._overrides())
        run = planned.plan.run
        if people is not None and getattr(run, "arrangement", None) == "one_per_batch":
            order = arranged(people, cast(NoisyCGD, run))
            X, targets = X[order], targets[order]
        self.__dict__.pop("further_certificate_", None)
        certificate = self._signed(planned.plan.certificate)
        records = certified_records(planned.plan, X, targets)
        ledger = self._ledger(planned)
        entry = None
        if ledger is not None:
            entry = ledger.reserve(certificate, label=type(self).__name__)
        shown: list[tuple[int, NDArray[Any]]] = []
        released = descend_on(
            planned.plan, records, checkpoints=lambda step, model: shown.append((step, model))
        )
        if ledger is not None and entry is not None:
            ledger.complete(entry)
        self.plan_ = planned
        self.certificate_ = certificate
        for name in ("not_covered_", "releases_", "stream_", "_prepared"):
            self.__dict__.pop(name, None)
        self._cap = None if people is None else int(self.records_per_person)
        if leaks:
            self.not_covered_ = leaks
        if has_releases(planned.plan.run):
            self.releases_ = tuple(Checkpoint(step, *self._parts(one)) for step, one in shown)
        if self.average is not None:
            wanted = averaged_steps(planned.plan.run, self.average)
            return np.asarray(np.mean([one for step, one in shown if step in wanted], axis=0))
        return released

    def _run_window(self, X: Any, targets: NDArray[Any], outputs: int) -> NDArray[Any]:
        """One window of a stream, from what the last one released: planned by the first call."""
        state: StreamState | None = getattr(self, "stream_", None)
        fitted = hasattr(self, "coef_")
        problem = self._problem(X.shape[0], X.shape[1], outputs)
        if state is not None:
            require_unchanged(state, problem, self._overrides())
            if self.ledger is not None and not state.charged:
                raise InvalidInput(
                    "ledger",
                    f"<{type(self.ledger).__name__}>",
                    "comes too late: a stream is charged in its first call",
                    "charge certificate_ to it yourself, and set ledger=None",
                )
        else:
            before = self.certificate_ if fitted else None
            state = first_window(problem, self._overrides(), self.oversized, before)
            if fitted and self.plan_.plan.intercept != problem.intercept:
                raise InvalidInput(
                    "fit_intercept",
                    self.fit_intercept,
                    "is not that of the model to go on from",
                    "leave it as it was, or begin with a new model",
                )
        plan = next_window(state, X.shape[0], self._entropy())
        certificate = self._signed(stream_certificate(state, plan))
        records = certified_records(plan, X, targets)
        planned = replace(state.planned, plan=plan)
        ledger = self._ledger(planned) if state.windows == 0 else None
        entry = None
        if ledger is not None:  # once, for all windows to come
            entry = ledger.reserve(certificate, label=type(self).__name__)
        released = descend_on(plan, records, start=self._weights() if fitted else None)
        if ledger is not None and entry is not None:
            ledger.complete(entry)
        self.plan_, self.certificate_ = planned, certificate
        charged = state.charged or entry is not None
        self.stream_ = replace(state, windows=state.windows + 1, charged=charged)
        return released

    def _capped(
        self, X: Any, targets: NDArray[Any], groups: Any
    ) -> tuple[Any, NDArray[Any], NDArray[np.intp] | None]:
        """The records that are used, at most so many of each person, and whose they are."""
        k = count("records_per_person", self.records_per_person, 1)
        if groups is None and k == 1:
            return X, targets, None
        if groups is None:
            raise InvalidInput(
                "groups",
                None,
                f"is missing with records_per_person={k}",
                "give one person a record",
            )
        people = people_of(groups, X.shape[0])
        used = within_cap(people, k)
        return X[used], targets[used], people[used]

    def _for_people(self, planned: Planned) -> Planned:
        """The plan for people with several records: apart if possible, with the noise they need."""
        k = count("records_per_person", self.records_per_person, 1)
        if k == 1:
            return planned
        plan, run = planned.plan, planned.plan.run
        fields: dict[str, Any] = {**vars(run), "records_per_person": min(k, run.n)}
        if isinstance(run, NoisyCGD) and can_be_apart(run.n, run.batch_size, k):
            alike = run.n % run.batch_size == 0
            fields["arrangement"] = "one_per_batch"
            fields["order"] = run.order if alike else "fixed"
        grouped = type(run)(**fields)
        if self.noise is None:
            grouped = calibrate_noise(
                grouped, plan.geometry, epsilon=self.epsilon, delta=self.delta, bounds=plan.bounds
            )
        grouped_plan = replace(plan, run=grouped)
        spent = grouped_plan.certificate.epsilon(self.delta)
        if spent > self.epsilon:
            raise InvalidInput(
                "records_per_person",
                k,
                f"makes epsilon={spent:.4g} at delta={self.delta:g}, which is above "
                f"{self.epsilon:g}",
                "leave the noise to the planner, or give more",
            )
        return replace(planned, plan=grouped_plan)

    def _forget(
        self, X: Any, targets: NDArray[Any], epsilon: float, delta: float, groups: Any
    ) -> tuple[Certificate, NDArray[Any]]:
        """Certify the deletion, charge the ledger for those who stay, go on: in this order."""
        if "further_certificate_" in self.__dict__:
            raise InvalidInput(
                "forget", "a second time", "is not covered by this method", "fit anew"
            )
        if "_cap" not in vars(self):
            raise InvalidInput(
                "model",
                f"<{type(self).__name__}>",
                "was read from a file, which does not say how many records of a person fit kept",
                "fit anew, and forget in the same process",
            )
        X, targets, people = self._capped(X, targets, groups)
        cap = None if people is None else int(self.records_per_person)
        if self._cap not in (None, cap):  # else rows that `fit` left out are counted
            raise InvalidInput(
                "groups",
                "<given>" if people is not None else None,
                f"with records_per_person={self.records_per_person} is not as in fit, so that it "
                "is not known how many records are forgotten",
                "give groups, and records_per_person, as in fit",
            )
        plan: Plan = self.plan_.plan
        if plan.bounds == "composition":
            raise InvalidInput(
                "bounds",
                plan.bounds,
                "was planned, with steps so long that nothing is proved to be forgotten",
                'fit with bounds="best" and a ridge (l2), or train anew',
            )
        run, left = plan.run, X.shape[0]
        gone = run.n - left
        if gone < 1:
            raise InvalidInput(
                "X", f"<{left} records>", f"are not fewer than the {run.n} of fit", "leave some out"
            )
        weights = self._weights()
        most = people_in(run)  # of `fit`: the parameter may have been set since
        several = most > 1
        if several and gone > most:
            raise InvalidInput(
                "X",
                f"<{left} records>",
                f"are {gone} fewer than in fit, and a person has at most {most}",
                "forget one person at a time",
            )
        shape: dict[str, Any] = {
            "records": 1 if several else gone,
            "grid": plan.grid,
            "dimension": weights.size,
        }
        asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
        steps = calibrate_unlearning(run, plan.geometry, **shape, **asked)
        deletion = Unlearning(training=run, further_steps=steps, **shape)
        certificate = certify(deletion, plan.geometry, delta=delta)
        if not plan.entropy.private:
            stamped = (seeded_noise(), *certificate.assumptions)
            certificate = replace(certificate, assumptions=stamped)
        if steps == 0:
            return certificate, weights if plan.loss.outputs > 1 else weights[0]
        further = replace(plan, run=_going_on(run, left, steps), entropy=self._entropy())
        stays = self._signed(further.certificate)
        records = certified_records(further, X, targets)
        ledger = self._ledger(replace(self.plan_, plan=further))
        entry = None
        if ledger is not None:
            entry = ledger.reserve(stays, label=f"{type(self).__name__}.forget")
        released = descend_on(further, records, start=weights)
        if ledger is not None and entry is not None:
            ledger.complete(entry)
        self.further_certificate_ = stays
        return certificate, released

    def _weights(self) -> NDArray[Any]:
        """The released parameters as the loop has them."""
        weights = np.atleast_2d(self.coef_)
        if not self.plan_.plan.intercept:
            return weights
        return np.concatenate([weights, np.reshape(self.intercept_, (-1, 1))], axis=1)

    def _signed(self, certificate: Certificate) -> Certificate:
        """The certificate with the name of this estimator in its training record."""
        training = certificate.training
        if training is None:
            return certificate
        return replace(certificate, training=replace(training, estimator=type(self).__name__))

    def _planned(self, n: int, features: int, outputs: int) -> Planned:
        refuse_unproved(self)
        problem, chosen = self._problem(n, features, outputs), self._overrides()
        planned = plan_for(problem, chosen, entropy=self._entropy(), oversized=self.oversized)
        return self._for_people(self._penalised(planned))

    def _overrides(self) -> Overrides:
        return Overrides(**{name: getattr(self, name) for name in _CHOICES})

    def _problem(self, n: int, features: int, outputs: int) -> Problem:
        return Problem(
            n=n,
            features=features,
            loss=self._loss(outputs),
            feature_bound=self.feature_bound,
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

    def plan(self, n: int, features: int, outputs: int = 1) -> Planned:
        """What `fit` would run on so many records, without any data.

        Args:
            n: how many records.
            features: how many features.
            outputs: scores a record has: the number of classes where it is above 2, else 1.
        """
        return self._planned(n, features, outputs)

    def _entropy(self) -> Entropy:
        return entropy_of(self.random_state)

    def _ledger(self, planned: Planned) -> Account | None:
        if self.ledger is None:
            return None
        if not planned.plan.entropy.private:
            raise InvalidInput(
                "random_state",
                self.random_state,
                "makes a reproducible run, which is not private and cannot be charged",
                "give random_state=None, or no ledger",
            )
        return self.ledger if isinstance(self.ledger, Account) else Ledger(self.ledger)

    def _keep(self, released: NDArray[Any]) -> None:
        """The released parameters as `coef_` and `intercept_`, in scikit-learn's shapes."""
        self.coef_, self.intercept_ = self._parts(released)

    def _parts(self, released: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """Weights and constants."""
        weights = np.atleast_2d(released)
        if self.fit_intercept:
            weights, constants = weights[:, :-1], weights[:, -1]
        else:
            constants = np.zeros(len(weights))
        if self._single:
            return weights[0].copy(), float(constants[0])
        return weights.copy(), constants.copy()

    # --- what was fitted: by what `fit` kept, as parameters may have been set since ---

    def _scores(self, X: Any) -> NDArray[Any]:
        """X w + b, on rows that are held to the bound as in training."""
        check_is_fitted(self)
        require_numbers(X)
        X = readable(X)
        types = table_type(X)

        def check() -> Any:
            return validate_data(self, X, accept_sparse="csr", dtype=types, reset=False)

        rows = bounded_rows(quietly(check, X), self.plan_.plan.feature_bound)
        weights = np.atleast_2d(self.coef_)
        scores = np.empty((rows.shape[0], len(weights)))
        with np.errstate(all="ignore"):  # rows are within the bound: nothing but underflow
            for start in range(0, len(scores), CHUNK):
                part = slice(start, min(start + CHUNK, len(scores)))
                scores[part] = rows.take(part) @ weights.T
            return np.asarray(scores + self.intercept_)

    def statement(self) -> str:
        """The guarantee of the released model in words, and what it does not cover."""
        check_is_fitted(self)
        certificate: Certificate = self.certificate_
        plan = self.plan_.plan
        lines = [certificate.statement(delta=self.plan_.problem.delta)]
        if plan.oversized == "scale":
            lines.append(
                f"Rows longer than feature_bound={plan.feature_bound:g} were scaled to it."
            )
        lines += self._caveats()
        return "\n".join(lines)

    def _caveats(self) -> list[str]:
        lines = [f"Not covered: {leak}." for leak in getattr(self, "not_covered_", ())]
        if hasattr(self, "stream_") and self.stream_.before is not None:
            lines.append(
                "It began from a model of other records, whose own certificate is stream_.before."
            )
        if not self.plan_.plan.entropy.private:
            lines.append("NOT PRIVATE: random_state made this run reproducible.")
        return lines

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    @abstractmethod
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release a model of these records."""


def _going_on(run: TrainingRun, n: int, steps: int) -> TrainingRun:
    """The further steps on the records that stay: those of training, in batches of its size."""
    rate, noise = (x if isinstance(x, float) else x[-1] for x in (run.learning_rate, run.noise))
    k = min(run.records_per_person, n)
    if isinstance(run, NoisyGD):
        return NoisyGD(n=n, steps=steps, learning_rate=rate, noise=noise, records_per_person=k)
    return NoisyCGD(
        n=n,
        batch_size=min(run.batch_size, n),
        steps=steps,
        learning_rate=rate,
        noise=noise,
        last_batch="divide_by_b",
        records_per_person=k,
    )


def entropy_of(random_state: Any) -> Entropy:
    """The operating system's randomness, or what a seed makes, which is not private."""
    if random_state is None:
        return System()
    try:
        generator = check_random_state(random_state)
    except ValueError:
        raise InvalidInput(
            "random_state",
            random_state,
            "is no seed",
            "give a whole number from 0 to 4294967295, or none",
        ) from None
    return Seeded(int(generator.randint(2**31 - 1)))


def given_classes(classes: Any, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes in order, and the place of each label among them."""
    try:
        known = np.unique(np.asarray(classes))
    except TypeError:
        known = np.empty(0)
    if known.ndim != 1 or known.size < 2 or known.size != np.size(classes):
        raise InvalidInput(
            "classes", classes, "are not two or more different labels", "give all labels, once each"
        )
    comparable = _alike(known, y)
    inside = np.minimum(np.searchsorted(known, y) if comparable else 0, known.size - 1)
    if not (comparable and (known[inside] == y).all()):
        raise InvalidInput(
            "y", described(y), "has labels that are not in classes", "give all labels in classes"
        )
    return known, inside.astype(np.intp)


def _alike(known: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether labels of these two types can be compared at all, and exactly."""
    words = {"U", "S", "O"}
    if known.dtype.kind in words or y.dtype.kind in words:
        return known.dtype.kind in words and y.dtype.kind in words
    # beyond, several whole numbers have the same float
    same = (known.dtype.kind == "f") == (y.dtype.kind == "f")
    return same or bool((np.abs(known.astype(np.float64)) < LARGEST_WHOLE).all())


def learnt_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes that occur, in order, and the place of each label among them."""
    known, places = np.unique(y, return_inverse=True)
    if known.size < 2:
        raise InvalidInput(
            "y", described(y), "has one class only", "give records of two classes, or classes=..."
        )
    return known, places.astype(np.intp)


def warn_of_learnt_classes() -> None:
    """Classes that are read off the labels are released as they are."""
    warnings.warn(
        "classes are read off the labels and released without noise: a class that one person alone "
        "has gives that person away. Give classes=...",
        PrivacyLeakWarning,
        stacklevel=3,
    )
