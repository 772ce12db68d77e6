"""Training with odd data and parameters: plans, the loop, estimators, encoders, searches, heads.

A target trains a small model of a few records. What is refused is refused by an error of ours;
scikit-learn's own errors about its arguments, a `TypeError` or `ValueError` for a class without
such a parameter and the like, are those of scikit-learn's `check_array`, which the estimators turn
into ours or pass on as scikit-learn asks them to.
"""

from __future__ import annotations

import math
import traceback
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

import shiftdp as sdp
from shiftdp import training
from shiftdp.training.planning import Overrides, Problem, plan_for
from tests.fuzz.choices import Choices
from tests.fuzz.limits import require, require_number
from tests.fuzz.runs import run_of
from tests.fuzz.texts import folder

_ODD = 30
"""One parameter, or one property of the data, in so many is replaced by anything."""
_MET = 1.0 + 1e-9


# --- data ---


def table_of(choices: Choices, n: int, features: int) -> Any:
    """n rows, mostly small numbers: with zeros, huge entries, other types, missing values."""
    rng = np.random.default_rng(choices.below(2**16))
    X: Any = rng.normal(size=(n, features)) * choices.pick((1.0, 1.0, 1e-8, 1e8, 0.0))
    match choices.below(24):
        case 1 if X.size:
            X[choices.below(n), choices.below(features)] = choices.pick(
                (math.nan, math.inf, 1e308, -1e308, 5e-324, 1e154)
            )
        case 2:
            with np.errstate(all="ignore"):  # as whoever made the table did
                X = X.astype(choices.pick((np.float32, np.float16, np.int8, np.complex128, bool)))
        case 3:
            X = X.astype(object)
        case 4:
            X = choices.pick((X.tolist(), X[:, ::-1], np.asfortranarray(X), X[:0], X[:, :0]))
        case 5:
            import scipy.sparse

            X = choices.pick(
                (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix)
            )(X)
        case 6:
            X = X.reshape(-1) if choices.below(2) else X[None]
        case 7:
            X = np.ma.masked_invalid(X)
        case 8:
            X = choices.hostile()
        case 9 if n:
            import pandas

            X = pandas.DataFrame(X, columns=[f"x{i}" for i in range(features)])
        case _:
            pass
    return X


def labels_of(choices: Choices, n: int, numbers: bool) -> Any:
    rng = np.random.default_rng(choices.below(2**16))
    y: Any = rng.normal(size=n) if numbers else rng.integers(0, choices.pick((2, 2, 2, 3, 1)), n)
    match choices.below(24):
        case 1:
            y = y.astype(choices.pick((np.float32, np.int8, bool, str, object)))
        case 2:
            y = choices.pick((y.tolist(), y[:-1], y[:, None], y[:0], y - 1, y * 1e300))
        case 3 if n:
            y = y.astype(float)
            y[choices.below(n)] = choices.pick((math.nan, math.inf, -math.inf, 0.5))
        case 4:
            y = choices.hostile()
        case 5:
            y = np.array(["no", "yes"])[np.abs(y.astype(int)) % 2]
        case _:
            pass
    return y


# --- the loop ---


def loss_of(choices: Choices) -> Any:
    value = choices.mostly(choices.log_uniform(0.1, 10.0), _ODD)
    match choices.below(7):
        case 0 | 1:
            return training.Logistic()
        case 2:
            return training.Softmax(classes=choices.mostly(choices.integer(2, 4), _ODD))
        case 3:
            return training.SmoothedHinge(value)
        case 4:
            return training.Huber(value)
        case 5:
            return training.ClippedSquared(value)
        case _:
            weights = tuple(choices.mostly(choices.uniform(0.1, 2.0), _ODD) for _ in range(2))
            return training.Weighted(training.Logistic(), weights)


def _projection(choices: Choices) -> Any:
    size = choices.mostly(choices.log_uniform(0.1, 10.0), _ODD)
    match choices.below(8):
        case 0:
            return training.Ball(size)
        case 1:
            return training.Box(-1.0, size)
        case 2:
            return training.Simplex(size)
        case _:
            return choices.mostly(None, _ODD)


