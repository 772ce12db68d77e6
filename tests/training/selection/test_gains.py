"""What one record adds to a score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression
from shiftdp.training.selection.gains import (
    Targets,
    class_gains,
    edges_of,
    exact_sum,
    histogram,
    relative_errors,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")
MODEL = PrivateLogisticRegression(classes=["no", "yes"], random_state=0, epsilon=9.0).fit(X, Y)


@pytest.mark.parametrize("scoring", ["accuracy", "brier", "log_loss"])
def test_gains_are_between_0_and_1_whatever_the_record(scoring: str) -> None:
    wild = np.concatenate([X, 1e150 * X])
    gains = class_gains(MODEL, wild, np.concatenate([Y, Y[::-1]]), scoring)
    assert ((gains >= 0.0) & (gains <= 1.0)).all()
    if scoring == "accuracy":
        assert gains[:300].mean() == MODEL.score(X, Y)


@settings(max_examples=50)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30))
def test_sums_do_not_depend_on_the_order(values: list[float]) -> None:
    array = np.array(values)
    assert exact_sum(array) == exact_sum(array[::-1])
    assert exact_sum(array) == pytest.approx((array - 0.5).sum(), abs=len(values) * 2.0**-20)
    assert abs(exact_sum(np.append(array, 1.0)) - exact_sum(array)) == 0.5


def test_a_histogram_counts_every_record_once_and_cuts_at_the_prediction() -> None:
    edges = edges_of(MODEL)
    counts = histogram(MODEL, X, Y, edges)
    assert counts.sum() == 300
    assert counts[1].sum() == (Y == "yes").sum()
    above = int(np.flatnonzero(edges == 0.0)[0]) + 1
    right = counts[1, above:].sum() + counts[0, :above].sum()
    assert right / 300 == MODEL.score(X, Y)


def test_errors_are_parts_of_the_range() -> None:
    line = PrivateHuberRegressor(random_state=0, epsilon=9.0).fit(X, X[:, 0])
    errors, scaled = relative_errors(line, 1e9 * X, 1e9 * X[:, 0], Targets(-2.0, 2.0))
    assert ((errors >= 0.0) & (errors <= 1.0)).all()
    assert (np.abs(scaled) <= 1.0).all()


@pytest.mark.parametrize("canary", [np.nan, np.inf, -np.inf, 1e300])
def test_a_gain_that_is_no_number_moves_a_sum_by_no_more_than_others(canary: float) -> None:
    gains = np.array([0.25, 0.5, canary, 1.0])
    others = np.array([0.25, 0.5, 1.0])
    assert abs(exact_sum(gains) - exact_sum(others)) <= 0.5
