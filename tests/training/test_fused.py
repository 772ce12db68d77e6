"""The compiled pass against the calls of NumPy: the same sums, records and refusals."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import NoisyGD, NoisySGD
from shiftdp.training import (
    ClippedSquared,
    Huber,
    Logistic,
    Loss,
    Plan,
    Seeded,
    SmoothedHinge,
    Softmax,
    descend,
)
from shiftdp.training import gradient as gradient_module
from shiftdp.training.fused import fused_sum

LOSSES: list[Loss] = [
    Logistic(),
    SmoothedHinge(width=0.5),
    Huber(width=0.7),
    ClippedSquared(residual_bound=1.3),
    ClippedSquared(),
]


def plain(loss: Loss, X: Any, t: Any, limits: Any, scales: Any, w: Any, b: float) -> Any:
    """The sums by the loss's own residuals, in double precision."""
    X, t, limits, scales, w = (np.asarray(a, np.float64) for a in (X, t, limits, scales, w))
    z = X @ w
    z = (z * scales if scales.size else z) + b
    g = z[None, :]
    loss.residuals(g, t, limits if limits.size else None)
    g = g[0]
    return (g * scales if scales.size else g) @ X, g.sum()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(
    n=st.integers(1, 700),
    d=st.integers(1, 40),
    clipped=st.booleans(),
    scaled=st.booleans(),
    single=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_sums(
    loss: Loss, n: int, d: int, clipped: bool, scaled: bool, single: bool, seed: int
) -> None:
    rng, dtype = np.random.default_rng(seed), np.float32 if single else np.float64
    X, w = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=d).astype(dtype)
    y = rng.integers(0, 2, n)
    t = loss.targets(y, np.dtype(dtype))
    nothing = np.empty(0, dtype)
    limits = rng.uniform(0.1, 0.9, n).astype(dtype) if clipped else nothing
    scales = rng.uniform(0.2, 1.0, n).astype(dtype) if scaled else nothing
    fused, out = fused_sum(loss, math.inf), np.full(d, np.nan, dtype)
    assert fused is not None
    total = fused(X, t, limits, scales, w, 0.3, out)
    expected, whole = plain(loss, X, t, limits, scales, w, 0.3)
    # each record's score has d roundings, and curvature 1/h at most 2 passes them on
    unit = 6e-8 if single else 1.2e-16
    slack = 16 * unit * n * (d + 4) * (1.0 + np.abs(X).max()) ** 2 * (1.0 + np.abs(w).max())
    assert np.abs(out - expected).max() <= slack
    assert abs(total - whole) <= slack


def test_scores_beyond_all_bounds() -> None:
    fused, out = fused_sum(Logistic(), math.inf), np.empty(1)
    assert fused is not None
    nothing = np.empty(0)
    X, t = np.array([[1.0], [1.0]]), np.array([1.0, 0.0])
    for w, expected in ((1e4, 1.0), (-1e4, -1.0)):
        assert fused(X, t, nothing, nothing, np.array([w]), 0.0, out) == expected
        assert out[0] == expected


def test_other_losses_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fused_sum(Softmax(classes=3), math.inf) is None
    assert fused_sum(Logistic(), 1e6) is None  # not worth its while
    monkeypatch.setitem(sys.modules, "numba", None)  # as if it were not installed
    assert fused_sum(Logistic(), math.inf) is None


@pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
@pytest.mark.parametrize(
    "run",
    [
        NoisyGD(n=200, steps=4, learning_rate=0.3, noise=0.1),
        NoisySGD(n=200, batch_size=40, steps=4, learning_rate=0.1, noise=0.1, sampling="poisson"),
    ],
    ids=lambda run: type(run).__name__,
)
def test_training_with_it_and_without(
    monkeypatch: pytest.MonkeyPatch, loss: Loss, run: NoisyGD | NoisySGD
) -> None:
    rng = np.random.default_rng(0)
    X, y = 3.0 * rng.normal(size=(200, 6)), rng.integers(0, 2, 200)
    plan = Plan(
        run=run,
        loss=loss,
        feature_bound=1.5,
        clipping="envelope",
        clip=0.6,
        l2=0.1,
        entropy=Seeded(3),
    )
    monkeypatch.setattr(gradient_module, "_LARGE", 0)
    used: list[bool] = []

    def watched(loss: Loss, work: float) -> Any:
        found = fused_sum(loss, math.inf)
        used.append(found is not None)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(gradient_module, "fused_sum", watched)
        compiled = descend(plan, X, y)
    assert used == [True]
    monkeypatch.setattr(gradient_module, "fused_sum", lambda loss, work: None)
    assert np.abs(descend(plan, X, y) - compiled).max() <= plan.grid