def try_descent(data: bytes) -> None:
    """A plan of any run and loss, and the loop on any records; what is released are numbers."""
    choices = Choices(data)
    run = run_of(choices, 12, 60, 4)
    n = run.n if isinstance(getattr(run, "n", None), int) and run.n <= 2_000 else 20
    features = choices.integer(1, 4)
    bound = choices.mostly(choices.log_uniform(0.1, 10.0), _ODD)
    plan = training.Plan(
        run=choices.mostly(run, 60),
        loss=choices.mostly(loss_of(choices), 60),
        feature_bound=bound,
        l2=choices.mostly(choices.pick((0.0, 0.1, 1.0)), _ODD),
        intercept=choices.mostly(choices.pick((True, False)), _ODD),
        clipping=choices.mostly(choices.pick(("none", "none", "envelope", "plain")), _ODD),
        clip=choices.mostly(choices.pick((None, None, 0.5)), _ODD),
        projection=_projection(choices),
        prox=choices.mostly(choices.pick((None,) * 5 + (training.L1(0.1),)), _ODD),
        centred=choices.mostly(choices.pick((False, False, True)), _ODD),
        adjacency=choices.mostly(choices.pick(("replace_one", "zero_out")), _ODD),
        oversized=choices.mostly(choices.pick(("scale", "scale", "refuse")), _ODD),
        bounds=choices.mostly(choices.pick(("best", "best", "composition")), _ODD),
        entropy=choices.pick((training.System(), training.Aes(), training.Seeded(1))),
    )
    require_number(plan.certificate.epsilon(1e-5), "epsilon of a plan")
    require(plan.geometry == plan.certificate.geometry, "another geometry", plan)
    numbers = isinstance(plan.loss, (training.Huber, training.ClippedSquared))
    X, y = table_of(choices, n, features), labels_of(choices, n, numbers)
    seen: list[int] = []
    released = training.descend(plan, X, y, checkpoints=lambda step, w: seen.append(step))
    require(bool(np.isfinite(released).all()), "a model that is no number", plan)
    require(not seen or seen == sorted(set(seen)), "released twice", seen)


def try_planning(data: bytes) -> None:
    """The planner meets its budget for any public numbers, or says that it cannot."""
    choices = Choices(data)
    delta = choices.mostly(choices.log_uniform(1e-9, 1e-3), _ODD)
    epsilon = choices.mostly(choices.log_uniform(0.05, 20.0), _ODD)
    problem = Problem(
        n=choices.mostly(choices.integer(1, 5_000), 12),
        features=choices.mostly(choices.integer(1, 50), _ODD),
        loss=choices.mostly(loss_of(choices), _ODD),
        feature_bound=choices.mostly(choices.log_uniform(0.1, 10.0), 12),
        epsilon=epsilon,
        delta=delta,
    )
    names: dict[str, tuple[Any, ...]] = {
        "algorithm": ("gd", "cgd", "sgd"), "order": ("fixed", "shuffled_once", "reshuffled"),
        "batch_size": (1, 10, 200), "epochs": (1, 3, 0.5), "learning_rate": (0.01, 1.0),
        "l2": (0.0, 0.1), "clip": (0.5, 10.0), "noise": (0.1, 1.0), "bounds": ("composition",),
        "last_batch": ("drop", "own_size"), "sampling": ("poisson", "without_replacement"),
        "centre": (None, True, False),
    }  # fmt: skip
    given: dict[str, Any] = {}
    for _ in range(choices.below(3)):
        name = choices.pick([*names])
        given[name] = choices.mostly(choices.pick(names[name]), 12)
    planned = plan_for(problem, Overrides(**given))
    spent = require_number(planned.plan.certificate.epsilon(delta), "epsilon of a plan")
    require("noise" in given or spent <= epsilon * _MET, "above its budget", planned, spent)
    require(bool(str(planned)), "nothing is shown")


# --- estimators ---


def _parameters(choices: Choices) -> dict[str, Any]:
    sensible: dict[str, tuple[Any, ...]] = {
        "epsilon": (1.0, 0.1, 20.0), "delta": (1e-5, 1e-3), "feature_bound": (1.0, 0.5, 5.0),
        "adjacency": ("replace_one", "zero_out"), "fit_intercept": (True, False),
        "algorithm": ("gd", "cgd", "sgd"), "order": ("fixed", "shuffled_once", "reshuffled"),
        "last_batch": ("drop", "own_size"), "sampling": ("poisson", "without_replacement"),
        "batch_size": (1, 5, 50), "epochs": (1, 2, 5), "learning_rate": (0.1, 1.0),
        "l2": (0.0, 0.1), "clip": (0.5,), "noise": (0.1, 1.0), "bounds": ("composition", "best"),
        "checkpoints": ("epochs", [1], [2, 3]), "average": (2, 3), "records_per_person": (1, 2),
        "penalty": ("l2", "l1", "elasticnet"), "alpha": (0.01, 1.0), "l1_ratio": (0.5, 0.0),
        "compute": (1e6,), "oversized": ("scale", "refuse"), "random_state": (None, 0, 7),
        "classes": ([0, 1],), "class_weight": ("balanced", {0: 1.0, 1: 2.0}),
        "centre": (True, False),
    }  # fmt: skip
    found: dict[str, Any] = {"compute": choices.pick((1e5, 1e5, 1e5, 1e7))}
    for _ in range(choices.below(5)):
        name = choices.pick([*sensible])
        found[name] = choices.mostly(choices.pick(sensible[name]), 6)
    return found


