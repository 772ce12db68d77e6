"""What `help` says of the models: every parameter, in the order of the signature."""

import inspect
import re
from typing import Any

import pytest

from shiftdp.sklearn import PrivateHuberRegressor, PrivateLinearSVC, PrivateLogisticRegression
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
