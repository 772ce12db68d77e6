"""The loop written record by record in double precision: what `descend` must agree with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp.training import Plan
from shiftdp.training.descent.batches import batches
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.losses.base import scale_to_limits


def naive(plan: Plan, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """The last iterate before it is rounded to the grid, one gradient after another."""
    rows = []
    for row in X.astype(np.float64):
        norm = np.linalg.norm(row)
        scaled = row * min(1.0, plan.feature_bound / norm) if norm else row
        rows.append(np.append(scaled, 1.0) if plan.intercept else scaled)
    targets = plan.loss.targets(y)
    outputs, columns = plan.loss.outputs, rows[0].size
    w = np.zeros((outputs, columns))
    if plan.projection is not None:
        w = plan.projection.project(w.reshape(1, -1)).reshape(w.shape)
    noise = iter(_noise(plan, outputs, columns))
    run = plan.run
    for step, batch in enumerate(batches(run, plan.entropy.open("batches"))):
        total = np.zeros_like(w)
        for i in np.arange(run.n)[batch.rows]:
            total += _gradient(plan, w, rows[i], targets[i : i + 1])
        eta, sigma = (
            value if isinstance(value, float) else value[step]
            for value in (run.learning_rate, run.noise)
        )
        w = w - eta * (total / batch.divisor + plan.l2 * w)
        if sigma:
            w -= eta * sigma * next(noise)
        if plan.projection is not None:
            w = plan.projection.project(w.reshape(1, -1)).reshape(w.shape)
    return w


def _gradient(
    plan: Plan, w: NDArray[np.float64], x: NDArray[np.float64], target: NDArray[Any]
) -> NDArray[np.float64]:
    g = (w @ x)[:, None]
    norm = float(np.linalg.norm(x))
    limits = None if plan.clip is None or norm == 0 else np.array([plan.clip / norm])
    if plan.clipping in ("plain", "uncertified") and limits is not None:
        plan.loss.residuals(g, target, None)
        scale_to_limits(g, limits)
    else:
        plan.loss.residuals(g, target, limits)
    gradient = np.outer(g[:, 0], x)
    assert np.linalg.norm(gradient) <= plan.gradient_bound * (1 + 1e-12)
    return gradient


def _noise(plan: Plan, outputs: int, columns: int) -> list[NDArray[np.float64]]:
    """In the order in which the loop uses it, of steps with noise: all weights, then intercepts."""
    stream: Stream = plan.entropy.open("noise")
    features = columns - plan.intercept
    steps = []
    flat = np.empty((plan.run.steps, outputs * columns))
    stream.fill(flat)
    for row in flat:
        parts = [row[: outputs * features].reshape(outputs, features)]
        if plan.intercept:
            parts.append(row[outputs * features :].reshape(outputs, 1))
        steps.append(np.concatenate(parts, axis=1))
    return steps
