"""Stacks of models: each is the run that it would be alone, compiled or not, in threads or not."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training import (
    Plan,
    Seeded,
    Softmax,
    TrainingStopped,
    descend,
    descend_stacked,
    fused,
    stacked,
)
from shiftdp.training import descent as descent_module
from shiftdp.training.batches import TrainingRun

N, D = 60, 7
FIXED: list[TrainingRun] = [
    NoisyGD(n=N, steps=5, learning_rate=0.3, noise=0.1),
    NoisyCGD(n=N, batch_size=25, epochs=2, learning_rate=0.2, noise=0.1),
]
DRAWN: list[TrainingRun] = [
    NoisyCGD(n=N, batch_size=20, epochs=2, learning_rate=0.2, noise=0.1, order="shuffled_once"),
    NoisySGD(n=N, batch_size=20, steps=4, learning_rate=0.1, noise=0.1, sampling="poisson"),
]


def planned(run: TrainingRun, **changes: Any) -> Plan:
    options: dict[str, Any] = {"clipping": "uncertified", "clip": 0.6, "l2": 0.1, **changes}
    loss = Softmax(classes=4)
    return Plan(run=run, loss=loss, feature_bound=2.0, entropy=Seeded(3), **options)


def data(zeros: float, dtype: type, sparse: bool = False) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X: Any = (rng.normal(size=(N, D)) * (rng.random((N, D)) >= zeros)).astype(dtype)
    return (sp.csr_array(X) if sparse else X), rng.integers(0, 4, N)


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is many, and there are three cores."""
    monkeypatch.setattr(descent_module, "_MANY", 0)
    monkeypatch.setattr(descent_module, "cores", lambda: 3)


@pytest.fixture
def compiling(in_threads: None, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """... and all work is worth being compiled: what sums have been used says the list."""
    used: list[bool] = []
    monkeypatch.setattr(fused, "_WORTHWHILE", 0)
    monkeypatch.setattr(stacked, "_THIN_BLOCK", 6)
    monkeypatch.setattr(stacked, "_DENSE_BLOCK", 11)
    chosen = stacked.gradient_sum

    def watched(*arguments: Any, **options: Any) -> Any:
        found = chosen(*arguments, **options)
        used.append(isinstance(found, stacked.StackedSum))
        return found

    monkeypatch.setattr(descent_module, "gradient_sum", watched)
    return used


def alone(plan: Plan, X: Any, y: Any, runs: int) -> Any:
    assert isinstance(plan.entropy, Seeded)
    return np.stack(
        [descend(replace(plan, entropy=source), X, y) for source in plan.entropy.several(runs)]
    )


@pytest.mark.parametrize("run", FIXED + DRAWN, ids=lambda run: type(run).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_is_the_run_that_it_would_be_alone(
    in_threads: None, run: TrainingRun, dtype: type
) -> None:
    plan = planned(run, clipping="envelope")
    X, y = data(0.3, dtype)
    expected = alone(plan, X, y, 5)
    # a rounding more or less may lead to the next point of the grid
    assert np.abs(descend_stacked(plan, X, y, 5) - expected).max() <= plan.grid


@pytest.mark.parametrize("run", FIXED, ids=lambda run: type(run).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("zeros", "sparse"), [(0.8, False), (0.0, False), (0.8, True)], ids=["thin", "dense", "CSR"]
)
@pytest.mark.parametrize(
    "changes",
    [{}, {"clipping": "none", "clip": None}, {"intercept": False}],
    ids=["clipped", "unclipped", "without intercept"],
)
def test_compiled(
    compiling: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    run: TrainingRun,
    dtype: type,
    zeros: float,
    sparse: bool,
    changes: dict[str, Any],
) -> None:
    plan = planned(run, **changes)
    X, y = data(zeros, dtype, sparse)
    found = descend_stacked(plan, X, y, 7)
    assert used_by(compiling) == {True}
    monkeypatch.setattr(fused, "_WORTHWHILE", float("inf"))
    expected = alone(plan, X, y, 7)
    assert used_by(compiling) == {True, False}
    assert np.abs(found - expected).max() <= plan.grid


def used_by(compiling: list[bool]) -> set[bool]:
    return set(compiling)


@pytest.mark.parametrize("run", FIXED + DRAWN, ids=lambda run: type(run).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("runs", [1, 4])
def test_other_runs_are_compiled_between_their_products(
    compiling: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    run: TrainingRun,
    dtype: type,
    runs: int,
) -> None:
    """One run, runs that draw their batches, and stacks where there is one core."""
    monkeypatch.setattr(descent_module, "cores", lambda: 1)
    plan = planned(run)
    X, y = data(0.5, dtype)
    found = descend_stacked(plan, X, y, runs)
    monkeypatch.setattr(fused, "_WORTHWHILE", float("inf"))
    assert np.abs(found - descend_stacked(plan, X, y, runs)).max() <= plan.grid
    assert used_by(compiling) == {False}


def test_envelopes_are_solved_for_and_not_compiled(compiling: list[bool]) -> None:
    plan = planned(FIXED[1], clipping="envelope")
    X, y = data(0.8, np.float32)
    assert np.abs(descend_stacked(plan, X, y, 3) - alone(plan, X, y, 3)).max() <= plan.grid
    assert used_by(compiling) == {False}


def test_steps_of_all_threads_are_counted(in_threads: None) -> None:
    X, y = data(0.3, np.float64)
    told: list[tuple[int, int]] = []
    for run, products in ((FIXED[1], 3), (DRAWN[0], 7)):
        descend_stacked(planned(run), X, y, 7, progress=lambda *step: told.append(step))
        total = products * run.steps
        assert told == [(step, total) for step in range(1, total + 1)]
        told.clear()


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_one_that_stops_ends_all(in_threads: None, kind: type[BaseException]) -> None:
    X, y = data(0.3, np.float64)
    run = NoisyCGD(n=N, batch_size=25, epochs=2_000, learning_rate=0.2, noise=0.1)
    told: list[int] = []

    def stop(step: int, steps: int) -> None:
        told.append(step)
        if step == 10:
            raise kind

    before = threading.active_count()
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(kind if kind is KeyboardInterrupt else TrainingStopped):
            descend_stacked(planned(run), X, y, 6, progress=stop)
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}
    assert threading.active_count() == before
    assert len(told) < 100
