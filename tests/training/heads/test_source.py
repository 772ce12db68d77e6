"""Sums of gradients on a device, and runs on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from shiftdp import InvalidInput, NoisyGD
from shiftdp.last_iterate.sum_rounding import CHUNK
from shiftdp.training import Logistic, Loss, Softmax, descend
from shiftdp.training.centring import with_sums
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.disk import on_disk
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.loop import descend_on
from shiftdp.training.descent.records import prepare
from shiftdp.training.heads.source import DeviceSource, source_of, usable_device
from tests.training.heads.examples import LOSSES, RUNS, last_iterate, plan_of, records

CPU = torch.device("cpu")
CLOSE = 1e-9  # of weights of size 1, after a dozen steps; envelopes are solved to 1e-10


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_every_loss_gives_the_iterates_of_numpy(loss: Loss, intercept: bool, kind: Any) -> None:
    X, y = records(loss, kind=kind)
    fields: dict[str, Any] = {"clipping": "envelope", "clip": 0.4, "intercept": intercept}
    for clipping in (fields, {**fields, "clipping": "plain"}, {"intercept": intercept}):
        plan = plan_of(RUNS["fixed"], loss, **clipping)
        ours = prepare(plan, X, y)
        found = last_iterate(plan, DeviceSource.of(plan, ours, CPU))
        assert np.abs(found - last_iterate(plan, LocalSource(ours))).max() <= CLOSE


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_every_run_gives_the_weights_of_numpy(run: TrainingRun) -> None:
    loss = Softmax(classes=4)
    X, y = records(loss)
    plan = plan_of(run, loss, clipping="envelope", clip=0.7)
    source = DeviceSource.of(plan, prepare(plan, X, y), CPU)
    assert np.abs(last_iterate(plan, source)).max() > 0.05
    found = descend_on(plan, source)
    assert np.abs(found - descend(plan, X, y)).max() <= CLOSE


def test_large_batches_are_summed_in_chunks_and_empty_ones_are_zero() -> None:
    loss, n = Softmax(classes=3), CHUNK + 77
    X, y = records(loss, n, np.float32)
    plan = plan_of(NoisyGD(n=n, steps=1, learning_rate=0.1, noise=1.0), loss)
    ours = prepare(plan, X, y)
    models = np.random.default_rng(0).normal(size=(1, 3, X.shape[1] + 1))
    sums = []
    for source in (DeviceSource.of(plan, ours, CPU), LocalSource(ours)):
        with source.gradient(plan, models) as gradient:
            everything = gradient(models, slice(0, n)).copy()
            assert not gradient(models, np.empty(0, dtype=np.intp)).any()
            some = gradient(models, np.arange(0, n, 2)).copy()
        sums.append((everything, some))
    for found, expected in zip(*sums, strict=True):
        assert np.abs(found - expected).max() <= 1e-13 * n
    assert np.abs(sums[0][0]).max() > 1.0


def test_huge_rows_are_scaled_as_numpy_scales_them() -> None:
    loss = Softmax(classes=4)
    X, y = records(loss)
    X[3], X[4] = 1e308, 0.0
    plan = plan_of(RUNS["full"], loss)
    ours = prepare(plan, X, y)
    found = last_iterate(plan, DeviceSource.of(plan, ours, CPU))
    assert np.abs(found - last_iterate(plan, LocalSource(ours))).max() <= CLOSE


def test_features_in_a_file_are_sent_block_by_block() -> None:
    loss = Softmax(classes=4)
    X, y = records(loss)
    X[5] = 1e308
    stored = on_disk(X.shape)
    stored[...] = X
    plan = plan_of(RUNS["shuffled"], loss)
    source = DeviceSource.of(plan, prepare(plan, stored, y), CPU)
    assert source.mapped
    assert source.held is None
    kept = last_iterate(plan, LocalSource(prepare(plan, X, y)))
    assert np.abs(last_iterate(plan, source) - kept).max() <= CLOSE


def test_a_device_centres_as_the_processor_does() -> None:
    loss = Softmax(classes=4)
    X, y = records(loss)
    run = with_sums(NoisyGD(n=len(X), steps=5, learning_rate=0.5, noise=0.1), 0.2, 0.3)
    plan = replace(plan_of(run, loss), bounds="composition", centred=True)
    ours = prepare(plan, X + 0.5, y)
    found = descend_on(plan, DeviceSource.of(plan, ours, CPU))
    assert np.abs(found).max() > 0.05
    assert np.abs(found - descend_on(plan, LocalSource(ours))).max() <= plan.grid


def test_on_the_processor_features_stay_where_they_are() -> None:
    X, y = records(LOSSES[0])
    plan = plan_of(RUNS["full"], LOSSES[0])
    source = source_of(plan, prepare(plan, X, y), CPU, threads=3)
    assert isinstance(source, LocalSource)
    assert source.records.rows.features is X
    assert source.threads == 3


def test_what_is_left_on_a_device_is_overwritten() -> None:
    X, y = records(LOSSES[0])
    plan = plan_of(RUNS["full"], LOSSES[0])
    source = DeviceSource.of(plan, prepare(plan, X, y), CPU)
    models = np.ones((1, 1, X.shape[1] + 1))
    with source.gradient(plan, models) as gradient:
        out = gradient(models, slice(0, 10))
        assert out.any()
    assert not out.any()


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("mps", "does not compute in float64"),
        ("meta", "does not compute in float64"),
        ("abacus", "is no device of this PyTorch"),
    ],
)
def test_a_device_without_float64_is_refused_with_the_reason(device: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        usable_device(device)


class Foreign(Loss):
    """A loss of a user's, whose residuals are written for arrays of NumPy."""

    outputs, slope, curvature = 1, 1.0, 1.0

    def targets(self, y: Any) -> Any:
        return Logistic().targets(y)

    def residuals(self, z: Any, targets: Any, limits: Any) -> None:
        np.tanh(z, out=z)


def test_a_loss_that_takes_no_tensors_is_refused_with_the_cure() -> None:
    X, y = records(Logistic())
    plan = plan_of(RUNS["full"], Foreign())
    with pytest.raises(InvalidInput, match="Foreign' is not written for devices"):
        DeviceSource.of(plan, prepare(plan, X, y), CPU)
