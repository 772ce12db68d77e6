"""What a search may try: settings of parameters, each with the certificate of one fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.estimators.base import PrivateLinearModel
from shiftdp.training.estimators.inputs import outputs_of
from shiftdp.training.preparation.pipeline import PrivatePipeline
from shiftdp.training.preparation.steps import private_model, table_encoder

from sklearn.base import clone, is_classifier  # isort: skip
from sklearn.model_selection import ParameterGrid, ParameterSampler  # isort: skip

MOST = 200
"""Candidates: a plan is made for each of them before anything is fitted."""
_SET_BY_THE_SEARCH = ("epsilon", "delta", "ledger", "random_state", "adjacency", "classes")


class Candidate(NamedTuple):
    """One setting, the estimator with its budget, and the certificate of its fit."""

    parameters: dict[str, Any]
    estimator: Any
    certificate: Certificate | PipelineCertificate


def searchable(estimator: Any) -> Any:
    """The private model inside, of a kind that can be searched; anything else is refused."""
    if not isinstance(estimator, (PrivateLinearModel, PrivatePipeline)):
        raise InvalidInput(
            "estimator", f"<{type(estimator).__name__}>", "is no private estimator",
            "give PrivateLogisticRegression, PrivateLinearSVC, PrivateHuberRegressor, or a "
            "PrivatePipeline",
        )  # fmt: skip
    model = estimator
    if isinstance(estimator, PrivatePipeline):
        model = private_model(estimator.steps)
        if len(estimator.steps) - 1 != (table_encoder(estimator.steps) is not None):
            raise InvalidInput(
                "estimator", [name for name, _ in estimator.steps],
                "has steps that learn without noise in each trial",
                "give a pipeline of an encoder and a model",
            )  # fmt: skip
    if estimator.ledger is not None:
        raise InvalidInput(
            "estimator", f"<{type(estimator).__name__}>", "has a ledger of its own",
            "give the ledger to the search",
        )  # fmt: skip
    if model.records_per_person != 1 or model.checkpoints or model.average:
        raise InvalidInput(
            "estimator", f"<{type(model).__name__}>",
            "releases more than one model, or protects people with several records",
            "leave out records_per_person, checkpoints and average",
        )  # fmt: skip
    return model


def candidates_of(space: Any, number: int, base: Any, stream: Stream) -> list[dict[str, Any]]:
    """All combinations of lists; of distributions so many draws, which do not see the records.

    Args:
        space: as `param_distributions` of scikit-learn.
        number: of draws, if there are distributions.
        base: the estimator, which has to know the parameters.
        stream: of randomness for the draws.
    """
    spaces = [space] if isinstance(space, Mapping) else space
    if not isinstance(spaces, (list, tuple)) or not all(isinstance(s, Mapping) for s in spaces):
        raise InvalidInput(
            "param_distributions", f"<{type(space).__name__}>", "is no dict of lists", "give one"
        )
    known = base.get_params(deep=True)
    for name in (name for one in spaces for name in one):
        if name not in known:
            raise InvalidInput(
                "param_distributions", name, "is no parameter of the estimator", "leave it out"
            )
        if name.rpartition("__")[2] in _SET_BY_THE_SEARCH:
            raise InvalidInput(
                "param_distributions", name, "is no candidate: budgets are set by the search",
                "leave it out, or give it to the estimator or the search",
            )  # fmt: skip
    try:
        if any(hasattr(values, "rvs") for one in spaces for values in one.values()):
            seed = int.from_bytes(stream.draw(4), "little") >> 1
            found = list(ParameterSampler(spaces, number, random_state=np.random.RandomState(seed)))
        else:
            found = list(ParameterGrid(spaces))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "param_distributions", "<dict>", "is no dict of lists or distributions", "give one"
        ) from error
    if not 1 <= len(found) <= MOST:
        raise InvalidInput(
            "param_distributions", len(found), f"candidates are not between 1 and {MOST}",
            "give shorter lists, or distributions with n_candidates",
        )  # fmt: skip
    return found


def certified(
    base: Any,
    parameters: dict[str, Any],
    epsilon: float,
    delta: float,
    records: tuple[Any, Any],
) -> Candidate:
    """The candidate with this budget, and what one fit of it costs: public numbers only.

    Args:
        base: the estimator.
        parameters: the setting.
        epsilon: what one fit may cost, at `delta`.
        delta: likewise.
        records: of which the number, the columns and the classes are used.
    """
    X, y = records
    estimator = clone(base).set_params(**clone(parameters, safe=False))
    estimator.set_params(epsilon=epsilon, delta=delta)
    model = searchable(estimator)  # a candidate may be a whole step, or all of them
    if is_classifier(model) and model.classes is None:
        raise InvalidInput(
            "param_distributions", f"<{type(model).__name__}>",
            "is a candidate without classes, which each trial would read off the labels",
            "give it classes=...",
        )  # fmt: skip
    if isinstance(estimator, PrivatePipeline):
        return Candidate(parameters, estimator, estimator.certificate_for(X, y))
    n, features = X.shape if getattr(X, "shape", None) else np.shape(X)
    outputs = outputs_of(estimator, y, n)
    plan = estimator.plan(n, features, outputs, dense=not issparse(X)).plan
    return Candidate(parameters, estimator, plan.certificate)


def assumes_bound(estimator: Any) -> bool:
    """Whether nobody has said how long its rows may be."""
    if isinstance(estimator, PrivatePipeline):
        return table_encoder(estimator.steps) is None and assumes_bound(estimator.steps[-1][1])
    return estimator.feature_bound is None


def common_adjacency(aimed: list[Candidate]) -> Any:
    """Which data sets are neighbours, by the certificates of all candidates."""
    kinds = {
        one.certificate.adjacency
        if isinstance(one.certificate, PipelineCertificate)
        else one.certificate.geometry.adjacency
        for one in aimed
    }
    if len(kinds) > 1:
        raise InvalidInput(
            "param_distributions", "adjacency", "is no parameter to search over",
            "give it to the estimator",
        )  # fmt: skip
    return kinds.pop()


def require_certified(
    fitted: Any, charged: Certificate | PipelineCertificate, *, seeded: bool
) -> None:
    """The plan is a function of public numbers: what ran is what was certified."""
    made = fitted.certificate_
    same = isinstance(made, PipelineCertificate) == isinstance(charged, PipelineCertificate)
    if same and isinstance(charged, PipelineCertificate):
        same = made.sums == charged.sums
        made, charged = made.model, charged.model  # type: ignore[assignment]
    if not seeded and not (same and made.same_guarantee(charged)):
        raise InvalidInput(
            "plan", "<plan>", "is another than the one that was certified", "report this"
        )


def is_private(certificate: Certificate | PipelineCertificate) -> bool:
    """Whether nothing of it was drawn from a seed."""
    if isinstance(certificate, PipelineCertificate):
        return certificate.private and (certificate.model is None or is_private(certificate.model))
    return certificate.training is None or certificate.training.private
