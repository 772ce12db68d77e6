"""What can be audited: a plan, an estimator, or anybody's function from data to parameters.

Each becomes a function that trains so many times on one data set, independently, and returns the
outputs, one a row. A plan runs the loop itself, all runs of a stack at once where they share their
batches; an estimator is cloned and fitted through its public `fit`, with randomness from the
operating system; a function is called.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.fdp import TradeoffFunction
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import Unlearning, has_releases
from shiftdp.last_iterate.training_record import TrainingRecord
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.trials.attack import Outputs, as_outputs
from shiftdp.trials.canaries import Records, Targets
from shiftdp.trials.verbs import planned_once, way_of

if TYPE_CHECKING:
    from shiftdp.training.plan import Plan

Told = Callable[[int, int], object]
"""Called with the number of trainings done, and of all."""

Done = Callable[[float], object]
"""Called with how many more trainings are done, or which part of one."""

Guarantee = Certificate | PipelineCertificate | TradeoffFunction

_ALONE = 50  # records of a data set, where neither a certificate nor data say how many
REGRESSION = ("Huber", "ClippedSquared")
"""The names of the losses whose targets are numbers; those of all others are classes."""


@dataclass(frozen=True)
class Trainer:
    """Something that trains.

    Args:
        outputs: from data and a number of runs to the outputs of these, one a row.
        guarantee: what is claimed of each run.
        records: what canaries have to look like.
        rows: the weights in an output of so many features, one row a score.
        features_given: whether the number of features is not ours to choose.
    """

    outputs: Callable[[tuple[Any, ...], int], Outputs]
    guarantee: Guarantee
    records: Records
    rows: Callable[[NDArray[np.float64], int], NDArray[np.float64]]
    features_given: bool

    def weights(self, output: NDArray[np.float64], features: int) -> NDArray[np.float64]:
        """The weights of a linear model that an output holds: those of its score, or the
        difference between the second class and the first."""
        rows = self.rows(output, features)
        return np.asarray(rows[0] if len(rows) == 1 else rows[1] - rows[0])


def trainer_of(
    train: Any, guarantee: Guarantee | None, data: Any, told: Done, **shape: Any
) -> Trainer:
    """The trainer that a user's first argument stands for."""
    shape = {"verb": "fit", "groups": None, "forget_epsilon": None, **shape}
    from shiftdp.training.plan import Plan

    if not isinstance(train, Plan) and hasattr(train, "fit") and hasattr(train, "get_params"):
        return _of_estimator(train, guarantee, data, told, shape)
    _require_usual(train, **shape)
    if isinstance(train, Plan):
        return _of_plan(train, guarantee, told)
    if not callable(train):
        raise InvalidInput(
            "train",
            f"<{type(train).__name__}>",
            "cannot be called and is no estimator",
            "give a function from a data set to parameters, a Plan, or an estimator",
        )
    if guarantee is None:
        raise InvalidInput(
            "certificate", None, "is missing", "give what is claimed of your training loop"
        )
    return _of_function(train, guarantee, data, told, shape)


def _require_usual(train: Any, **shape: Any) -> None:
    """Refuse for anything else what is about the verbs of estimators."""
    usual = {"verb": "fit", "groups": None, "forget_epsilon": None}
    for name, value in usual.items():
        if shape[name] is not value and not (name == "verb" and shape[name] == value):
            raise InvalidInput(
                name,
                shape[name] if name == "verb" else "<given>",
                f"is about estimators, and train is a <{type(train).__name__}>",
                "leave it out, or give an estimator",
            )


def _of_plan(plan: Plan, guarantee: Guarantee | None, told: Done) -> Trainer:
    from shiftdp.training.descent.loop import descend_stacked

    def outputs(data: tuple[Any, ...], runs: int) -> Outputs:
        shown: list[Any] = []
        seeded = reseeded(plan, secrets.randbits(63))
        X, y = data
        last = descend_stacked(
            seeded,
            X,
            y,
            runs,
            progress=lambda done, steps: told(runs / steps),
            checkpoints=lambda step, models: shown.append(models.reshape(len(models), -1).copy()),
        )
        if not has_releases(plan.run):
            return as_outputs("train", last)
        if not plan.run.secret_batches:
            return np.hstack(shown)
        return np.concatenate(shown).reshape(runs, -1)

    def rows(output: NDArray[np.float64], d: int) -> NDArray[np.float64]:
        scores = plan.loss.outputs
        return output[-scores * (d + plan.intercept) :].reshape(scores, -1)[:, :d]

    guarantee = guarantee or plan.certificate
    return Trainer(outputs, guarantee, records_of_plan(plan), rows, plan.features is not None)


def reseeded(plan: Plan, seed: int) -> Plan:
    """The plan in test mode. What was proved of it is not proved again for every seed."""
    from shiftdp.training.descent.entropy import Seeded

    other = replace(plan, entropy=Seeded(seed))
    if plan.clipping != "uncertified":
        vars(other)["certificate"] = plan.certificate
    return other


def records_of_plan(plan: Plan) -> Records:
    """What canaries of a plan look like; without an intercept the others do nothing."""
    if plan.adjacency == "zero_out" and plan.intercept:
        raise _no_zero("intercept", True)
    return Records(
        n=plan.run.n,
        features=plan.features or 2,
        feature_bound=plan.feature_bound,
        targets="numbers" if type(plan.loss).__name__ in REGRESSION else "labels",
        adjacency=plan.adjacency,
        oversized=plan.oversized == "scale",
    )


