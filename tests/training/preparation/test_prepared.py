"""What a pipeline will cost is known before anything is learnt from the table."""

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import Numeric, PrivateLogisticRegression, PrivatePipeline, PrivateTableEncoder
from shiftdp.training.preparation.prepared import (
    certified_pipeline,
    prepared_table,
    rehearse_model,
)

X = np.random.default_rng(0).uniform(0.0, 10.0, size=(300, 2))
Y = np.arange(300) % 2
MODEL = PrivateLogisticRegression(classes=[0, 1], algorithm="gd", epochs=3, feature_bound=7.0)


def test_without_an_encoder_the_table_is_taken_as_it_is() -> None:
    prepared = prepared_table(PrivatePipeline([MODEL]), X)
    assert prepared.rows is X
    assert (prepared.n, prepared.features, prepared.bound) == (300, 2, 7.0)
    with pytest.raises(InvalidInput, match="is not a table"):
        prepared_table(PrivatePipeline([MODEL]), Y)


def test_an_encoder_is_copied_and_has_learnt_nothing_yet() -> None:
    encoder = PrivateTableEncoder()
    prepared = prepared_table(PrivatePipeline([encoder, MODEL]), X)
    assert prepared.encoder is not encoder
    assert not hasattr(prepared.encoder, "codes_")
    assert (prepared.n, prepared.bound) == (300, prepared.layout.bound)


def test_the_budget_is_met_by_both_together_and_the_model_has_the_bound_of_the_rows() -> None:
    pipeline = PrivatePipeline([PrivateTableEncoder(), MODEL], epsilon=2.0)
    prepared = prepared_table(pipeline, X)
    aimed, planned, certificate = certified_pipeline(pipeline, prepared, MODEL, 1)
    assert certificate.epsilon(1e-5) <= 2.0 < 1.01 * certificate.epsilon(1e-5)
    assert aimed.epsilon < 2.0
    assert planned.plan.feature_bound == prepared.bound
    assert MODEL.epsilon == 1.0


def test_a_schema_that_declares_everything_leaves_the_whole_budget_to_the_model() -> None:
    one = Numeric(low=0.0, high=10.0, scale="range")
    schema = {"x0": one, "x1": one}
    pipeline = PrivatePipeline([PrivateTableEncoder(schema), MODEL], epsilon=2.0)
    prepared = prepared_table(pipeline, X)
    aimed, _, certificate = certified_pipeline(pipeline, prepared, MODEL, 1)
    assert aimed.epsilon == 2.0
    assert not certificate.sums


@pytest.mark.parametrize(("epsilon", "sums"), [(0.5, 0), (8.0, 2)])
def test_declared_ranges_are_standardised_where_the_budget_is_enough(
    epsilon: float, sums: int
) -> None:
    schema = {"x0": Numeric(low=0.0, high=10.0), "x1": Numeric(low=0.0, high=10.0)}
    pipeline = PrivatePipeline([PrivateTableEncoder(schema), MODEL], epsilon=epsilon)
    prepared = prepared_table(pipeline, X)
    aimed, planned, certificate = certified_pipeline(pipeline, prepared, MODEL, 1)
    assert [one.kind for one in certificate.sums] == ["moments"] * sums
    assert (aimed.epsilon < epsilon) is bool(sums)
    assert certificate.epsilon(1e-5) <= epsilon
    assert planned.plan.feature_bound == prepared.layout.bound


def test_a_rehearsal_refuses_what_the_fit_would_and_fits_nothing() -> None:
    prepared = prepared_table(PrivatePipeline([MODEL]), X)
    rehearse_model(MODEL, prepared, Y)
    assert not hasattr(MODEL, "coef_")
    with pytest.raises(InvalidInput, match="classes"):
        rehearse_model(MODEL, prepared, Y + 5)
