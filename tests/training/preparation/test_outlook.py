"""Ranges that are lost in their noise are foretold, from public numbers, with the cure."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from shiftdp.sklearn import (
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
    WeakSignalWarning,
)
from shiftdp.training.preparation.columns import Boolean, Categorical, Numeric
from shiftdp.training.preparation.layout import layout_of
from shiftdp.training.preparation.outlook import LARGEST, PipelineOutlook, outlook_of_pipeline
from shiftdp.training.preparation.reading import RawTable
from shiftdp.training.preparation.schema import Schema
from tests.training.preparation.raw_tables import DECLARED, raw_frame

NUMBERS = ("age", "income", "hours", "balance", "visits")
MIXED: dict[str, Any] = {
    **{name: Numeric() for name in NUMBERS},
    "city": Categorical(),
    "job": Categorical(),
    "married": Boolean(),
}


def outlook(
    n: int, epsilon: float, columns: dict[str, Any], own: float | None = None
) -> PipelineOutlook:
    model = PrivateLogisticRegression(classes=["no", "yes"], algorithm="gd")
    encoder = PrivateTableEncoder(Schema(columns), epsilon=own)
    pipeline = PrivatePipeline([encoder, model], epsilon)
    names = tuple(columns)
    planned, _ = pipeline.plan(names, n)
    layout = layout_of(Schema(columns), RawTable(names, (), n))
    return outlook_of_pipeline(pipeline, layout, n, planned, model)


@pytest.mark.parametrize(
    ("n", "epsilon", "worthwhile"),
    [  # AUC over eight fits each
        (5_000, 0.01, False),  # .49 to .63
        (5_000, 0.03, False),  # .44 to .63
        (5_000, 0.05, False),  # .45 to .63
        (5_000, 0.1, True),  # .57 to .66
        (1_000, 0.1, False),  # .45 to .63
        (1_000, 0.3, False),  # .44 to .61
    ],
)
def test_learnt_ranges_are_worth_it_where_they_were_measured_to_be(
    n: int, epsilon: float, worthwhile: bool
) -> None:
    found = outlook(n, epsilon, MIXED)
    assert found.model.worthwhile
    assert found.worthwhile is worthwhile
    assert found.unknown == NUMBERS


@pytest.mark.parametrize(
    ("epsilon", "worthwhile"),
    [(0.01, False), (0.04, True)],  # .45 to .72, .70 to .74
)
def test_fewer_columns_have_less_noise(epsilon: float, worthwhile: bool) -> None:
    few = {"age": Numeric(), "income": Numeric(), "city": Categorical()}
    assert outlook(5_000, epsilon, few).worthwhile is worthwhile


@pytest.mark.parametrize(
    "column",
    [
        Numeric(low=0, high=100),
        Numeric(low=0, high=100, scale="moments"),
        Numeric(within=(0, 1e6)),
        Categorical(),
    ],
)
def test_what_falls_back_to_something_public_is_not_refused(column: Any) -> None:
    found = outlook(5_000, 0.01, {"age": column, "married": Boolean()})
    assert found.unknown == ()
    assert found.worthwhile


@pytest.mark.parametrize(("n", "epsilon"), [(5_000, 0.01), (1_000, 0.3), (200, 0.02)])
def test_the_cure_is_enough_by_the_same_rule_and_not_far_too_much(n: int, epsilon: float) -> None:
    found = outlook(n, epsilon, MIXED)
    assert not found.worthwhile
    assert found.records is not None
    assert found.epsilon is not None
    assert f"give epsilon={found.epsilon:g}, or " in found.cure
    for records, given in [(found.records, epsilon), (n, found.epsilon)]:
        cured = outlook(records, given, MIXED)
        assert cured.worthwhile
        assert cured.noise(given) > 0.8 * LARGEST * records


def test_no_epsilon_is_advised_where_the_encoder_has_its_own() -> None:
    found = outlook(5_000, 0.1, MIXED, own=0.005)
    assert not found.worthwhile
    assert found.epsilon is None
    assert "epsilon" not in found.cure
    assert f"give {found.records} records" in found.cure
    assert outlook(found.records or 1, 0.1, MIXED, own=0.005).worthwhile


def test_a_fit_warns_at_the_line_that_made_it_and_declared_ranges_do_not() -> None:
    X, y = raw_frame(1_000, 0)
    model = PrivateLogisticRegression(classes=["no", "yes"], algorithm="gd")
    with pytest.warns(WeakSignalWarning, match=r"epsilon=0\.1 hides the ranges .* 'age'") as said:
        PrivatePipeline([PrivateTableEncoder(), model], 0.1).fit(X, y)
    (one,) = said
    assert one.filename == __file__
    assert "declare the ranges of numbers in a schema" in str(one.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakSignalWarning)
        PrivatePipeline([PrivateTableEncoder(DECLARED), model], 0.1).fit(X, y)
