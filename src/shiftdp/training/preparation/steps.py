"""The steps of a private pipeline: which there may be, and what those without noise learn."""

from __future__ import annotations

from typing import Any

from shiftdp._errors import InvalidInput
from shiftdp.training.estimators.base import PrivateLinearModel
from shiftdp.training.estimators.surroundings import learnt_before
from shiftdp.training.preparation.encoder import PrivateTableEncoder

from sklearn.base import clone  # isort: skip
from sklearn.pipeline import Pipeline, _name_estimators  # isort: skip

Step = tuple[str, Any]


def named_steps(steps: Any) -> Any:
    """Steps as scikit-learn has them; names are made where only estimators are given."""
    if isinstance(steps, (list, tuple)) and steps and not any(_is_pair(one) for one in steps):
        return _name_estimators(steps)
    return steps


def _is_pair(step: Any) -> bool:
    return isinstance(step, (tuple, list)) and len(step) == 2 and isinstance(step[0], str)


def private_model(steps: list[Step]) -> Any:
    """The last step, refused if it is no private estimator or has parameters of its own that a
    pipeline cannot follow."""
    model = steps[-1][1]
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
    for name, step in steps:
        if getattr(step, "ledger", None) is not None:
            raise InvalidInput(
                "steps", name, "has a ledger of its own", "give the ledger to the pipeline"
            )
    return model


def table_encoder(steps: list[Step]) -> Any:
    """The encoder right before the model, or None; refused at any other place."""
    places = [i for i, (_, step) in enumerate(steps) if isinstance(step, PrivateTableEncoder)]
    if not places:
        return None
    if places != [len(steps) - 2]:
        raise InvalidInput(
            "steps", [name for name, _ in steps],
            "has an encoder that is not right before the model: nothing would bound its rows",
            "give one encoder, right before the model",
        )  # fmt: skip
    return steps[places[0]][1]


def fitted_without_noise(steps: list[Step], X: Any, y: Any) -> tuple[list[Step], Any]:
    """All steps but encoder and model, fitted to the records as they are, and the table that they
    make."""
    encoder = table_encoder(steps)
    done: list[Step] = []
    for name, step in steps[:-1]:
        if step is encoder and encoder is not None:
            continue
        if step is None or step == "passthrough":
            done.append((name, step))
            continue
        fitted = clone(step)
        X = fitted.fit_transform(X, y)
        done.append((name, fitted))
    return done, X


def learnt_without_noise(done: list[Step]) -> tuple[str, ...]:
    """What no certificate covers of steps that were fitted as they are."""
    steps = Pipeline([*done, ("model", "passthrough")])
    return tuple(
        f"the step {step} was fitted to the records, and what it learnt has no noise"
        for step in learnt_before(steps)
    )
