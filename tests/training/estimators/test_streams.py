"""`partial_fit`: new records, each used once, with one certificate for all calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from shiftdp import InvalidInput, NoisyStream, VerificationFailed, certify
from shiftdp.privacy import Ledger
from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression, load_model, save_model
from shiftdp.training.estimators.streams import next_window


def records(seed: int, n: int = 600, classes: int = 2) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) / 2
    return X, np.clip(np.floor((X[:, 0] + 0.5) * classes), 0, classes - 1).astype(int)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_certificate_for_all_calls(classes: int) -> None:
    model = PrivateLogisticRegression(epsilon=2.0, classes=list(range(classes)))
    seen = []
    for day in range(4):
        model.partial_fit(*records(day, 600 + 7 * day, classes))
        seen.append(model.certificate_)
        assert model.certificate_.bound == "Theorem V2"
        model.certificate_.verify()
    assert all(each.same_guarantee(seen[0]) for each in seen)
    assert seen[0].epsilon(1e-5) <= 2.0
    assert isinstance(seen[0].run, NoisyStream)
    assert model.stream_.windows == 4
    assert model.score(*records(9, 2_000, classes)) > 1.2 / classes
    assert "however long" in model.statement()


def test_a_window_as_long_or_longer_costs_no_more_than_the_stream() -> None:
    model = PrivateHuberRegressor(epsilon=1.0)
    X, y = records(0)
    model.partial_fit(X, y)
    state = model.stream_
    k = state.stream.batches_per_release * state.stream.batch_size
    for n in (k, k + 1, k + state.stream.batch_size - 1, 3 * k + 5):
        plan = next_window(state, n, model.plan_.plan.entropy)
        for epsilon in (0.0, 0.3, 1.0):
            own = certify(plan.run, plan.geometry).delta(epsilon)
            assert own <= model.certificate_.delta(epsilon) * (1 + 1e-9)


def test_the_next_call_begins_from_what_was_released() -> None:
    """With a rate so small that nothing moves, the model stays where it was."""
    model = PrivateHuberRegressor(epsilon=1.0, learning_rate=1e-12)
    model.partial_fit(*records(0))
    model.coef_, model.intercept_ = np.array([0.5, -0.25, 1.0]), 2.0
    model.partial_fit(*records(1))
    assert np.allclose(model.coef_, [0.5, -0.25, 1.0], atol=1e-6)
    assert model.intercept_ == pytest.approx(2.0, abs=1e-6)


def test_seeded_windows_have_noise_of_their_own() -> None:
    data = records(0)
    model = PrivateHuberRegressor(epsilon=1.0, random_state=1)
    model.partial_fit(*data)
    first = model.coef_.copy()
    model.coef_, model.intercept_ = np.zeros(3), 0.0
    model.partial_fit(*data)
    assert not np.array_equal(model.coef_, first)
    with pytest.raises(VerificationFailed, match="NOT PRIVATE"):
        model.certificate_.verify()
    twin = PrivateHuberRegressor(epsilon=1.0, random_state=1).partial_fit(*data)
    assert np.array_equal(twin.coef_, first)


def test_a_ledger_is_charged_once(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "days.db", epsilon=1.5, delta=1e-5)
    model = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1], ledger=ledger)
    for day in range(3):
        model.partial_fit(*records(day))
    assert len(ledger.entries()) == 1
    assert "for ever" in str(ledger)


def test_what_does_not_fit_a_stream_is_refused_and_the_model_stays() -> None:
    model = PrivateLogisticRegression(epsilon=1.0)
    with pytest.raises(InvalidInput, match="classes"):
        model.partial_fit(*records(0))
    model.partial_fit(*records(0), classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(InvalidInput, match="is less than the"):
        model.partial_fit(*records(1, 100))
    X, y = records(2)
    with pytest.raises(InvalidInput, match="classes"):
        model.partial_fit(X, y + 5)
    assert np.array_equal(model.coef_, before)
    assert model.stream_.windows == 1
    assert not hasattr(model.set_params(classes=[0, 1]).fit(X, y), "stream_")


def test_a_fitted_model_goes_on_with_new_records() -> None:
    model = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1]).fit(*records(0))
    before = model.certificate_
    model.partial_fit(*records(1))
    assert model.certificate_.bound == "Theorem V2"
    assert model.stream_.before is before
    assert "other records" in model.statement()
    model.partial_fit(*records(2))
    assert model.stream_.before is before
    other = clone(model).set_params(fit_intercept=False).fit(*records(0))
    with pytest.raises(InvalidInput, match="fit_intercept"):
        other.set_params(fit_intercept=True).partial_fit(*records(1))


@pytest.mark.parametrize(
    "parameter",
    [
        {"epochs": 5},
        {"checkpoints": 2},
        {"average": 2},
        {"algorithm": "gd"},
        {"sampling": "poisson"},
    ],
)
def test_choices_of_other_runs_are_refused_by_name(parameter: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(parameter))):
        PrivateHuberRegressor(**parameter).partial_fit(*records(0))


@pytest.mark.parametrize(
    "model",
    [PrivateHuberRegressor(epsilon=1.0), PrivateLogisticRegression(epsilon=1.0, classes=[0, 1])],
)
def test_people_with_several_records_are_sent_to_fit(model: Any) -> None:
    X, y = records(0)
    refusal = r"groups='<given>' is not covered in partial_fit.*; use fit with .* whole stream"
    with pytest.raises(InvalidInput, match=refusal):
        model.partial_fit(X, y, groups=np.arange(len(y)) // 2)
    with pytest.raises(InvalidInput, match=r"records_per_person=2 .*; use fit with groups"):
        clone(model).set_params(records_per_person=2).partial_fit(X, y)
    assert not hasattr(model, "coef_")


def test_what_is_set_after_the_first_call_is_refused(tmp_path: Path) -> None:
    model = PrivateHuberRegressor(epsilon=1.0).partial_fit(*records(0))
    before = model.get_params()
    later = {"epsilon": 2.0, "delta": 1e-6, "fit_intercept": False, "l2": 0.1, "epochs": 5.0}
    for name, value in later.items():
        refusal = f"{name}={value} is not that of the stream, {before[name]}"
        with pytest.raises(InvalidInput, match=refusal):
            model.set_params(**{**before, name: value}).partial_fit(*records(1))
    ledger = Ledger.create(tmp_path / "days.db", epsilon=1.5, delta=1e-5)
    with pytest.raises(InvalidInput, match=r"ledger=.* comes too late"):
        model.set_params(**{**before, "ledger": ledger}).partial_fit(*records(1))
    assert not ledger.entries()
    assert model.set_params(**before).partial_fit(*records(1, 700)).stream_.windows == 2


@pytest.mark.parametrize("n", [1, 3])
def test_too_few_records_are_named_as_the_reason(n: int) -> None:
    with pytest.raises(InvalidInput, match=f"n={n} is too few records .* 4 records, or more"):
        PrivateHuberRegressor(epsilon=1.0).partial_fit(*records(0, n))


def test_a_stream_is_written_to_a_file(tmp_path: Path) -> None:
    model = PrivateHuberRegressor(epsilon=1.0).partial_fit(*records(0))
    save_model(model, tmp_path / "model.shiftdp")
    assert load_model(tmp_path / "model.shiftdp").partial_fit(*records(1)).stream_.windows == 2
