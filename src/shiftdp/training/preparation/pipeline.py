"""A preparation and a model under one budget, with one certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

from shiftdp._checks import delta_in, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.privacy.ledger.entry import Account
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.training.cluster.encoding import fit_pipeline
from shiftdp.training.descent.records import is_collection
from shiftdp.training.estimators.base import entropy_of
from shiftdp.training.estimators.fitting import OF_EARLIER_FITS
from shiftdp.training.estimators.inputs import outputs_of
from shiftdp.training.estimators.parameters import with_own_methods
from shiftdp.training.estimators.scored import PrivatelyScored
from shiftdp.training.estimators.surroundings import uncovered, warn_of
from shiftdp.training.large_delta import LargeDeltaWarning, warn_of_large_delta
from shiftdp.training.planning.outlook import WeakSignalWarning, warn
from shiftdp.training.preparation.budget import layout_in_pipeline
from shiftdp.training.preparation.layout import layout_of
from shiftdp.training.preparation.outlook import outlook_of_pipeline
from shiftdp.training.preparation.prepared import (
    Prepared,
    certified_pipeline,
    prepared_table,
    rehearse_model,
)
from shiftdp.training.preparation.reading import RawTable
from shiftdp.training.preparation.steps import (
    fitted_without_noise,
    learnt_without_noise,
    named_steps,
    private_model,
    table_encoder,
)

from sklearn.pipeline import Pipeline  # isort: skip
from sklearn.utils.validation import check_is_fitted  # isort: skip

_DELTA = 1e-5  # unless another is given, as for the estimators
SHARE = 0.3
"""The part of mu^2 that an encoder gets if it has anything to learn: the model then has 84% of the
mu that it would have alone. With less, few records lose names of categories: docs/tables.md."""


@with_own_methods
class PrivatePipeline(PrivatelyScored, Pipeline):  # type: ignore[misc]  # not typed
    """A scikit-learn Pipeline whose steps are released together within one budget.

    Parameters
    ----------
    steps : list of estimators, or of (name, estimator)
        Transformers and, at the end, one of the private estimators. A `PrivateTableEncoder` stands
        right before it. Other transformers are fitted as they are, and what they learn is not
        covered, which a `PrivacyLeakWarning` and `statement` say.
    epsilon, delta : float
        What everything that is learnt may cost together. They take the place of the estimator's
        own, and the bound of the encoder's rows that of its `feature_bound`. Neighbours are those
        of the estimator's `adjacency`.
    share : float, default=0.3
        The part of mu^2 that the encoder may spend, if it has anything to learn and no epsilon of
        its own. Means and deviations of declared ranges take less, where less is enough. A schema
        that declares everything, `scale` of its numbers included, leaves all of it to the model.
    ledger : Ledger or path, default=None
        Charged once, for all steps, before anything is learnt.

    Attributes
    ----------
    certificate_ : the proved guarantee of the whole pipeline.
    plan_ : what was chosen for the model, and why.
    not_covered_ : what was learnt without noise, if anything.

    >>> import numpy as np
    >>> from shiftdp.sklearn import PrivateLogisticRegression, PrivateTableEncoder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(50.0, 10.0, size=(2_000, 2))
    >>> model = PrivatePipeline([PrivateTableEncoder(), PrivateLogisticRegression(classes=[0, 1])])
    >>> model = model.fit(X, (X[:, 0] > 50).astype(int))
    >>> model.certificate_.epsilon(1e-5) <= 1.0, model.score(X, (X[:, 0] > 50).astype(int)) > 0.8
    (True, True)
    """

    _pays_for_its_steps = True

    def __init__(
        self,
        steps: Sequence[Any],
        epsilon: float = 1.0,
        delta: float = _DELTA,
        *,
        share: float = SHARE,
        ledger: Any = None,
    ) -> None:
        self.steps = named_steps(steps)
        self.epsilon = epsilon
        self.delta = delta
        self.share = share
        self.ledger = ledger
        # what a Pipeline asks of itself, and what is no choice here
        self.memory = None
        self.transform_input = None
        self.verbose = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release everything that the steps learn of these records; nothing changes if refused.

        Public numbers come first: columns, bounds, noise, plan and certificate. Then the records
        are read and checked, then the ledger is charged, and only then anything is learnt.

        Args:
            X: a table, as the first step wants it; of a Dask DataFrame or Array the records stay on
                the workers, and there may be no other steps than an encoder and the model.
            y: labels or numbers.
        """
        if is_collection(X):
            fit_pipeline(self, X, y)
            return self
        model = private_model(self.steps)
        self._check_budget()
        leaks = uncovered(self.ledger is not None, beyond=self)
        done, table = fitted_without_noise(self.steps, X, y)
        leaks = (*leaks, *learnt_without_noise(done))
        warn_of(leaks)
        prepared = prepared_table(self, table)
        outputs = outputs_of(model, y, prepared.n)
        aimed, planned, certificate = certified_pipeline(self, prepared, model, outputs)
        self._warn(prepared, planned, aimed)

        def train() -> None:
            rows = prepared.rows
            if prepared.encoder is not None:
                rows = prepared.encoder._encoded(prepared.values)
            aimed.fit(rows, y)

        self._release(
            prepared, aimed, certificate, lambda: rehearse_model(aimed, prepared, y), train
        )
        self._keep([*done, prepared.encoder, aimed], certificate, leaks)
        return self

    def _warn(self, prepared: Prepared, planned: Any, model: Any) -> None:
        """Of ranges and a model that are expected to be lost in their noise, and of delta."""
        found = outlook_of_pipeline(self, prepared.layout, prepared.n, planned, model)
        warn(found, stacklevel=3)
        warn_of_large_delta(self.delta, prepared.n, stacklevel=3)

    def _release(
        self,
        prepared: Prepared,
        aimed: Any,
        certificate: PipelineCertificate,
        rehearse: Callable[[], object],
        train: Callable[[], object],
    ) -> None:
        """Charge the ledger, learn, train: in this order.

        Args:
            rehearse: refuses what would be refused later; it is called before a charge.
            train: fits `aimed`, once the encoder knows what it has to.
        """
        account = self._account(certificate)
        entry = None
        if account is not None:
            rehearse()
            entry = account.reserve(certificate, label=type(self).__name__)
        if prepared.encoder is not None:
            alone = PipelineCertificate(
                n=certificate.n,
                adjacency=certificate.adjacency,
                sums=certificate.sums,
                private=certificate.private,
            )
            entropy = entropy_of(prepared.encoder.random_state)
            prepared.encoder._learn(prepared.layout, prepared.values, alone, entropy)
        with warnings.catch_warnings():
            for kind in (WeakSignalWarning, LargeDeltaWarning):
                warnings.simplefilter("ignore", kind)  # said before, for the whole budget
            train()
        _require_same(aimed.certificate_, certificate.model)
        if account is not None and entry is not None:
            account.complete(entry)

    # --- public numbers ---

    def plan(self, names: Sequence[str], n: int, outputs: int = 1) -> Any:
        """What `fit` would run on such a table, and what all of it would cost, without any data.

        Args:
            names: of the columns of the table, which a schema says more about.
            n: how many records.
            outputs: scores a record has: the number of classes where it is above 2, else 1.

        Returns:
            The plan of the model, and the certificate of the pipeline.
        """
        model, encoder = private_model(self.steps), table_encoder(self.steps)
        self._check_budget()
        if encoder is None or encoder.schema is None:
            raise InvalidInput(
                "steps", [name for name, _ in self.steps], "has no encoder with a schema",
                "give PrivateTableEncoder(schema)",
            )  # fmt: skip
        known = layout_of(encoder.schema, RawTable(tuple(names), (), n))
        layout = layout_in_pipeline(known, encoder, self, n, model.adjacency)
        prepared = Prepared(encoder, layout, None, None, n, layout.width, layout.bound)
        _, planned, certificate = certified_pipeline(self, prepared, model, outputs)
        return planned, certificate

    def certificate_for(self, X: Any, y: Any) -> PipelineCertificate:
        """What `fit` on these records would cost: of them it uses the number, columns and classes.

        There must be no other steps than an encoder and the model.
        """
        model = private_model(self.steps)
        self._check_budget()
        prepared = prepared_table(self, X)
        return certified_pipeline(self, prepared, model, outputs_of(model, y, prepared.n))[2]

    def _check_budget(self) -> None:
        finite("epsilon", self.epsilon, 0.0, open_low=True)
        delta_in(self.delta)
        number_in("share", self.share, 0.0, 1.0, open_low=True, open_high=True)
        encoder = table_encoder(self.steps)
        if encoder is not None:
            encoder._check_parameters()

    def _account(self, certificate: PipelineCertificate) -> Account | None:
        if self.ledger is None:
            return None
        training = certificate.model.training if certificate.model is not None else None
        if not certificate.private or (training is not None and not training.private):
            raise InvalidInput(
                "random_state", "<seed>", "makes noise that is not private and cannot be charged",
                "give random_state=None to all steps, or no ledger",
            )  # fmt: skip
        return self.ledger if isinstance(self.ledger, Account) else Ledger(self.ledger)

    # --- what was fitted ---

    def _keep(
        self, fitted: list[Any], certificate: PipelineCertificate, leaks: tuple[str, ...]
    ) -> None:
        *others, encoder, model = fitted
        for name, step in others:
            place = [known for known, _ in self.steps].index(name)
            self.steps[place] = (name, step)
        kept = [(self.steps[-1][1], model)]
        if encoder is not None:
            kept.append((self.steps[-2][1], encoder))
        for step, made in kept:
            for name in OF_EARLIER_FITS:
                vars(step).pop(name, None)
            parameters = step.get_params(deep=False)
            vars(step).update({k: v for k, v in vars(made).items() if k not in parameters})
        vars(self.steps[-1][1])["_prepared"] = len(self.steps) > 1
        self.certificate_ = certificate
        self.not_covered_ = leaks
        _forget_search(self)

    def __getitem__(self, ind: Any) -> Any:
        """A step by its place or name; of a slice an ordinary pipeline, which has no budget."""
        return Pipeline(self.steps[ind]) if isinstance(ind, slice) else super().__getitem__(ind)

    @property
    def plan_(self) -> Any:
        """The plan of the model."""
        return self.steps[-1][1].plan_

    def _stated_model(self) -> Any:
        return self.steps[-1][1]

    def statement(self) -> str:
        """The guarantee of the whole pipeline in words, and what it does not cover."""
        check_is_fitted(self)
        model = self.steps[-1][1]
        lines = self._guarantee(model.plan_.problem.delta)
        lines += [f"Not covered: {leak}." for leak in self.not_covered_]
        return "\n".join([*lines, *model._caveats()])


def _forget_search(fitted: Any) -> None:
    """What a search left behind that had chosen an earlier fit."""
    for name in ("selected_", "fit_certificate_"):
        vars(fitted).pop(name, None)


def _require_same(made: Certificate, charged: Certificate | None) -> None:
    """The plan is a function of public numbers: made twice, it is the same."""
    if charged is None or not made.same_guarantee(charged):
        raise InvalidInput(
            "plan", "<plan>", "is another than the one that was certified", "report this"
        )
