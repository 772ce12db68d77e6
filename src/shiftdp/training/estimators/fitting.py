"""`fit`: one run on all records, and what is released of it."""

from __future__ import annotations

from contextlib import nullcontext
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import has_releases
from shiftdp.training.assumed_bound import warn_of_assumed_bound
from shiftdp.training.centring import Centre
from shiftdp.training.cluster.fitting import fit_collection, refuse_people
from shiftdp.training.descent.loop import certified_records, descend_on
from shiftdp.training.descent.records import is_collection
from shiftdp.training.descent.resume import kept_in
from shiftdp.training.estimators.base import PrivateLinearModel, Records
from shiftdp.training.estimators.combinations import refuse_unproved
from shiftdp.training.estimators.parameters import DELTA
from shiftdp.training.estimators.people import apart
from shiftdp.training.estimators.surroundings import uncovered, warn_of
from shiftdp.training.large_delta import warn_of_large_delta
from shiftdp.training.planning.checkpoints import average_of
from shiftdp.training.planning.outlook import warn_if_hopeless

if TYPE_CHECKING:
    from shiftdp.privacy.selection.score_certificate import ScoreCertificate

OF_EARLIER_FITS = (
    "_prepared", "centre_", "deletions_", "distance_", "fit_certificate_", "further_certificate_",
    "not_covered_", "releases_", "selected_", "stream_",
)  # fmt: skip
"""What a model may have of a fit that the next one does not set."""


class Checkpoint(NamedTuple):
    """A model that was released after some step, in the shapes of `coef_` and `intercept_`."""

    step: int
    coef: NDArray[Any]
    intercept: Any


class Fitting(PrivateLinearModel):
    """A model with `fit`."""

    def fit(self, X: Any, y: Any, groups: Any = None, *, state: Any = None) -> Self:
        """Release a model of these records; if the fit is refused, the model stays as it was.

        Args:
            X: features: an array, a data frame (nullable columns, columns of objects and those of
                Arrow included, as long as nothing is missing) or a sparse matrix of SciPy. An
                `np.matrix` is refused. Of a Dask DataFrame or Array the records stay on the
                workers: see `shiftdp.dask`.
            y: labels of a classifier, numbers of a regressor.
            groups: whose record each is, with `records_per_person` above 1: of each person the
                first so many are used.
            state: an `EncryptedState` that the run is kept in, so that it can go on after its
                process died.
        """
        if self._releases_several:
            refuse_unproved(self, groups=groups)
        with self._all_or_nothing():
            if is_collection(X):
                refuse_people(self, groups)
                fit_collection(self, X, y, state=state)
            else:
                self._keep(self._run(self._read(X, y, reset=True), groups, state))
        return self

    def pick(self, X: Any, y: Any) -> Self:
        """Become the checkpoint with the best score on public records: early stopping.

        The choice is among models that are released and paid for, by records that nobody protects,
        so the certificate stays as it is. Records to be protected must not be given: a choice by
        them costs, and is not covered.

        Args:
            X: features of public records, of nobody who is in the data of `fit`.
            y: their labels, or numbers.
        """
        self._require_several()
        with self._all_or_nothing():
            scores = []
            for place in range(len(self.releases_)):
                self._become(place)
                scores.append(self.score(X, y))
            self._become(int(np.argmax(scores)))
        return self

    def pick_privately(
        self,
        X: Any,
        y: Any,
        *,
        epsilon: float,
        delta: float = DELTA,
        targets: tuple[float, float] | None = None,
        adjacency: Adjacency | None = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> ScoreCertificate:
        """Become the checkpoint with the best noisy score: early stopping by records that pay.

        Returns the certificate of the choice, which is about these records; that of the model stays
        as it is. The arguments are those of `shiftdp.training.selection.picking.pick_privately`.

        Args:
            X: records that the model was not trained on.
            y: their labels, or numbers.
            epsilon: what the choice may cost them, at `delta`.
            delta: likewise.
            targets: of a regressor, the range that y is clipped to, which is public.
            adjacency: which data sets are neighbours; as for the model unless told.
            ledger: that of *these* records, charged once before anything is measured.
            random_state: None draws from the operating system; else it is NOT private.
        """
        from shiftdp.training.selection.picking import pick_privately

        self._require_several()
        with self._all_or_nothing():
            return pick_privately(
                self,
                X,
                y,
                epsilon=epsilon,
                delta=delta,
                targets=targets,
                adjacency=adjacency,
                ledger=ledger,
                random_state=random_state,
            )

    def _require_several(self) -> None:
        check_is_fitted(self)
        if not vars(self).get("releases_"):
            raise InvalidInput(
                "pick",
                f"<{type(self).__name__}>",
                "has one model, the last one: there is nothing to choose from",
                'fit with checkpoints="epochs", so many, or a list of epochs',
            )

    def _become(self, place: int) -> None:
        """Be the model that was released at this place."""
        one = self.releases_[place]
        self.coef_, self.intercept_ = one.coef.copy(), deepcopy(one.intercept)

    def _run(self, records: Records, groups: Any, state: Any = None) -> NDArray[Any]:
        """Plan, certify, check the data, charge the ledger, train: in this order."""
        leaks = uncovered(charged=self.ledger is not None)
        warn_of(leaks)
        X, targets, outputs, people = self._of_people(records, groups)
        dense = isinstance(X, np.ndarray) and state is None
        planned = self.plan(X.shape[0], X.shape[1], outputs, dense=dense)
        warn_if_hopeless(planned, self._overrides())
        warn_of_large_delta(self.delta, X.shape[0], stacklevel=3)
        if self.feature_bound is None:
            warn_of_assumed_bound(stacklevel=3)
        plan = planned.plan
        if people is not None:
            order = apart(plan.run, people)
            X, targets = X[order], targets[order]
        certificate = self._signed(plan.certificate)
        checked = certified_records(plan, X, targets)
        shown: list[tuple[int, NDArray[Any]]] = []
        several = has_releases(plan.run)
        places: list[Centre] = []
        with nullcontext() if state is None else kept_in(state, plan, checked) as kept:
            certificate = certificate if kept is None else kept.dated(certificate)
            with self._charged(certificate, plan.entropy, type(self).__name__, kept):
                released = descend_on(
                    plan,
                    checked,
                    checkpoints=(lambda *one: shown.append(one)) if several else None,
                    kept=kept,
                    located=places.append,
                )
        for name in OF_EARLIER_FITS:
            self.__dict__.pop(name, None)
        self.plan_ = planned
        self.certificate_ = certificate
        self._cap = None if people is None else int(self.records_per_person)
        for centre in places:
            self.centre_, self.distance_ = centre.place, centre.distance
        if leaks:
            self.not_covered_ = leaks
        if several:
            self.releases_ = tuple(Checkpoint(step, *self._parts(one)) for step, one in shown)
        if self.average is None or not several:  # the average of the last one alone
            return released
        return average_of(plan.run, self.average, shown)
