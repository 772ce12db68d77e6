"""Features that are computed again in each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from shiftdp import InvalidInput, NoisyGD
from shiftdp.last_iterate.sum_rounding import CHUNK
from shiftdp.training import Softmax, TrainingStopped
from shiftdp.training.descent.gradient import LocalSource
from shiftdp.training.descent.loop import descend_on
from shiftdp.training.descent.records import prepare
from shiftdp.training.heads.data import gathered
from shiftdp.training.heads.loaders import reader_of
from shiftdp.training.heads.recomputed import RecomputedSource, first_of
from tests.training.heads.examples import RUNS, Network, last_iterate, plan_of, records

CPU = torch.device("cpu")
LOSS = Softmax(classes=4)


def tensors(kind: Any = np.float32, n: int = 90) -> TensorDataset:
    X, y = records(LOSS, n, kind)
    return TensorDataset(torch.from_numpy(X), torch.from_numpy(y))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_it_gives_the_iterates_of_features_that_are_kept(run: Any) -> None:
    data, network = DataLoader(tensors(), batch_size=7, shuffle=True), Network()
    plan = plan_of(run, LOSS, clipping="envelope", clip=0.6)
    reader = reader_of(data, backbone=network)
    X, y = gathered(reader, cache=True)
    kept = last_iterate(plan, LocalSource(prepare(plan, X, y)))
    again = last_iterate(plan, RecomputedSource.of(plan, reader, CPU))
    # products of a float32 network may round differently in batches of another size
    assert np.abs(again - kept).max() <= 1e-5
    assert np.abs(kept).max() > 0.05


def test_without_a_network_sums_are_equal_to_rounding_beyond_a_chunk() -> None:
    n = CHUNK + 50
    data = tensors(np.float64, n)
    plan = plan_of(NoisyGD(n=n, steps=2, learning_rate=0.1, noise=1.0), LOSS)
    reader = reader_of(data)
    X, y = gathered(reader, cache=True)
    kept = last_iterate(plan, LocalSource(prepare(plan, X, y)))
    again = last_iterate(plan, RecomputedSource.of(plan, reader, CPU))
    assert np.abs(again - kept).max() <= 1e-12


def test_the_network_is_asked_for_the_batch_of_each_step_and_no_more() -> None:
    network = Network()
    plan = plan_of(RUNS["fixed"], LOSS)
    source = RecomputedSource.of(plan, reader_of(tensors(), backbone=network), CPU)
    before = network.calls
    descend_on(plan, source)
    assert network.calls - before == plan.run.steps


class Growing(nn.Module):
    """Features that are ten times as long whenever they are asked for again."""

    factor = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


def test_rows_are_bounded_by_the_lengths_that_they_have_now() -> None:
    network, plan = Growing(), plan_of(RUNS["full"], LOSS)
    source = RecomputedSource.of(plan, reader_of(tensors(), backbone=network), CPU)
    models = np.ones((1, 4, 6))
    network.factor = 1e6
    with source.gradient(plan, models) as gradient:
        total = gradient(models, slice(3, 4)).copy()
    assert 0.0 < np.linalg.norm(total) <= plan.gradient_bound


def test_features_that_are_not_finite_later_end_the_run() -> None:
    network, plan = Growing(), plan_of(RUNS["full"], LOSS)
    source = RecomputedSource.of(plan, reader_of(tensors(), backbone=network), CPU)
    network.factor = float("inf")
    with pytest.raises(TrainingStopped, match="nothing was released"):
        descend_on(plan, source)


def test_what_is_wrong_is_refused_before_the_run() -> None:
    X, y = records(LOSS)
    y[50] = 9
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    with pytest.raises(InvalidInput, match="labels outside"):
        RecomputedSource.of(plan_of(RUNS["full"], LOSS), reader_of(data), CPU)


class Passing(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


def test_records_that_come_once_cannot_be_read_again() -> None:
    with pytest.raises(InvalidInput, match="give cache=True"):
        first_of(reader_of(DataLoader(Passing(), batch_size=2)))
    with pytest.raises(InvalidInput, match="is empty"):
        first_of(reader_of(TensorDataset(torch.empty(0, 3), torch.empty(0))))
