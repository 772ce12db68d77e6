"""Our own estimators as JSON and arrays: parameters, plan, and what `fit` released."""

from __future__ import annotations

import os
from collections.abc import Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.training.estimators.base import PrivateLinearModel
from shiftdp.training.estimators.linear import (
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
)
from shiftdp.training.losses.scalar import Huber, Logistic, SmoothedHinge
from shiftdp.training.losses.softmax import Softmax
from shiftdp.training.losses.weighted import Weighted
from shiftdp.training.model_file.archive import Damaged
from shiftdp.training.model_file.plans import read_plan, write_plan
from shiftdp.training.model_file.states import (
    read_releases,
    read_stream,
    refuse_forgotten,
    require_cap,
    write_stream,
    written_releases,
)
from shiftdp.training.model_file.values import Reader, Writer, fields_of

_CLASSES: dict[str, tuple[type, tuple[type, ...]]] = {
    "PrivateLogisticRegression": (PrivateLogisticRegression, (Logistic, Softmax)),
    "PrivateLinearSVC": (PrivateLinearSVC, (SmoothedHinge,)),
    "PrivateHuberRegressor": (PrivateHuberRegressor, (Huber,)),
}
_COMMON = ("n_features_in_", "feature_names_in_", "coef_", "intercept_")
_CLASSIFIER = ("classes_", "classes_learnt_")
_LEAKS = ("not_covered_",)
_STATES = ("_cap", "releases_", "centre_", "distance_")
_OPTIONAL = ("feature_names_in_", *_LEAKS, *_STATES)  # which some fitted models have
_FIELDS = ("class", "parameters", "plan", "attributes")


def is_ours(model: Any) -> bool:
    """Whether it is one of the estimators of this package, and no subclass."""
    return type(model) in [kind for kind, _ in _CLASSES.values()]


def write_fitted(writer: Writer, model: Any, where: str) -> dict[str, Any]:
    """A fitted estimator without its certificate."""
    parameters = {**model.get_params(deep=False), "ledger": ledger_name(model.ledger)}
    refuse_forgotten(model, where)
    attributes = {key: item for key, item in vars(model).items() if key not in parameters}
    attributes.pop("_prepared", None)  # which a pipeline that is read sets again
    attributes.pop("selected_", None)  # which is written beside the model
    attributes.pop("fit_certificate_", None)  # likewise, as that of the run
    attributes.pop("deletions_", None)
    stream = attributes.pop("stream_", None)
    if "releases_" in attributes:
        attributes["releases_"] = written_releases(attributes["releases_"])
    plan = attributes.pop("plan_")
    attributes.pop("certificate_")
    expected = _attributes(type(model), attributes)
    strange = sorted(set(attributes) - set(expected))
    if strange:
        raise InvalidInput(
            f"{where}.{strange[0]}",
            f"<{type(attributes[strange[0]]).__name__}>",
            "is no attribute of a fitted model, and cannot be held in a model file",
            f"delete it first: del model.{strange[0]}",
        )
    return {
        "class": type(model).__name__,
        "parameters": {
            key: writer.write(item, f"{where}.{key}") for key, item in sorted(parameters.items())
        },
        "plan": write_plan(plan),
        **({} if stream is None else {"stream": write_stream(stream)}),
        "attributes": {key: writer.write(attributes[key], f"{where}.{key}") for key in expected},
    }


