"""What a search may try, and what one fit of it costs."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateLogisticRegression, PrivatePipeline, PrivateTableEncoder
from shiftdp.training.descent.entropy import Seeded
from shiftdp.training.selection.candidates import candidates_of, certified

X = np.random.default_rng(0).normal(size=(100, 2))
Y = (X[:, 0] > 0).astype(int)
MODEL = PrivateLogisticRegression(classes=[0, 1], algorithm="gd", epochs=3)


def test_lists_are_combined_and_several_grids_joined() -> None:
    stream = Seeded(0).open("batches")
    grids = [{"l2": [0.1, 0.2], "feature_bound": [1.0]}, {"clip": [0.5]}]
    found = candidates_of(grids, 20, MODEL, stream)
    assert found == [
        {"feature_bound": 1.0, "l2": 0.1}, {"feature_bound": 1.0, "l2": 0.2}, {"clip": 0.5},
    ]  # fmt: skip


@pytest.mark.parametrize("estimator", [MODEL, PrivatePipeline([PrivateTableEncoder(), MODEL])])
def test_the_certificate_is_that_of_the_fit(estimator: object) -> None:
    made = certified(estimator, {}, 0.7, 1e-6, (X, Y))
    assert made.certificate.epsilon(1e-6) <= 0.7
    fitted = made.estimator.fit(X, Y)
    assert fitted.certificate_.epsilon(1e-6) == made.certificate.epsilon(1e-6)


def test_budgets_are_no_candidates() -> None:
    stream = Seeded(0).open("batches")
    pipeline = PrivatePipeline([("encode", PrivateTableEncoder()), ("model", MODEL)])
    with pytest.raises(InvalidInput, match="budgets"):
        candidates_of({"encode__epsilon": [1.0]}, 5, pipeline, stream)
