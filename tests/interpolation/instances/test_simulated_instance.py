"""The instance in the proof of Theorem B8 itself, run with and without the record.

Three coordinates carry the ages 1, 2 to 3 and 4 to 8. All records share a separable loss whose
curvatures have windows along the path; the record pushes along the axis of the block of each step.
"""

import math

import numpy as np
import pytest

from shiftdp._checks import Array

STEPS, P, S, RATE = 8, 0.3, 3.0, 1.0
BLOCKS = ((0, 1), (1, 3), (3, 8))
LARGEST, LEAST = 0.97, 0.03  # slopes strictly between 0 and 1, so m = 0 and M = 1 will do
CURVATURE, FAR, WINDOW = 0.3, 1e7, 60.0
PATH = FAR * (1.0 - RATE * CURVATURE) ** np.arange(STEPS + 1)
AGES = STEPS - np.arange(STEPS)
SLOPES = np.array([np.where(hi > AGES, LARGEST, LEAST) for _, hi in BLOCKS])
RETURN = float(np.min(-np.diff(PATH))) / 20.0  # kappa R: the length of a way back to h x


def shared_gradient(x: Array) -> Array:
    out = CURVATURE * x
    for k in range(STEPS):
        u = x - PATH[k]
        left = np.clip(1.0 - (np.abs(u) - WINDOW) / RETURN, 0.0, 1.0)
        bump = np.clip(u, -WINDOW, WINDOW) * left
        out += ((1.0 - SLOPES[:, k]) / RATE - CURVATURE) * bump
    return out


def pushed_by_record(x: Array) -> Array:
    """Minus the gradient of U, for b = 1: of size at most S everywhere."""
    out = np.zeros_like(x)
    for k in range(STEPS):
        axis = next(i for i, (lo, hi) in enumerate(BLOCKS) if lo < AGES[k] <= hi)
        z = (x - PATH[k]) / RETURN
        radius, along = np.linalg.norm(z, axis=1), z[:, axis]
        slope = np.abs(along) <= np.maximum(3.0 - radius, 0.0)
        fall = (radius < 3.0) & ~slope
        out[slope & (radius < 3.0), axis] += S
        out[fall] -= S * (np.sign(along) / np.maximum(radius, 1.0))[fall, None] * z[fall]
    return out


def deviations(draw: np.random.Generator, runs: int, *, record: bool) -> Array:
    """From the end of the noiseless path."""
    x = np.full((runs, len(BLOCKS)), PATH[0])
    for _ in range(STEPS):
        step = -shared_gradient(x)
        if record:
            step += (draw.random(runs) < P)[:, None] * pushed_by_record(x)
        x = x + RATE * step + draw.standard_normal(x.shape)
    return np.asarray(x - PATH[STEPS])


def test_the_last_iterate_has_the_law_of_the_theorem() -> None:
    draw, runs = np.random.default_rng(0), 20_000
    one, other = (deviations(draw, runs, record=record) for record in (True, False))
    for i, (lo, hi) in enumerate(BLOCKS):
        weight = np.append(1.0, np.cumprod(SLOPES[i, ::-1][:-1]))
        variance, jumps = float(np.sum(weight**2)), S * weight[lo:hi]
        spread = variance + P * (1 - P) * float(np.sum(jumps**2))
        five = 5.0 / math.sqrt(runs)
        assert np.mean(other[:, i]) == pytest.approx(0.0, abs=five * math.sqrt(variance))
        assert np.var(other[:, i]) == pytest.approx(variance, rel=1.5 * five)
        expected = P * float(np.sum(jumps))
        assert np.mean(one[:, i]) == pytest.approx(expected, abs=five * math.sqrt(spread))
        assert np.var(one[:, i]) == pytest.approx(spread, rel=1.5 * five)
    assert np.abs(np.corrcoef(one.T) - np.eye(len(BLOCKS))).max() < five


def test_the_push_of_the_record_is_bounded_everywhere() -> None:
    draw = np.random.default_rng(1)
    near = PATH[draw.integers(0, STEPS, 4000), None] + RETURN * 4.0 * draw.standard_normal(
        (4000, 3)
    )
    assert np.linalg.norm(pushed_by_record(near), axis=1).max() <= S * (1 + 1e-12)
