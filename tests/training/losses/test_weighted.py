"""Weights of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import InvalidInput, NoisyGD
from shiftdp._errors import VerificationFailed
from shiftdp.last_iterate.training_record import verify_training
from shiftdp.training import Huber, Logistic, Loss, Plan, SmoothedHinge, Softmax, Weighted, descend
from shiftdp.training.descent.entropy import Seeded
from tests.training.losses.examples import labels, pairs, residuals

KINDS: list[Loss] = [Logistic(), SmoothedHinge(width=0.7), Softmax(classes=2), Softmax(classes=4)]


@pytest.mark.parametrize("loss", KINDS, ids=repr)
@pytest.mark.parametrize("kappa", [None, 0.3])
def test_a_residual_is_that_of_the_loss_times_the_weight(loss: Loss, kappa: float | None) -> None:
    weights = (1.0, 0.3, 0.01, 1e-6)[: max(2, loss.outputs)]
    z, _ = pairs(loss.outputs, 300, 1)
    y = labels(loss, 300, 2)
    limits = None if kappa is None else np.full(300, kappa)
    plain, weighted = (residuals(one, z, y, limits) for one in (loss, Weighted(loss, weights)))
    assert (weighted == plain * np.asarray(weights)[y]).all()


def test_plainly_clipped_residuals_are_weighted_after_the_clip() -> None:
    loss, limits = Softmax(classes=3), np.full(50, 0.4)
    z, _ = pairs(3, 50, 3)
    y = labels(loss, 50, 4)
    plain, weighted = z.copy(), z.copy()
    loss.scaled_residuals(plain, loss.targets(y), limits)
    Weighted(loss, (1.0, 0.5, 0.25)).scaled_residuals(weighted, loss.targets(y), limits)
    assert (weighted == plain * np.array([1.0, 0.5, 0.25])[y]).all()


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=5), st.integers(0, 10**6))
def test_no_record_is_longer_than_without_weights(others: list[float], seed: int) -> None:
    weights = (*others, 1.0)
    loss: Loss = Softmax(classes=len(weights))
    z, _ = pairs(loss.outputs, 20, seed)
    y = labels(loss, 20, seed)
    norms = [
        np.linalg.norm(residuals(one, z, y, None), axis=0)
        for one in (Weighted(loss, weights), loss)
    ]
    assert (norms[0] <= norms[1]).all()


def test_a_plan_states_the_weights_and_is_certified_like_the_plain_one() -> None:
    run = NoisyGD(n=40, steps=30, learning_rate=0.5, noise=0.1)
    plain = Plan(run=run, loss=Logistic(), feature_bound=1.0, l2=0.1)
    weighted = Plan(run=run, loss=Weighted(Logistic(), (0.2, 1.0)), feature_bound=1.0, l2=0.1)
    assert weighted.geometry == plain.geometry
    record = weighted.certificate.training
    assert record is not None
    assert dict(record.loss_parameters) == {"weight_0": 0.2, "weight_1": 1.0}
    weighted.certificate.verify()
    assert weighted.certificate != plain.certificate


@pytest.mark.parametrize(
    "stated",
    [
        {"weight_0": 0.2, "weight_1": 3.0},  # above 1
        {"weight_0": 0.2},  # one class has none
        {"weight_0": 0.2, "weight_1": 1.0, "weight_2": 1.0},
        {"weight_0": 0.2, "weight_1": 1.0, "scale": 7.0},
    ],
)
def test_stated_weights_that_cannot_be_are_refused(stated: dict[str, float]) -> None:
    run = NoisyGD(n=40, steps=30, learning_rate=0.5, noise=0.1)
    plan = Plan(run=run, loss=Weighted(Logistic(), (0.2, 1.0)), feature_bound=1.0)
    record = plan.certificate.training
    assert record is not None
    forged = replace(record, loss_parameters=tuple(stated.items()))
    with pytest.raises(VerificationFailed, match="weight of a class"):
        verify_training(forged, run, plan.geometry, contracts=True)


def test_a_parameter_that_is_stated_twice_is_refused() -> None:
    run = NoisyGD(n=40, steps=30, learning_rate=0.5, noise=0.1)
    plan = Plan(run=run, loss=Weighted(Logistic(), (0.2, 1.0)), feature_bound=1.0)
    record = plan.certificate.training
    assert record is not None
    twice = (("weight_1", 3.0), *record.loss_parameters)
    with pytest.raises(VerificationFailed, match="parameter of the loss"):
        verify_training(replace(record, loss_parameters=twice), run, plan.geometry, contracts=True)


def test_numbers_have_no_classes_to_weigh() -> None:
    run = NoisyGD(n=40, steps=30, learning_rate=0.5, noise=0.1)
    plan = Plan(run=run, loss=Huber(), feature_bound=1.0)
    record = plan.certificate.training
    assert record is not None
    stated = (*record.loss_parameters, ("weight_0", 1.0), ("weight_1", 1.0))
    with pytest.raises(VerificationFailed, match="weight of a class"):
        verify_training(replace(record, loss_parameters=stated), run, plan.geometry, contracts=True)


def test_a_weighted_run_is_that_on_records_that_are_there_several_times() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 2)) / 3, np.arange(30) % 2
    often = np.repeat(np.arange(30), np.where(y == 1, 4, 1))
    shape: dict[str, Any] = {"feature_bound": 1.0, "entropy": Seeded(0), "clipping": "none"}
    # a noise that nobody sees, and rates in the ratio of the divisors
    few = NoisyGD(n=30, steps=50, learning_rate=0.5 * 4 * 30 / often.size, noise=1e-9)
    many = NoisyGD(n=often.size, steps=50, learning_rate=0.5, noise=1e-9)
    weighted = descend(Plan(run=few, loss=Weighted(Logistic(), (0.25, 1.0)), **shape), X, y)
    repeated = descend(Plan(run=many, loss=Logistic(), **shape), X[often], y[often])
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize(
    ("loss", "weights", "words"),
    [
        (Huber(), (1.0, 1.0), "has no classes"),
        (Logistic(), (1.0,), "are not one a class"),
        (Softmax(classes=3), (1.0, 1.0), "are not one a class"),
        (Logistic(), (0.5, 0.5), "have 0.5 as the largest"),
        (Logistic(), (0.0, 1.0), "weights=0.0"),
        (Logistic(), (float("nan"), 1.0), "weights=nan"),
    ],
)
def test_what_is_refused(loss: Loss, weights: tuple[float, ...], words: str) -> None:
    with pytest.raises(InvalidInput, match=words.replace(".", r"\.")):
        Weighted(loss, weights)
