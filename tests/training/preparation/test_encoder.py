"""The encoder: scikit-learn's checks, every kind of table, costs, and what a record can do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftdp import BudgetExceeded, InvalidInput, Ledger
from shiftdp.sklearn import Boolean, Categorical, Numeric, PrivateTableEncoder
from shiftdp.training.preparation.codes import CategoryCode
from tests.training.preparation.raw_tables import DECLARED, raw_columns, raw_frame


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is not typed
    [PrivateTableEncoder(epsilon=1.0, random_state=0)]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_declared_columns_cost_nothing_and_need_no_budget() -> None:
    X, _ = raw_frame(500, 0)
    encoder = PrivateTableEncoder(DECLARED).fit(X)
    assert encoder.certificate_.epsilon(1e-5) == 0.0
    assert "costs nothing" in encoder.statement()
    assert encoder.transform(X).shape == (500, len(encoder.get_feature_names_out()))


def test_something_to_learn_needs_a_budget_and_keeps_to_it() -> None:
    X, _ = raw_frame(500, 0)
    with pytest.raises(InvalidInput, match="leaves nothing for the histogram of 'age'"):
        PrivateTableEncoder().fit(X)
    encoder = PrivateTableEncoder(epsilon=0.7, delta=1e-6).fit(X)
    assert 0.68 < encoder.certificate_.epsilon(1e-6) <= 0.7
    assert "moments of 'income'" in encoder.statement()


def test_every_kind_of_table_gives_the_same_rows() -> None:
    columns, _ = raw_columns(300, 1)
    frame = pd.DataFrame(columns)
    rows = PrivateTableEncoder(DECLARED).fit(frame).transform(frame)
    structured = np.empty(300, dtype=[(name, object) for name in columns])
    for name, entries in columns.items():
        structured[name] = entries
    lists = {name: [None if e != e else e for e in list(v)] for name, v in columns.items()}
    for table in (pl.DataFrame(lists), structured, frame.astype(object)):
        same = PrivateTableEncoder(DECLARED).fit(table).transform(table)
        np.testing.assert_array_equal(rows, same)
    plain = PrivateTableEncoder(list(DECLARED.columns.values()))
    array = frame.to_numpy(dtype=object)
    np.testing.assert_array_equal(rows, plain.fit(array).transform(array))


def test_rows_are_within_the_bound_whatever_the_records_are() -> None:
    X, _ = raw_frame(2_000, 0)
    encoder = PrivateTableEncoder(epsilon=2.0).fit(X)
    wild = X.assign(age=1e308, income=-np.inf, city="nowhere", married=None)
    for table in (X, wild):
        lengths = np.sqrt((encoder.transform(table) ** 2).sum(axis=1))
        assert lengths.max() <= encoder.feature_bound_


def test_a_row_is_encoded_alike_whatever_others_are_there() -> None:
    X, _ = raw_frame(200, 0)
    encoder = PrivateTableEncoder(epsilon=2.0).fit(X)
    together = encoder.transform(X)
    for i in (0, 17, 199):
        np.testing.assert_array_equal(together[[i]], encoder.transform(X.iloc[[i]]))


def test_declared_codes_do_not_depend_on_the_records_at_all() -> None:
    one, other = raw_frame(300, 0)[0], raw_frame(300, 1)[0]
    fitted = [PrivateTableEncoder(DECLARED).fit(X) for X in (one, other)]
    assert fitted[0].codes_ == fitted[1].codes_


def test_width_and_bound_are_public_even_where_categories_are_learnt() -> None:
    one, other = raw_frame(3_000, 0)[0], raw_frame(3_000, 1)[0]
    other["city"] = "Berlin"
    made = [PrivateTableEncoder(epsilon=3.0).fit(X) for X in (one, other)]
    assert made[0].codes_ != made[1].codes_
    assert made[0].transform(one).shape == made[1].transform(one).shape
    assert made[0].feature_bound_ == made[1].feature_bound_


def test_unknown_and_missing_categories_have_places_of_their_own() -> None:
    X = pd.DataFrame({"c": ["a", "b", "z", None]}, dtype=object)
    encoder = PrivateTableEncoder({"c": Categorical(categories=("a", "b"))}).fit(X)
    assert encoder.get_feature_names_out().tolist() == ["c=a", "c=b", "c=(other)", "c=(missing)"]
    np.testing.assert_array_equal(encoder.transform(X), np.eye(4))


def test_categories_of_few_records_are_told_apart_and_none_is_named() -> None:
    X = pd.DataFrame({"c": ["red", "green", None] * 5}, dtype=object)
    schema = {"c": Categorical(most=2)}
    encoder = PrivateTableEncoder(schema, epsilon=0.01, random_state=0).fit(X)
    names = encoder.get_feature_names_out().tolist()
    assert encoder.codes_ == (CategoryCode(()),)
    assert not any("red" in name or "green" in name for name in names)
    found = encoder.transform(X[:3]).argmax(axis=1)
    assert [names[place] for place in found] == ["c=(other 4)", "c=(other 9)", "c=(missing)"]
    assert encoder.certificate_.epsilon(1e-5) <= 0.01


def test_names_stay_different() -> None:
    X = pd.DataFrame({"c": ["a"], "c=a": [True]})
    schema = {"c": Categorical(categories=("a",)), "c=a": Boolean(missing="refuse")}
    names = PrivateTableEncoder(schema).fit(X).get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == 4


def test_other_columns_are_refused_later() -> None:
    X, _ = raw_frame(50, 0)
    encoder = PrivateTableEncoder(DECLARED).fit(X)
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(X.rename(columns={"age": "years"}))
    structured = np.zeros(3, dtype=[("a", float)])
    fitted = PrivateTableEncoder({"a": Numeric(low=0, high=1)}).fit(structured)
    assert fitted.feature_names_in_.tolist() == ["a"]
    with pytest.raises(InvalidInput, match="other columns"):
        fitted.transform(np.zeros(3, dtype=[("b", float)]))


def test_a_refused_fit_changes_nothing() -> None:
    X, _ = raw_frame(50, 0)
    encoder = PrivateTableEncoder(DECLARED).fit(X)
    before = encoder.transform(X)
    with pytest.raises(InvalidInput):
        encoder.fit(X.assign(married="perhaps"))
    np.testing.assert_array_equal(encoder.transform(X), before)
    with pytest.raises(NotFittedError):
        clone(encoder).transform(X)


def test_errors_quote_no_entry() -> None:
    X, _ = raw_frame(50, 0)
    with pytest.raises(InvalidInput) as refusal:
        PrivateTableEncoder(DECLARED).fit(X.assign(age="very secret"))
    assert "secret" not in str(refusal.value)
    assert refusal.value.name == "age"


def test_seeds_repeat_the_noise_and_say_so() -> None:
    X, _ = raw_frame(500, 0)
    made = [PrivateTableEncoder(epsilon=1.0, random_state=3).fit(X) for _ in range(2)]
    assert made[0].codes_ == made[1].codes_
    assert "NOT PRIVATE" in made[0].statement()
    fresh = [PrivateTableEncoder(epsilon=1.0).fit(X) for _ in range(2)]
    assert fresh[0].codes_ != fresh[1].codes_


def test_a_ledger_is_charged_before_anything_is_learnt(tmp_path: Path) -> None:
    X, _ = raw_frame(500, 0)
    ledger = Ledger.create(tmp_path / "study", epsilon=1.0, delta=1e-5)
    PrivateTableEncoder(epsilon=0.6, ledger=ledger).fit(X)
    assert ledger.epsilon() <= 0.6
    with pytest.raises(BudgetExceeded):
        PrivateTableEncoder(epsilon=0.9, ledger=ledger).fit(X)
    with pytest.raises(InvalidInput, match="random_state"):
        PrivateTableEncoder(epsilon=0.1, ledger=ledger, random_state=0).fit(X)
    PrivateTableEncoder(DECLARED, ledger=os.fspath(tmp_path / "study")).fit(X)
    assert len(ledger.entries()) == 1
    ledger.verify()


def test_output_can_be_a_data_frame() -> None:
    X, _ = raw_frame(20, 0)
    encoder = PrivateTableEncoder(DECLARED).set_output(transform="pandas")
    assert "city=Berlin" in encoder.fit_transform(X).columns


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 0), ("delta", "x"), ("delta", 2.0), ("adjacency", "other"), ("epsilon", -1.0)],
)
def test_parameters_that_are_none_are_refused(name: str, value: Any) -> None:
    encoder = PrivateTableEncoder(**{"epsilon": 0.1, name: value})
    with pytest.raises(InvalidInput, match=f"^{name}="):
        encoder.fit(np.zeros((20, 1)))