def estimator_of(choices: Choices) -> tuple[Any, bool]:
    """An estimator of any parameters, and whether it predicts numbers."""
    from shiftdp.sklearn import (
        PrivateHuberRegressor,
        PrivateLinearSVC,
        PrivateLogisticRegression,
    )

    kind: Any = choices.pick(
        (PrivateLogisticRegression, PrivateLogisticRegression, PrivateLinearSVC,
         PrivateHuberRegressor)
    )  # fmt: skip
    given = _parameters(choices)
    if kind is PrivateHuberRegressor:
        given = {k: v for k, v in given.items() if k not in ("classes", "class_weight")}
    return kind(**given), kind is PrivateHuberRegressor


def _require_fitted(model: Any, X: Any, budget: bool = True) -> None:
    cert = model.certificate_
    spent = require_number(cert.epsilon(model.delta), "epsilon of a fit")
    if budget and model.noise is None:
        require(spent <= model.epsilon * _MET, "above its budget", model, spent)
    require(bool(np.isfinite(model.coef_).all()), "weights that are no numbers", model)
    require(len(model.predict(X)) == X.shape[0], "predictions of other records", model)


def try_estimator(data: bytes) -> None:
    """fit, with groups and a ledger; then partial_fit or forget, which are charged too."""
    choices = Choices(data)
    model, numbers = estimator_of(choices)
    n, features = choices.integer(1, 60), choices.integer(1, 4)
    X, y = table_of(choices, n, features), labels_of(choices, n, numbers)
    ledger = new_ledger(choices) if choices.below(2) else None
    if ledger is not None:
        model.set_params(ledger=ledger)
    before = 0.0 if ledger is None else ledger.epsilon()
    more: dict[str, Any] = {}
    if choices.chance(4):
        people = np.arange(n) // 2
        more["groups"] = choices.mostly(choices.pick((people, people.astype(str))), 6)
    asked = choices.below(4)
    if asked == 3:
        _stream(choices, model, X, y, numbers)
        return
    as_scikit_learn(model.fit, X, y, **more)
    if not hasattr(model, "coef_"):
        return
    if hasattr(X, "shape"):
        _require_fitted(model, X)
    if ledger is not None:
        spent = ledger.epsilon()
        least = model.certificate_.epsilon(ledger.terms.delta)
        require(spent >= max(before, least) / _MET, "charged too little", spent, least)
        ledger.verify()
    if asked == 1 and isinstance(X, np.ndarray):
        # dozens of records of random batches take minutes: their law is summed once for each
        rest = choices.mostly(slice(choices.integer(1, 3), None), _ODD)
        if isinstance(rest, slice):
            forgets = {"epsilon": choices.mostly(1.0, 6), "delta": choices.mostly(1e-5, 6)}
            as_scikit_learn(model.forget, X[rest], y[rest], **forgets)
            for one in vars(model).get("deletions_", ()):
                require_number(one.certificate.epsilon(1e-5), "epsilon of forgetting")
            require(bool(np.isfinite(model.coef_).all()), "weights that are no numbers", model)


def _stream(choices: Choices, model: Any, X: Any, y: Any, numbers: bool) -> None:
    for _ in range(choices.integer(1, 3)):
        words = {} if numbers or choices.chance(4) else {"classes": choices.mostly([0, 1], 8)}
        as_scikit_learn(model.partial_fit, X, y, **words)
    if hasattr(model, "coef_"):
        require(bool(np.isfinite(model.coef_).all()), "weights that are no numbers", model)
        require_number(model.certificate_.epsilon(1e-5), "epsilon of a stream")


_OTHERS = ("sklearn", "scipy", "pandas")


def as_scikit_learn(fit: Any, *args: Any, **words: Any) -> None:
    """What scikit-learn itself refuses in a table it says with its own ValueError or TypeError."""
    warnings.simplefilter("ignore", DataConversionWarning)  # of labels in a column
    try:
        fit(*args, **words)
    except sdp.ShiftdpError:
        raise
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        passed_on = last.name == "quietly"  # which drops what an error of scikit-learn shows
        if not passed_on and not any(name in last.filename for name in _OTHERS):
            raise


def new_ledger(choices: Choices) -> sdp.Ledger:
    path = folder() / "train.db"
    for old in folder().glob("train.db*"):
        old.unlink()
    return sdp.Ledger.create(
        path,
        epsilon=choices.pick((3.0, 50.0)),
        delta=1e-5,
        adjacency=choices.pick(("replace_one", "replace_one", "zero_out")),
    )