def _no_zero(name: str, value: object) -> InvalidInput:
    return InvalidInput(
        name,
        value,
        "gives a record of 0 a gradient, so that no record stands for none (zero_out)",
        'audit it without an intercept, or with adjacency="replace_one"',
    )


def _of_estimator(
    estimator: Any,
    guarantee: Guarantee | None,
    data: Any,
    told: Done,
    shape: dict[str, Any],
) -> Trainer:
    from shiftdp.training.assumed_bound import AssumedBoundWarning
    from shiftdp.training.planning.outlook import WeakSignalWarning

    fresh = {name: None for name in ("random_state", "ledger") if name in estimator.get_params()}
    plans: dict[Any, Any] = {}

    def fitted(X: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
        model = planned_once(cloned(estimator).set_params(**fresh), plans)
        with warnings.catch_warnings():  # advice for whoever uses a model, thousands of times
            warnings.simplefilter("ignore", AssumedBoundWarning)
            warnings.simplefilter("ignore", WeakSignalWarning)
            return model, way.released(model, X, y)

    def outputs(pair: tuple[Any, ...], runs: int) -> Outputs:
        found = []
        for _ in range(runs):
            found.append(fitted(*pair)[1])
            told(1.0)
        return as_outputs("train", found)

    adjacency: Adjacency = getattr(estimator, "adjacency", "replace_one")
    if adjacency == "zero_out" and getattr(estimator, "fit_intercept", True):
        raise _no_zero("fit_intercept", True)
    classes = getattr(estimator, "classes", None)
    classifies = _classifies(estimator)
    way = way_of(
        estimator,
        shape["verb"],
        lambda: _ALONE if data is None else len(data[0]),
        groups=shape["groups"],
        forget_epsilon=shape["forget_epsilon"],
        labels=(0, 1) if classifies and classes is None else None,
    )
    n = _ALONE if way.groups is None else len(way.groups)
    if data is not None and way.groups is not None and n != len(data[0]):
        raise InvalidInput(
            "groups",
            f"<{n} entries>",
            f"is not one entry for each of {len(data[0])} records",
            "give as many",
        )
    records = Records(
        n=n if data is None else len(data[0]),
        features=shape["features"] or (2 if data is None else np.shape(data[0])[1]),
        feature_bound=shape["feature_bound"] or getattr(estimator, "feature_bound", None) or 1.0,
        targets="labels" if classifies else "numbers",
        labels=(0, 1) if classes is None else (classes[0], classes[1]),
        adjacency=adjacency,
        oversized=getattr(estimator, "oversized", "scale") == "scale",
        places=way.canary,
    )
    if guarantee is None:
        guarantee = way.guarantee(fitted(*(records.background() if data is None else data))[0])
    return Trainer(outputs, guarantee, records, _weights_first, shape["features"] is not None)


def _weights_first(output: NDArray[np.float64], d: int) -> NDArray[np.float64]:
    """Weights, score after score, and then perhaps a constant for each score."""
    scores = output.size // (d + 1) if output.size % (d + 1) == 0 else output.size // d
    if scores * d > output.size or output.size not in (scores * d, scores * (d + 1)):
        raise InvalidInput(
            "train",
            f"<{output.size} numbers>",
            f"are not the weights of a linear model of {d} features",
            'return weights, then constants, or audit it with method="runs"',
        )
    return output[: scores * d].reshape(scores, d)


def cloned(estimator: Any) -> Any:
    """An unfitted estimator with the same parameters, by scikit-learn's own protocol."""
    return estimator.__sklearn_clone__()


def _classifies(estimator: Any) -> bool:
    return bool(estimator.__sklearn_tags__().estimator_type == "classifier")


def _of_function(
    train: Callable[..., Any],
    guarantee: Guarantee,
    data: Any,
    told: Done,
    shape: dict[str, Any],
) -> Trainer:
    def outputs(pair: tuple[Any, ...], runs: int) -> Outputs:
        found = []
        for _ in range(runs):
            found.append(train(*pair))
            told(1.0)
        return as_outputs("train", found)

    run = getattr(guarantee, "run", None)
    run = run.training if isinstance(run, Unlearning) else run
    signed = getattr(guarantee, "training", None)
    known = signed if isinstance(signed, TrainingRecord) else None
    n = getattr(run, "n", None) or _ALONE
    if data is not None:
        n = len(data[0])
    targets: Targets = shape["targets"] or (
        "numbers" if known is not None and known.loss in REGRESSION else "labels"
    )
    geometry = getattr(guarantee, "geometry", None)
    adjacency: Adjacency = getattr(geometry, "adjacency", "replace_one")
    if adjacency == "zero_out" and known is not None and known.intercept:
        raise _no_zero("intercept", True)
    records = Records(
        n=n,
        features=shape["features"] or (known.features if known is not None else None) or 2,
        feature_bound=shape["feature_bound"] or (known.feature_bound if known else 1.0),
        targets=targets,
        adjacency=adjacency,
        oversized=known is None or known.oversized == "scale",
    )
    given = shape["features"] is not None or (known is not None and known.features is not None)
    return Trainer(outputs, guarantee, records, _weights_first, given)
