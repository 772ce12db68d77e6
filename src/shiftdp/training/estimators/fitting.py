"""`fit`: one run on all records, and what is released of it."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shiftdp.last_iterate.runs import has_releases
from shiftdp.training.descent.loop import certified_records, descend_on
from shiftdp.training.estimators.base import PrivateLinearModel, Records
from shiftdp.training.estimators.combinations import refuse_unproved
from shiftdp.training.estimators.people import apart
from shiftdp.training.estimators.surroundings import uncovered, warn_of
from shiftdp.training.planning.checkpoints import averaged_steps
from shiftdp.training.planning.outlook import warn_if_hopeless

_OF_EARLIER_FITS = (
    "_prepared", "fit_certificate_", "further_certificate_", "not_covered_", "releases_",
    "selected_", "stream_",
)  # fmt: skip


class Checkpoint(NamedTuple):
    """A model that was released after some step, in the shapes of `coef_` and `intercept_`."""

    step: int
    coef: NDArray[Any]
    intercept: Any


class Fitting(PrivateLinearModel):
    """A model with `fit`."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release a model of these records; if the fit is refused, the model stays as it was.

        Args:
            X: features: an array, a data frame (nullable columns, columns of objects and those of
                Arrow included, as long as nothing is missing) or a sparse matrix of SciPy. An
                `np.matrix` is refused.
            y: labels of a classifier, numbers of a regressor.
            groups: whose record each is, with `records_per_person` above 1: of each person the
                first so many are used.
        """
        refuse_unproved(self, groups=groups)
        with self._all_or_nothing():
            self._keep(self._run(self._read(X, y, reset=True), groups))
        return self

    def _run(self, records: Records, groups: Any) -> NDArray[Any]:
        """Plan, certify, check the data, charge the ledger, train: in this order."""
        leaks = uncovered(charged=self.ledger is not None)
        warn_of(leaks)
        X, targets, outputs, people = self._of_people(records, groups)
        planned = self.plan(X.shape[0], X.shape[1], outputs)
        warn_if_hopeless(planned, self._overrides())
        plan = planned.plan
        if people is not None:
            order = apart(plan.run, people)
            X, targets = X[order], targets[order]
        certificate = self._signed(plan.certificate)
        checked = certified_records(plan, X, targets)
        shown: list[tuple[int, NDArray[Any]]] = []
        with self._charged(certificate, plan.entropy, type(self).__name__):
            released = descend_on(
                plan, checked, checkpoints=lambda step, model: shown.append((step, model))
            )
        for name in _OF_EARLIER_FITS:
            self.__dict__.pop(name, None)
        self.plan_ = planned
        self.certificate_ = certificate
        self._cap = None if people is None else int(self.records_per_person)
        if leaks:
            self.not_covered_ = leaks
        if has_releases(plan.run):
            self.releases_ = tuple(Checkpoint(step, *self._parts(one)) for step, one in shown)
        if self.average is None:
            return released
        wanted = averaged_steps(plan.run, self.average)
        return np.asarray(np.mean([one for step, one in shown if step in wanted], axis=0))
