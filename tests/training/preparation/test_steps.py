"""Which steps a private pipeline may have, and what those without noise leave uncovered."""

from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import Normalizer, StandardScaler

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateLogisticRegression, PrivatePipeline, PrivateTableEncoder
from shiftdp.training.preparation.steps import (
    fitted_without_noise,
    learnt_without_noise,
    named_steps,
    private_model,
    table_encoder,
)

X = np.random.default_rng(0).normal(5.0, 1.0, size=(30, 2))
Y = np.arange(30) % 2


def logistic(**parameters: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{"classes": [0, 1], **parameters})


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([PrivateTableEncoder()], "no private estimator"),
        ([PrivateTableEncoder(), Normalizer(), logistic()], "not right before the model"),
        ([PrivateTableEncoder(), PrivateTableEncoder(), logistic()], "not right before the model"),
        ([PrivateTableEncoder(), logistic(ledger="a.db")], "has a ledger of its own"),
    ],
)
def test_steps_that_cannot_be_certified_are_refused(steps: list[Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        PrivatePipeline(steps).fit(X, Y)


def test_one_record_a_person_is_what_the_steps_protect() -> None:
    with pytest.raises(InvalidInput, match="records_per_person=3 is not covered in a pipeline"):
        private_model([("model", logistic(records_per_person=3))])


def test_encoder_and_model_are_found_among_named_steps() -> None:
    encoder, model = PrivateTableEncoder(), logistic()
    steps = named_steps([encoder, model])
    assert [name for name, _ in steps] == ["privatetableencoder", "privatelogisticregression"]
    assert table_encoder(steps) is encoder
    assert private_model(steps) is model
    assert table_encoder([("model", model)]) is None
    assert named_steps(steps) is steps


def test_steps_without_noise_are_fitted_as_they_are_and_named() -> None:
    scaler = StandardScaler()
    steps = [("scale", scaler), ("nothing", "passthrough"), ("model", logistic())]
    done, table = fitted_without_noise(steps, X, Y)
    assert [name for name, _ in done] == ["scale", "nothing"]
    assert not hasattr(scaler, "mean_")
    np.testing.assert_allclose(table.mean(axis=0), 0.0, atol=1e-12)
    (leak,) = learnt_without_noise(done)
    assert "scale (StandardScaler)" in leak
    assert not learnt_without_noise([("rows", Normalizer())])
