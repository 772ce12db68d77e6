"""Two runs with the same noise: the distance that is allowed, and trainers that exceed it."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from shiftdp import ApproxDPTradeoff, Geometry, InvalidInput, NoisyCGD, NoisyGD, NoisySGD, certify
from shiftdp.training import Huber, Logistic, Plan, SmoothedHinge
from shiftdp.training.descent.projection import Ball
from shiftdp.trials import audit
from shiftdp.trials.canaries import Records
from shiftdp.trials.shared_noise import allowed_distance, hard_sums

LOSSES = Geometry(strong_convexity=0.1, smoothness=1.5, sensitivity=2.0)
TURNS: dict[str, Any] = {"n": 20, "batch_size": 5, "epochs": 3, "learning_rate": 0.5, "noise": 0.2}
FALLING = {**TURNS, "learning_rate": 3 * [0.9, 0.9, 0.01, 0.01]}
"""Rates at which a record in the last batch moves least."""
RUNS: list[Any] = [
    NoisyGD(n=20, steps=6, learning_rate=[0.5, 0.4, 0.3, 0.3, 0.2, 0.1], noise=0.2),
    NoisyCGD(**TURNS),
    NoisyCGD(**TURNS, order="reshuffled"),
    NoisyCGD(**{**TURNS, "n": 18}, last_batch="divide_by_b"),
    NoisyCGD(**FALLING),
    NoisyCGD(**FALLING, order="shuffled_once"),
    NoisyCGD(**FALLING, order="reshuffled"),
    NoisySGD(n=20, batch_size=5, steps=8, learning_rate=0.5, noise=0.2),
    NoisySGD(n=20, batch_size=5, steps=8, learning_rate=0.5, noise=0.2, sampling="poisson"),
]


def plan_of(run: Any, **choices: Any) -> Plan:
    given: dict[str, Any] = {"loss": Huber(), "feature_bound": 1.0, "intercept": False, "l2": 0.1}
    return Plan(run=run, **{**given, **choices})


def test_full_batches_add_up_with_the_contraction() -> None:
    run = NoisyGD(n=10, steps=30, learning_rate=0.5, noise=1.0)
    c = LOSSES.contraction(0.5)
    expected = 0.1 * (1.0 - c**30) / (1.0 - c)
    assert allowed_distance(run, LOSSES) == pytest.approx(expected)


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
@pytest.mark.parametrize("n", [9, 8])
@pytest.mark.parametrize("steps", [7, 9])
@pytest.mark.parametrize("equal", [True, False])
def test_it_is_the_worst_of_all_places(order: Any, n: int, steps: int, equal: bool) -> None:
    rates = [0.5 if equal else 0.1 + 0.8 * (k * k % 5) / 5 for k in range(steps)]
    run = NoisyCGD(
        n=n, batch_size=3, steps=steps, learning_rate=rates, noise=1.0, order=order,
        last_batch="own_size",
    )  # fmt: skip
    epochs = -(-steps // 3)
    worst = 0.0
    for places in product(range(3), repeat=epochs):
        if order != "reshuffled" and len(set(places)) > 1:
            continue
        z = 0.0
        for k, rate in enumerate(rates):
            used = k % 3 == places[k // 3]
            shift = rate * LOSSES.sensitivity / run.divisor_of(k % 3 + 1)
            z = LOSSES.contraction(rate) * z + (shift if used else 0.0)
        worst = max(worst, z)
    assert allowed_distance(run, LOSSES) == pytest.approx(worst, rel=1e-12)


def test_a_set_bounds_the_distance() -> None:
    run = NoisyGD(n=10, steps=30, learning_rate=0.5, noise=1.0)
    small = Geometry(strong_convexity=0.1, smoothness=1.5, sensitivity=2.0, diameter=0.15)
    assert allowed_distance(run, small) == 0.15


@pytest.mark.parametrize("run", RUNS, ids=repr)
@pytest.mark.parametrize("loss", [Huber(), Logistic(), SmoothedHinge()], ids=repr)
def test_the_true_trainer_stays_within_it(run: Any, loss: Any) -> None:
    poisson = getattr(run, "sampling", "") == "poisson"
    plan = plan_of(run, loss=loss, adjacency="zero_out" if poisson else "replace_one")
    report = audit(plan, method="shared_noise")
    assert report.verdict == "consistent"
    assert len(report.findings) == 4


def test_full_batches_use_all_of_it() -> None:
    """So a sensitivity that is only a little too small is found."""
    plan = plan_of(RUNS[0])
    certificate = certify(plan.run, Geometry(strong_convexity=0.1, smoothness=1.1, sensitivity=1.8))
    assert audit(plan, certificate, method="shared_noise").violated


def test_projections_too() -> None:
    run = NoisyGD(n=20, steps=30, learning_rate=0.5, noise=0.3)
    plan = plan_of(run, projection=Ball(0.2), l2=0.0)
    assert not audit(plan, method="shared_noise").violated


def test_the_data_are_ties_in_single_precision_and_none_in_double() -> None:
    pair = hard_sums(Records(n=2**16, targets="numbers"))
    sums = []
    for X, y in (pair.one, pair.other):
        parts = -np.sign(y) * X[:, 0]
        sums.append([np.cumsum(parts, dtype=kind)[-1] for kind in (np.float32, np.float64)])
    single, double = (abs(float(a) - float(b)) for a, b in zip(*sums, strict=True))
    assert double == pytest.approx(1.8)
    assert single > 3.0 * double


def test_a_function_has_to_take_a_seed() -> None:
    certificate = certify(RUNS[0], LOSSES)
    with pytest.raises(InvalidInput, match="does not take a seed"):
        audit(lambda X, y: X.sum(axis=0), certificate, method="shared_noise")

    def honest(X: Any, y: Any, seed: int) -> Any:
        return np.random.default_rng(seed).standard_normal(2)

    assert not audit(honest, certificate, method="shared_noise").violated


@pytest.mark.parametrize(
    ("guarantee", "problem"),
    [
        (ApproxDPTradeoff(1.0, 1e-5), "does not say how far"),
        (certify(NoisyGD(n=5, steps=4, learning_rate=0.1, noise=1, releases="all"), LOSSES), "run"),
        (
            certify(
                NoisyGD(n=5, steps=4, learning_rate=0.1, noise=1),
                Geometry(strong_convexity=-math.inf, smoothness=math.inf, sensitivity=1.0),
            ),
            "assumes nothing",
        ),
    ],
    ids=["tradeoff", "releases", "composition"],
)
def test_certificates_that_bound_no_distance_are_refused(guarantee: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        audit(lambda X, y, seed: np.zeros(2), guarantee, method="shared_noise")
