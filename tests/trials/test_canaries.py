"""The worst records: neighbours in one record, gradients as far apart as the class allows."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyGD
from shiftdp.training import Huber, Logistic, Plan, SmoothedHinge
from shiftdp.trials.canaries import Records, pairs, table_of
from shiftdp.trials.trainers import records_of_plan


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
@pytest.mark.parametrize("targets", ["labels", "numbers"])
def test_neighbours_differ_in_the_last_record_alone(targets: str, adjacency: str) -> None:
    records = Records(n=7, features=3, targets=targets, adjacency=adjacency)  # type: ignore[arg-type]
    for pair in pairs(records):
        (X, y), (other, labels) = pair.one, pair.other
        assert np.array_equal(X[:-1], other[:-1])
        assert np.array_equal(y[:-1], labels[:-1])
        assert not (np.array_equal(X[-1], other[-1]) and y[-1] == labels[-1])
        if adjacency == "zero_out":
            assert not other[-1].any()


@pytest.mark.parametrize(
    ("loss", "share"), [(Huber(), 1.0), (SmoothedHinge(), 1.0), (Logistic(), 0.5)], ids=repr
)
def test_their_gradients_are_as_far_apart_as_they_can_be_where_training_begins(
    loss: object, share: float
) -> None:
    """Logistic residuals are halves at 0: the worst that its own gradients can do is more."""
    run = NoisyGD(n=5, steps=1, learning_rate=0.5, noise=1.0)
    plan = Plan(run=run, loss=loss, feature_bound=2.0, intercept=False)  # type: ignore[arg-type]
    pair = pairs(records_of_plan(plan))[0]
    sums = []
    for X, y in (pair.one, pair.other):
        z = np.zeros((1, len(X)))
        plan.loss.residuals(z, plan.loss.targets(y), None)
        sums.append(z[0] @ X)
    assert np.linalg.norm(sums[0] - sums[1]) == pytest.approx(share * 2.0 * plan.gradient_bound)


def test_long_rows_are_left_out_where_they_are_refused() -> None:
    run = NoisyGD(n=5, steps=1, learning_rate=0.5, noise=1.0)
    plan = Plan(run=run, loss=Huber(), feature_bound=1.0, oversized="refuse")
    assert [pair.name for pair in pairs(records_of_plan(plan))] == ["at the bound"]


def test_a_canary_is_put_into_data_of_ones_own() -> None:
    X, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    pair = pairs(Records(n=4, feature_bound=3.0), (X, y))[0]
    assert np.array_equal(pair.one[0][:-1], X[:-1])
    assert pair.one[0][-1].tolist() == [3.0, 0.0]
    assert X[-1].tolist() == [1.0, 1.0]


def test_data_of_other_shapes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="is no matrix"):
        pairs(Records(n=3), (np.ones(3), np.ones(3)))


def test_zero_out_with_an_intercept_is_refused() -> None:
    run = NoisyGD(n=5, steps=1, learning_rate=0.5, noise=1.0)
    plan = Plan(run=run, loss=Huber(), feature_bound=1.0, adjacency="zero_out")
    with pytest.raises(InvalidInput, match="no record stands for none"):
        records_of_plan(plan)


@pytest.mark.parametrize(
    "data",
    [
        ([["secret", 1.0]], [0]),
        ([[1.0], [2.0, 3.0]], [0, 1]),
        (np.zeros((2, 2)), np.zeros(3)),
        (np.zeros((0, 2)), np.zeros(0)),
        (np.zeros(4), np.zeros(4)),
        np.zeros((3, 2)),
        "ab",
    ],
    ids=["words", "ragged", "targets", "empty", "vector", "no pair", "text"],
)
def test_data_that_take_no_canary_are_refused_without_an_entry_of_them(data: Any) -> None:
    with pytest.raises(InvalidInput, match="data=") as caught:
        table_of(data)
    told = "".join(traceback.format_exception(caught.value))
    assert "secret" not in told
