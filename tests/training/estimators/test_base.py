"""What all estimators share: seeds, ledgers, classes, and fits that leave no trace if refused."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from shiftdp import InvalidInput
from shiftdp.privacy import BudgetExceeded, Ledger
from tests.training.estimators.test_linear import X, Y, logistic


def test_seeds_repeat_and_are_stamped() -> None:
    one, two = (logistic(random_state=3).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.certificate_.assumptions[0].name == "reproducible run: not private"
    assert "NOT PRIVATE" in one.statement()
    fresh = [logistic().fit(X, Y) for _ in range(2)]
    assert (fresh[0].coef_ != fresh[1].coef_).any()
    assert "NOT PRIVATE" not in fresh[0].statement()


def test_parameters_are_not_edited() -> None:
    model = logistic(epsilon=2.0, feature_bound=0.7)
    before = dict(model.get_params())
    model.fit(X, Y)
    assert model.get_params() == before
    assert clone(model).get_params() == before


def test_each_fit_of_a_search_is_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=20.0, delta=1e-5)
    search = GridSearchCV(
        logistic(epsilon=0.5, ledger=ledger),
        {"epochs": [5, 10]},
        cv=KFold(3),
        error_score="raise",
        n_jobs=2,
    ).fit(X, Y)
    assert len(ledger.entries()) == 2 * 3 + 1
    assert all(entry.completed for entry in ledger.entries())
    ledger.verify()
    assert search.best_estimator_.certificate_.epsilon(1e-5) <= 0.5
    scores = cross_val_score(logistic(epsilon=0.5, ledger=str(ledger.path)), X, Y, cv=KFold(2))
    assert len(scores) == 2
    assert len(ledger.entries()) == 9


def test_a_fit_that_is_too_dear_does_not_run(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=1.0, delta=1e-5)
    model = logistic(epsilon=2.0, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")
    with pytest.raises(InvalidInput, match="not private"):
        logistic(epsilon=0.5, ledger=ledger, random_state=1).fit(X, Y)
    assert not ledger.entries()


# --- what leaves the process ---


def numbers_in(value: Any, seen: set[int]) -> list[NDArray[Any]]:
    """Every array that can be reached from a value."""
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, (list, tuple, set)):
        parts = list(value)
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    return [array for part in parts for array in numbers_in(part, seen)]


def test_a_fitted_model_holds_no_records() -> None:
    model = logistic().fit(X, Y)
    for array in numbers_in(model, set()):
        assert array.shape[:1] != (600,)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert copy.certificate_ == model.certificate_
    # two models of different records are files of nearly the same length: none are inside
    assert len(pickle.dumps(model)) < 20_000


def test_without_scikit_learn_the_extra_is_named() -> None:
    program = "import sys; sys.modules['sklearn'] = None; import shiftdp.sklearn"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 1
    assert "pip install 'shiftdp[sklearn]'" in result.stderr.splitlines()[-1]
