"""A ledger around a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftdp import BudgetExceeded, InvalidInput, Ledger, NoisyGD
from shiftdp.training import Logistic, Plan, Seeded, System
from shiftdp.training.charging import charged, rehearse, seeds_of

RUN = NoisyGD(n=100, steps=5, learning_rate=0.1, noise=0.5)
CERTIFICATE = Plan(run=RUN, loss=Logistic(), feature_bound=1.0).certificate


def test_a_run_is_reserved_before_and_completed_after(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=9.0, delta=1e-5)
    with charged(str(ledger.path), CERTIFICATE, System(), "a head", None):
        assert [entry.completed for entry in ledger.entries()] == [False]
    assert [entry.completed for entry in ledger.entries()] == [True]


def test_a_run_that_fails_stays_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=9.0, delta=1e-5)
    with pytest.raises(OSError, match="lost"), charged(ledger, CERTIFICATE, System(), "x", None):
        raise OSError("lost")
    assert [entry.completed for entry in ledger.entries()] == [False]


def test_what_does_not_fit_is_refused_before_the_run(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=1e-3, delta=1e-5)
    with pytest.raises(BudgetExceeded), charged(ledger, CERTIFICATE, System(), "x", None):
        pytest.fail("it ran")


def test_a_seed_cannot_be_charged_and_no_ledger_charges_nothing(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=9.0, delta=1e-5)
    with (
        pytest.raises(InvalidInput, match="random_state=3 makes a reproducible run"),
        charged(ledger, CERTIFICATE, Seeded(3), "x", 3),
    ):
        pytest.fail("it ran")
    with charged(None, CERTIFICATE, Seeded(3), "x", 3):
        pass
    assert not ledger.entries()


def test_a_rehearsal_refuses_what_a_fit_would_and_releases_nothing() -> None:
    from shiftdp.sklearn import PrivateLogisticRegression

    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = PrivateLogisticRegression(classes=[0, 1], random_state=3)
    rehearse(model, X, y)
    assert not hasattr(model, "coef_")
    assert seeds_of(model) == ["random_state"]
    with pytest.raises(InvalidInput, match="contains NaN"):
        rehearse(model, np.where(X > 2.0, np.nan, X), y)
