"""Stacks of models: each is the run that it would be alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training import Plan, Seeded, Softmax, descend, descend_stacked
from shiftdp.training.descent.batches import TrainingRun

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


def alone(plan: Plan, X: Any, y: Any, runs: int) -> Any:
    assert isinstance(plan.entropy, Seeded)
    return np.stack(
        [descend(replace(plan, entropy=source), X, y) for source in plan.entropy.several(runs)]
    )


@pytest.mark.parametrize("run", FIXED + DRAWN, ids=lambda run: type(run).__name__)
@pytest.mark.parametrize("clipping", ["envelope", "uncertified"])
@pytest.mark.parametrize("sparse", [False, True])
def test_each_is_the_run_that_it_would_be_alone(
    run: TrainingRun, clipping: str, sparse: bool
) -> None:
    plan = planned(run, clipping=clipping)
    X, y = data(0.3, np.float32, sparse)
    expected = alone(plan, X, y, 5)
    # a rounding more or less may lead to the next point of the grid
    assert np.abs(descend_stacked(plan, X, y, 5) - expected).max() <= plan.grid


def test_steps_of_all_runs_are_counted() -> None:
    X, y = data(0.3, np.float64)
    told: list[tuple[int, int]] = []
    for run, products in ((FIXED[1], 1), (DRAWN[0], 7)):
        descend_stacked(planned(run), X, y, 7, progress=lambda *step: told.append(step))
        total = products * run.steps
        assert told == [(step, total) for step in range(1, total + 1)]
        told.clear()
