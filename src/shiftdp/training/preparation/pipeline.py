"""A preparation and a model under one budget, with one certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from shiftdp._checks import delta_in, finite, number_in
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.privacy.ledger.entry import Account
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.training.charging import rehearse
from shiftdp.training.cluster.collection import is_collection
from shiftdp.training.cluster.encoding import fit_pipeline
from shiftdp.training.estimators.base import (
    PrivateLinearModel,
    entropy_of,
)
from shiftdp.training.estimators.inputs import outputs_of
from shiftdp.training.estimators.scored import PrivatelyScored
from shiftdp.training.estimators.stated import stated_model
from shiftdp.training.estimators.surroundings import learnt_before, uncovered, warn_of
from shiftdp.training.losses.base import described
from shiftdp.training.planning.outlook import WeakSignalWarning, warn_if_hopeless
from shiftdp.training.planning.planner import Planned
from shiftdp.training.preparation.budget import aims, encoder_share
from shiftdp.training.preparation.encoder import PrivateTableEncoder, empty_rows
from shiftdp.training.preparation.layout import layout_of
from shiftdp.training.preparation.reading import RawTable

from sklearn.base import clone  # isort: skip
from sklearn.pipeline import Pipeline, _name_estimators  # isort: skip
from sklearn.utils.validation import check_is_fitted  # isort: skip

_DELTA = 1e-5  # unless another is given, as for the estimators
SHARE = 0.3
"""The part of mu^2 that an encoder gets if it has anything to learn: the model then has 84% of the
mu that it would have alone. With less, few records lose names of categories: docs/tables.md."""


class Prepared(NamedTuple):
    """What is known of a table before anything is learnt from it."""

    encoder: Any
    layout: Any
    values: Any
    rows: Any
    n: int
    features: int
    bound: float


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
        its own. A schema that declares everything leaves all of the budget to the model.
    ledger : Ledger or path, default=None
        Charged once, for all steps, before anything is learnt.

    Attributes
    ----------
    certificate_ : the proved guarantee of the whole pipeline.
    plan_ : what was chosen for the model, and why.
    not_covered_ : what was learnt without noise, if anything.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(50.0, 10.0, size=(2_000, 2))
    >>> from shiftdp.sklearn import PrivateLogisticRegression
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
        self.steps = _named(steps)
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
        model = self._model()
        self._check_budget()
        leaks = uncovered(self.ledger is not None, beyond=self)
        done, given, table = self._apply_others(X, y)
        leaks = (*leaks, *_learnt_without_noise(done))
        warn_of(leaks)
        prepared = self._prepared(given, table, model)
        outputs = outputs_of(model, y, prepared.n)
        aimed, planned, certificate = self._certified(prepared, model, outputs)
        warn_if_hopeless(planned, aimed._overrides(), asked=self.epsilon, stacklevel=3)

        def train() -> None:
            rows = prepared.rows
            if prepared.encoder is not None:
                rows = prepared.encoder._encoded(prepared.values)
            aimed.fit(rows, y)

        self._release(prepared, aimed, certificate, lambda: _rehearse(aimed, prepared, y), train)
        self._keep([*done, prepared.encoder, aimed], certificate, leaks)
        return self

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
            warnings.simplefilter("ignore", WeakSignalWarning)  # said before, for the whole budget
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
        model, encoder = self._model(), self._encoder()
        self._check_budget()
        if encoder is None or encoder.schema is None:
            raise InvalidInput(
                "steps", [name for name, _ in self.steps], "has no encoder with a schema",
                "give PrivateTableEncoder(schema)",
            )  # fmt: skip
        layout = layout_of(encoder.schema, RawTable(tuple(names), (), n))
        known = Prepared(encoder, layout, None, None, n, layout.width, layout.bound)
        _, planned, certificate = self._certified(known, model, outputs)
        return planned, certificate

    def certificate_for(self, X: Any, y: Any) -> PipelineCertificate:
        """What `fit` on these records would cost: of them it uses the number, columns and classes.

        There must be no other steps than an encoder and the model.
        """
        model = self._model()
        self._check_budget()
        prepared = self._prepared(self._encoder(), X, model)
        return self._certified(prepared, model, outputs_of(model, y, prepared.n))[2]

    def _check_budget(self) -> None:
        finite("epsilon", self.epsilon, 0.0, open_low=True)
        delta_in(self.delta)
        number_in("share", self.share, 0.0, 1.0, open_low=True, open_high=True)
        encoder = self._encoder()
        if encoder is not None:
            encoder._check_parameters()

    def _model(self) -> Any:
        model = self.steps[-1][1]
        if not isinstance(model, PrivateLinearModel):
            raise InvalidInput(
                "steps", f"<{type(model).__name__}>", "is the last step and no private estimator",
                "end with PrivateLogisticRegression, PrivateLinearSVC or PrivateHuberRegressor",
            )  # fmt: skip
        if model.records_per_person != 1:
            raise InvalidInput(
                "records_per_person", model.records_per_person,
                "is not covered in a pipeline, whose steps protect one record a person",
                "give one record of each person, or fit the model without the pipeline",
            )  # fmt: skip
        for name, step in self.steps:
            if getattr(step, "ledger", None) is not None:
                raise InvalidInput(
                    "steps", name, "has a ledger of its own", "give the ledger to the pipeline"
                )
        return model

    def _encoder(self) -> Any:
        places = [
            i for i, (_, step) in enumerate(self.steps) if isinstance(step, PrivateTableEncoder)
        ]
        if not places:
            return None
        if places != [len(self.steps) - 2]:
            raise InvalidInput(
                "steps", [name for name, _ in self.steps],
                "has an encoder that is not right before the model: nothing would bound its rows",
                "give one encoder, right before the model",
            )  # fmt: skip
        return self.steps[places[0]][1]

    def _apply_others(self, X: Any, y: Any) -> tuple[list[tuple[str, Any]], Any, Any]:
        """The other transformers, fitted to the records as they are; the encoder; and the table."""
        encoder = self._encoder()
        done: list[tuple[str, Any]] = []
        for name, step in self.steps[:-1]:
            if step is encoder and encoder is not None:
                continue
            if step is None or step == "passthrough":
                done.append((name, step))
                continue
            fitted = clone(step)
            X = fitted.fit_transform(X, y)
            done.append((name, fitted))
        return done, encoder, X

    def _prepared(self, encoder: Any, X: Any, model: Any) -> Prepared:
        if encoder is None:
            shape = getattr(X, "shape", None) or np.shape(X)
            if len(shape) != 2:
                raise InvalidInput("X", described(X), "is not a table", "give rows of features")
            return Prepared(None, None, None, X, shape[0], shape[1], model.feature_bound)
        working = clone(encoder)
        table = working._table(X, reset=True)
        layout = layout_of(working.schema, table)
        values = working._values(layout, table)
        return Prepared(working, layout, values, None, table.n, layout.width, layout.bound)

    def _certified(
        self, prepared: Prepared, model: Any, outputs: int
    ) -> tuple[Any, Planned, PipelineCertificate]:
        """The model with a budget that fits beside the preparation, what is planned for it, and the
        certificate of both."""
        sums: tuple[Any, ...] = ()
        private = True
        if prepared.layout is not None and prepared.layout.parts:
            share = encoder_share(prepared.encoder, prepared.layout, self)
            sums = prepared.layout.sums(share, prepared.n, model.adjacency)
            private = entropy_of(prepared.encoder.random_state).private
        made = PipelineCertificate(
            n=prepared.n, adjacency=model.adjacency, sums=sums, private=private
        )
        spent = 0.0
        for aim in aims(made.preparation, self.epsilon, self.delta):
            aimed = clone(model).set_params(
                epsilon=aim(spent), delta=self.delta, feature_bound=prepared.bound
            )
            planned = aimed.plan(prepared.n, prepared.features, outputs)
            whole = PipelineCertificate(
                n=made.n,
                adjacency=made.adjacency,
                sums=sums,
                private=private,
                model=aimed._signed(planned.plan.certificate),
            )
            spent = whole.epsilon(self.delta)
            if spent <= self.epsilon:
                return aimed, planned, whole
        raise InvalidInput(
            "epsilon", self.epsilon, "is not met by any noise that was tried", "give share=..."
        )

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
            _forget_search(step)
            parameters = step.get_params(deep=False)
            vars(step).update({k: v for k, v in vars(made).items() if k not in parameters})
        vars(self.steps[-1][1]).pop("not_covered_", None)
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

    def statement_html(
        self,
        *,
        date: str | None = None,
        ledger: Any = None,
        about: Mapping[str, str] | None = None,
    ) -> str:
        """The guarantee of the whole pipeline as one page; arguments as for its model."""
        check_is_fitted(self)
        model = self.steps[-1][1]
        return stated_model(self, model, date=date, ledger=ledger, about=about).html()

    def statement(self) -> str:
        """The guarantee of the whole pipeline in words, and what it does not cover."""
        check_is_fitted(self)
        model = self.steps[-1][1]
        lines = self._guarantee(model.plan_.problem.delta)
        lines += [f"Not covered: {leak}." for leak in self.not_covered_]
        return "\n".join([*lines, *model._caveats()])


def _learnt_without_noise(done: list[tuple[str, Any]]) -> tuple[str, ...]:
    steps = Pipeline([*done, ("model", "passthrough")])
    return tuple(
        f"the step {step} was fitted to the records, and what it learnt has no noise"
        for step in learnt_before(steps)
    )


def _forget_search(fitted: Any) -> None:
    """What a search left behind that had chosen an earlier fit."""
    for name in ("selected_", "fit_certificate_"):
        vars(fitted).pop(name, None)


def _named(steps: Any) -> Any:
    """Steps as scikit-learn has them; names are made where only estimators are given."""
    if isinstance(steps, (list, tuple)) and steps and not any(_is_pair(one) for one in steps):
        return _name_estimators(steps)
    return steps


def _is_pair(step: Any) -> bool:
    return isinstance(step, (tuple, list)) and len(step) == 2 and isinstance(step[0], str)


def _rehearse(model: Any, prepared: Prepared, y: Any) -> None:
    """Refuse what `fit` of the model would refuse, before anything is charged.

    It is run up to its own charge, on the rows if nothing encodes them, else on zeros: encoded rows
    are within their bound whatever is learnt.
    """
    rows = prepared.rows
    if prepared.encoder is not None:
        rows = empty_rows(prepared.values, prepared.features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is said when the model is fitted
        rehearse(model, rows, y)


def _require_same(made: Certificate, charged: Certificate | None) -> None:
    """The plan is a function of public numbers: made twice, it is the same."""
    if charged is None or not made.same_guarantee(charged):
        raise InvalidInput(
            "plan", "<plan>", "is another than the one that was certified", "report this"
        )
