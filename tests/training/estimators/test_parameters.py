"""What `help` says of the models: every parameter, in the order of the signature."""

import inspect
import re
from typing import Any

import pytest

from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateSearchCV,
)
from shiftdp.training.estimators.parameters import PARAMETERS

MODELS: list[Any] = [PrivateHuberRegressor, PrivateLinearSVC, PrivateLogisticRegression]


@pytest.mark.parametrize("model", MODELS)
def test_help_lists_every_parameter_with_its_default(model: Any) -> None:
    text = inspect.getdoc(model) or ""
    section = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
    listed = re.findall(r"^(\w+) : .+, default=(.+)$", section, re.MULTILINE)
    signature = inspect.signature(model).parameters
    assert listed == [(name, repr(one.default)) for name, one in signature.items()]
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("model", MODELS)
def test_parameters_are_kept_as_they_are(model: Any) -> None:
    given = {name: object() for name in inspect.signature(model).parameters}
    assert vars(model(**given)) == given


@pytest.mark.parametrize("model", MODELS)
def test_the_docstring_still_begins_with_what_the_model_is(model: Any) -> None:
    text = inspect.getdoc(model) or ""
    assert text.index(">>> ") < text.index("Parameters") < text.index("Attributes")


def test_no_parameter_is_described_that_no_model_has() -> None:
    had = {name for model in MODELS for name in inspect.signature(model).parameters}
    assert set(PARAMETERS) == had


@pytest.mark.parametrize("model", [*MODELS, PrivatePipeline, PrivateSearchCV])
def test_python_names_the_class_that_users_know(model: Any) -> None:
    for name in ("fit", "predict", "score", "private_score", "partial_fit", "forget"):
        method = inspect.getattr_static(model, name, None)
        if not inspect.isfunction(method) or not method.__module__.startswith("shiftdp."):
            continue
        with pytest.raises(TypeError, match=rf"^{model.__name__}\.{name}\(\) "):
            method(object(), colour="red")
        assert not hasattr(method, "__wrapped__")


def test_methods_do_what_they_did() -> None:
    from shiftdp.training.estimators.fitting import Fitting

    own, written = PrivateLogisticRegression.fit, Fitting.fit
    assert own.__code__ is written.__code__
    assert inspect.signature(own) == inspect.signature(written)
    assert own.__doc__ == written.__doc__
