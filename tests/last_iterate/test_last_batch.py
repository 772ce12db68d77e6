"""A smaller last batch: what it costs, and the warning that names the cure."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from shiftdp import Geometry, NoisyCGD, NoisyGD, SmallLastBatch, certify, compare
from shiftdp._printed import up
from shiftdp.last_iterate.last_batch import last_batch_cost
from shiftdp.last_iterate.runs import Order

LOSSES = Geometry(strong_convexity=0.01, smoothness=1.0, sensitivity=1.0)
SHAPE: dict[str, Any] = {"n": 1000, "epochs": 10, "learning_rate": 0.5, "noise": 0.05}


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_a_last_batch_of_one_record_costs_no_more_than_a_full_one(order: Order) -> None:
    """333 and 334 records in a batch are nearly the same run, if every record weighs the same."""
    near = certify(NoisyCGD(**SHAPE, batch_size=334, order=order), LOSSES).epsilon(1e-5)
    for last_batch in ("divide_by_b", "drop"):
        run = NoisyCGD(**SHAPE, batch_size=333, order=order, last_batch=last_batch)
        assert certify(run, LOSSES).epsilon(1e-5) <= 1.005 * near
    own = NoisyCGD(**SHAPE, batch_size=333, order=order)
    assert certify(own, LOSSES).epsilon(1e-5) > 1000 * near


@pytest.mark.parametrize("bounds", ["best", "composition"])
def test_the_cost_is_told_with_both_numbers_and_the_cure(bounds: Any) -> None:
    run = NoisyCGD(**SHAPE, batch_size=333)
    certificate = certify(run, LOSSES, bounds=bounds)
    cost = last_batch_cost(certificate, 1e-5)
    assert cost is not None
    cured = NoisyCGD(**SHAPE, batch_size=333, last_batch="divide_by_b")
    assert cost.own_size == certificate.epsilon(1e-5)
    assert cost.divide_by_b == certify(cured, LOSSES, bounds=bounds).epsilon(1e-5)
    for part in (up(cost.own_size), up(cost.divide_by_b), "333", "1 record"):
        assert part in str(cost)
    assert 'last_batch="divide_by_b"' in str(cost)


@pytest.mark.parametrize(
    "run",
    [
        NoisyCGD(**SHAPE, batch_size=333, last_batch="divide_by_b"),
        NoisyCGD(**SHAPE, batch_size=333, last_batch="drop"),
        NoisyCGD(**SHAPE, batch_size=250),
        NoisyCGD(**{**SHAPE, "n": 999}, batch_size=250),  # 249 records weigh hardly more
        NoisyGD(n=1000, steps=10, learning_rate=0.5, noise=0.05),
    ],
)
def test_nothing_is_said_where_it_costs_nothing(run: NoisyCGD | NoisyGD) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(run, LOSSES, delta=1e-5)


def test_compare_warns() -> None:
    with pytest.warns(SmallLastBatch, match=r"is 793\.9593 .* it is 0\.36902"):
        compare(NoisyCGD(**SHAPE, batch_size=333), LOSSES, delta=1e-5)


def test_compare_warns_where_only_composition_applies() -> None:
    steep = Geometry(strong_convexity=0.0, smoothness=10.0, sensitivity=1.0)
    with pytest.warns(SmallLastBatch, match="epsilon is 2"):
        compare(NoisyCGD(**SHAPE, batch_size=333), steep, delta=1e-5)
