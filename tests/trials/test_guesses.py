"""Canaries in one run: coins that nobody knows, and guesses that a leaky trainer gives away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import ApproxDPTradeoff, GaussianTradeoff, InvalidInput, NoisyGD
from shiftdp.training import Huber, Plan, Softmax
from shiftdp.trials import audit
from shiftdp.trials.guesses import directions, planted
from shiftdp.trials.trainers import trainer_of

RNG = np.random.default_rng


def plan_of(n: int, noise: float, **choices: Any) -> Plan:
    run = NoisyGD(n=n, steps=2, learning_rate=0.5, noise=noise)
    given: dict[str, Any] = {"loss": Huber(), "feature_bound": 2.0, "intercept": False}
    return Plan(run=run, **{**given, **choices})


@pytest.mark.parametrize(("m", "d"), [(5, 9), (9, 5)])
def test_directions_are_unit_vectors_orthogonal_where_there_is_room(m: int, d: int) -> None:
    rows = directions(m, d, RNG(0))
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    if m <= d:
        assert np.allclose(rows @ rows.T, np.eye(m))


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_coins_decide_what_is_in_the_data(adjacency: Any) -> None:
    trainer = trainer_of(plan_of(30, 1.0, adjacency=adjacency), None, None, lambda more: None)
    coins, rows, (X, y) = planted(trainer, None, 20, RNG(1))
    assert 0 < coins.sum() < 20
    assert not X[:10].any()
    there = X[10:].any(axis=1)
    if adjacency == "zero_out":
        assert np.array_equal(there, coins)
        assert len(set(y[10:])) == 1
    else:
        assert there.all()
        assert np.array_equal(y[10:] > 0, coins)
    assert np.allclose(X[10:][there], rows[there])


def test_a_run_without_noise_worth_the_name_gives_all_coins_away() -> None:
    report = audit(plan_of(100, 1e-4), GaussianTradeoff(0.3), method="one_run", canaries=60)
    assert report.violated
    assert report.epsilon > 1.5
    assert "60 of 60 guesses right" in report.findings[0].seen


def test_a_run_that_keeps_its_promise_is_not_called_violated() -> None:
    report = audit(plan_of(100, 0.05), method="one_run", canaries=60, confidence=0.999)
    assert report.verdict == "consistent"
    assert report.mu <= (report.certified_mu or 0.0)
    assert report.runs == 1


def test_classes_are_told_apart_by_the_difference_of_their_scores() -> None:
    plan = plan_of(60, 1e-5, loss=Softmax(classes=3), intercept=True)
    report = audit(plan, GaussianTradeoff(0.3), method="one_run", canaries=40)
    assert report.violated


def test_canaries_go_into_data_of_ones_own() -> None:
    rng = RNG(3)
    data = rng.normal(size=(80, 60)) / 100.0, rng.normal(size=80)
    report = audit(plan_of(80, 1e-3), ApproxDPTradeoff(0.1, 1e-5), method="one_run", data=data)
    assert report.violated


def test_more_canaries_than_records_are_refused() -> None:
    with pytest.raises(InvalidInput, match="canaries=21 exceeds the 20 records"):
        audit(plan_of(20, 1.0), method="one_run", canaries=21)


def test_a_function_of_other_parameters_is_refused() -> None:
    with pytest.raises(InvalidInput, match="are not the weights of a linear model"):
        audit(
            lambda X, y: np.zeros(X.shape[1] + 7),
            GaussianTradeoff(1.0),
            method="one_run",
            canaries=20,
        )


@pytest.mark.slow
def test_the_true_trainer_is_flagged_by_chance_alone() -> None:
    plan = plan_of(60, 0.02)
    flagged = [
        audit(plan, method="one_run", canaries=30, confidence=0.95).violated for _ in range(200)
    ]
    assert sum(flagged) <= 20  # 10 are expected at most; more than 20 has chance 1e-3
