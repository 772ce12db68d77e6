"""Attacks on the loop that really runs: people with several records, and deleted records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import NoisyCGD, Unlearning, certify
from shiftdp.training import Huber, Plan
from shiftdp.training.descent.entropy import Seeded
from shiftdp.training.descent.loop import descend_stacked
from shiftdp.training.descent.people import arranged
from tests.training.test_audit import attacked

N, K = 40, 2
RUN: dict[str, Any] = {"n": N, "batch_size": 10, "epochs": 2, "learning_rate": 0.5, "noise": 0.2}


def plan_of(run: NoisyCGD, seed: int) -> Plan:
    return Plan(
        run=run, loss=Huber(), feature_bound=1.0, intercept=False, l2=0.1, entropy=Seeded(seed)
    )


def data(sign: float, changed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Targets so far away that every residual is as long as it can be."""
    X, y = np.zeros((N, 2)), np.full(N, 1e3)
    X[:, 0] = 1.0
    y[changed] = sign * 1e3
    return X, y


@pytest.mark.parametrize("arrangement", ["anywhere", "one_per_batch"])
def test_a_person_with_two_records_is_protected(arrangement: Any) -> None:
    run = NoisyCGD(**RUN, records_per_person=K, arrangement=arrangement)
    people = np.concatenate([np.arange(N - K), np.full(K, N - K)])
    order = arranged(people, run) if arrangement == "one_per_batch" else np.arange(N)
    changed = np.flatnonzero(people == N - K)
    models = []
    for seed, sign in ((1, 1.0), (2, -1.0)):
        X, y = data(sign, changed)
        models.append(descend_stacked(plan_of(run, seed), X[order], y[order], 8_000))
    certified = plan_of(run, 1).certificate.mu
    assert certified is not None
    found = attacked(*(each.reshape(len(each), -1) for each in models))
    assert 0.5 * certified < found <= certified


@pytest.mark.parametrize("further", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_deleted_record_is_forgotten_as_certified(further: int) -> None:
    """Training with one record or another in its place, then the same further steps."""
    run = NoisyCGD(**RUN)
    going_on = NoisyCGD(
        **{**RUN, "n": N - 1, "epochs": None, "steps": further, "last_batch": "divide_by_b"}
    )
    models = []
    for seed, sign in ((1, 1.0), (2, -1.0)):
        X, y = data(sign, np.array([N - 1]))
        trained = descend_stacked(plan_of(run, seed), X, y, 8_000)
        rest = plan_of(going_on, seed + 10)
        models.append(descend_stacked(rest, X[:-1], y[:-1], 8_000, start=trained))
    plan = plan_of(run, 1)
    deletion = Unlearning(training=run, further_steps=further, grid=plan.grid, dimension=2)
    certified = certify(deletion, plan.geometry).mu
    assert certified is not None
    found = attacked(*(each.reshape(len(each), -1) for each in models))
    assert found <= certified
    if further == 1:
        assert found > 0.5 * certified