def read_fitted(reader: Reader, document: Any) -> PrivateLinearModel:
    """The estimator that `write_fitted` wrote, still without its certificate."""
    streaming = isinstance(document, dict) and "stream" in document
    fields = (*_FIELDS[:3], "stream", _FIELDS[3]) if streaming else _FIELDS
    name, parameters, plan, *state, attributes = fields_of(document, fields)
    if not isinstance(name, str) or name not in _CLASSES:
        raise Damaged("has a model of a class that is not on the list")
    kind, losses = _CLASSES[name]
    if not isinstance(parameters, dict) or not set(parameters) <= set(kind._get_param_names()):  # type: ignore[attr-defined]
        raise Damaged("has a model with a parameter that its class does not have")
    if not isinstance(attributes, dict):
        raise Damaged("has a model without attributes")
    expected = _attributes(kind, attributes)
    values = {key: reader.read(item) for key, item in parameters.items()}
    model: Any = kind(**values)
    planned = read_plan(plan, window=streaming)
    found = [reader.read(item) for item in fields_of(attributes, expected)]
    vars(model).update(zip(expected, found, strict=True), plan_=planned)
    if streaming:
        model.stream_ = read_stream(state[0], planned)
    loss = planned.plan.loss
    if not isinstance(loss.loss if isinstance(loss, Weighted) else loss, losses):
        raise Damaged("has a plan for another loss than that of its model")
    if not is_file_name(model.ledger):
        raise Damaged("has a ledger that is no file name")
    _require_shapes(model)
    require_cap(getattr(model, "_cap", None))
    if "releases_" in attributes:
        model.releases_ = read_releases(model.releases_, model)
    return model  # type: ignore[no-any-return]


def _attributes(kind: type, present: Container[str]) -> tuple[str, ...]:
    classes = () if kind is PrivateHuberRegressor else _CLASSIFIER
    every = (*_COMMON, *classes, *_LEAKS, *_STATES)
    return tuple(key for key in every if key in present or key not in _OPTIONAL)


def ledger_name(ledger: Any) -> str | None:
    """The name of the file alone: where it lies is nobody's business."""
    if ledger is None:
        return None
    path = ledger.path if isinstance(ledger, Ledger) else ledger
    if not isinstance(path, (str, os.PathLike)):
        return None
    return os.path.basename(os.fspath(path))


def is_file_name(ledger: Any) -> bool:
    """Whether it is what `ledger_name` makes: a name, and no path."""
    return ledger is None or (isinstance(ledger, str) and not set(ledger) & set("/\\"))


def _require_shapes(model: Any) -> None:
    """Weights, classes and names in the numbers that the plan says."""
    plan = model.plan_.plan
    single = type(model) is PrivateHuberRegressor
    features, outputs = model.n_features_in_, plan.loss.outputs
    shape = (features,) if single else (outputs, features)
    intercept = np.asarray(model.intercept_)
    good = (
        type(features) is int
        and features == plan.features
        and _weights(model.coef_, shape)
        and (type(model.intercept_) is float if single else type(model.intercept_) is np.ndarray)
        and _weights(intercept, () if single else (outputs,))
        and (plan.intercept or not intercept.any())
        and names_fit(getattr(model, "feature_names_in_", None), features)
        and (single or _classes(model, 2 if outputs == 1 else outputs))
        and _texts(getattr(model, "not_covered_", ()))
        and _located(model)
    )
    if not good:
        raise Damaged("has weights, classes or names that are not those of its plan")


def _located(model: Any) -> bool:
    """Where centred rows lie, and how far from there they are; neither of any others."""
    place, distance = (getattr(model, name, None) for name in ("centre_", "distance_"))
    if not model.plan_.plan.centred or (place is None and distance is None):
        return place is None and distance is None
    near = type(distance) is float and 0.0 < distance <= model.plan_.plan.feature_bound
    return near and _weights(place, (model.n_features_in_,))


def _weights(array: Any, shape: tuple[int, ...]) -> bool:
    return (
        type(array) is np.ndarray
        and array.dtype in (np.float64, np.float32)
        and array.shape == shape
        and bool(np.isfinite(array).all())
    )


def names_fit(names: NDArray[Any] | None, features: int) -> bool:
    """Whether these are the names of so many features, or none."""
    if names is None:
        return True
    words = type(names) is np.ndarray and names.dtype == object and names.shape == (features,)
    return words and all(type(name) is str for name in names)


def _texts(leaks: Any) -> bool:
    return type(leaks) is tuple and all(type(leak) is str for leak in leaks)


def _classes(model: Any, count: int) -> bool:
    known = model.classes_
    if type(known) is not np.ndarray or known.shape != (count,):
        return False
    if known.dtype == object and not all(type(name) is str for name in known):
        return False
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        return False
    return bool((known[1:] > known[:-1]).all()) and type(model.classes_learnt_) is bool
