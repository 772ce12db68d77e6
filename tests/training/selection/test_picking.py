"""Early stopping by records that are paid for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import InvalidInput
from shiftdp.privacy import BudgetExceeded, Ledger
from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression
from shiftdp.training.selection.gains import class_gains

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3_000, 3)) / 3
Y = (X[:, 0] + RNG.normal(size=3_000) / 6 > 0).astype(int)
HELD, LABELS = X[2_000:], Y[2_000:]
SHAPE: dict[str, Any] = {
    "epsilon": 2.0, "classes": [0, 1], "epochs": 10, "algorithm": "cgd", "batch_size": 100,
    "checkpoints": [1, 5, 10], "random_state": 0,
}  # fmt: skip


def fitted(**more: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{**SHAPE, **more}).fit(X[:2_000], Y[:2_000])


@settings(max_examples=20, deadline=None)
@given(
    epsilon=st.floats(0.05, 8.0),
    delta=st.sampled_from([1e-3, 1e-6]),
    adjacency=st.sampled_from(["replace_one", "zero_out"]),
)
def test_the_choice_costs_what_was_asked(epsilon: float, delta: float, adjacency: Any) -> None:
    found = MODEL.pick_privately(HELD, LABELS, epsilon=epsilon, delta=delta, adjacency=adjacency)
    assert 0.999 * epsilon <= found.epsilon(delta) <= epsilon
    assert (found.n, found.adjacency, len(found.sums)) == (1_000, adjacency, 3)
    found.verify()


MODEL = fitted()


def test_sums_of_one_record_are_within_what_is_paid_for() -> None:
    """One label flipped moves each of the three sums by at most 1, whatever the checkpoint."""
    found = MODEL.pick_privately(HELD, LABELS, epsilon=1.0)
    moved = []
    for place in range(3):
        MODEL._become(place)
        flipped = LABELS.copy()
        flipped[0] = 1 - flipped[0]
        before, after = (class_gains(MODEL, HELD, y, "accuracy") for y in (LABELS, flipped))
        moved.append(abs(before.sum() - after.sum()))
    shift = np.linalg.norm(moved) / found.sums[0].noise
    assert found.mu is not None
    assert shift <= found.mu * (1 + 1e-12)


def test_with_a_large_budget_it_is_the_best_checkpoint() -> None:
    model = fitted(epsilon=0.5)
    before = model.certificate_
    model.pick_privately(HELD, LABELS, epsilon=200.0)
    chosen = model.score(HELD, LABELS)
    assert chosen == model.pick(HELD, LABELS).score(HELD, LABELS)
    assert model.certificate_ is before


def test_a_regressor_has_a_public_range() -> None:
    numbers = X[:, 0]
    shape = {name: one for name, one in SHAPE.items() if name != "classes"}
    model = PrivateHuberRegressor(**shape).fit(X[:2_000], numbers[:2_000])
    with pytest.raises(InvalidInput, match="targets=None is missing"):
        model.pick_privately(HELD, numbers[2_000:], epsilon=1.0)
    found = model.pick_privately(HELD, numbers[2_000:], epsilon=1.0, targets=(-1.0, 1.0))
    assert found.epsilon(1e-5) <= 1.0
    assert any((one.coef == model.coef_).all() for one in model.releases_)


def test_the_ledger_of_these_records_is_charged_once(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "held.db", epsilon=1.0, delta=1e-5, adjacency="replace_one")
    model = fitted(random_state=None)
    found = model.pick_privately(HELD, LABELS, epsilon=0.9, ledger=ledger)
    assert [entry.label for entry in ledger.entries()] == ["pick_privately"]
    weights = model.coef_.copy()
    with pytest.raises(BudgetExceeded, match="what still fits"):
        model.pick_privately(HELD, LABELS, epsilon=0.9, ledger=ledger)
    assert (model.coef_ == weights).all()
    assert len(ledger.entries()) == 1
    assert found.epsilon(1e-5) <= 0.9


def test_a_seed_is_not_private_and_not_charged(tmp_path: Path) -> None:
    assert not MODEL.pick_privately(HELD, LABELS, epsilon=1.0, random_state=1).private
    ledger = Ledger.create(tmp_path / "held.db", epsilon=1.0, delta=1e-5, adjacency="replace_one")
    with pytest.raises(InvalidInput, match="cannot be charged"):
        MODEL.pick_privately(HELD, LABELS, epsilon=0.5, random_state=1, ledger=ledger)


def test_one_model_alone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="there is nothing to choose from"):
        fitted(checkpoints=None).pick_privately(HELD, LABELS, epsilon=1.0)
