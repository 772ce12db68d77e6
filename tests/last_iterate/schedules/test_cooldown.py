"""Cool-downs: the shape, what is refused, and that no shape of the same variance is better."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp import InvalidInput
from shiftdp.interpolation import Schedule, optimal_shifts


def test_the_last_steps_have_more_noise() -> None:
    assert sdp.cooldown(4, 2.0, last=1, factor=1.5) == (2.0, 2.0, 2.0, 3.0)
    assert sdp.cooldown(3, 2.0, last=0, factor=5) == (2.0, 2.0, 2.0)
    assert sdp.cooldown(3, 2.0, last=3, factor=2) == (4.0, 4.0, 4.0)
    assert sdp.cooldown(3, [1.0, 2.0, 3.0], last=2, factor=2) == (1.0, 4.0, 6.0)


@pytest.mark.parametrize(
    ("change", "name"),
    [({"last": 6}, "last"), ({"last": -1}, "last"), ({"last": 1.5}, "last"),
     ({"factor": 0.5}, "factor"), ({"factor": math.inf}, "factor"), ({"factor": 1e60}, "noise"),
     ({"steps": 0}, "steps"), ({"steps": math.inf}, "steps"),
     ({"noise": 0.0}, "noise"), ({"noise": [1.0] * 4}, "noise")],
)  # fmt: skip
def test_what_makes_no_schedule_is_refused(change: dict[str, Any], name: str) -> None:
    parts: dict[str, Any] = {"steps": 5, "noise": 1.0, "last": 2, "factor": 3.0, **change}
    with pytest.raises(InvalidInput) as caught:
        sdp.cooldown(**parts)
    assert caught.value.name == name


def mu(visited: np.ndarray, c: float, noise: np.ndarray) -> float:
    """Theorem B1 for one pattern of participation."""
    t = len(noise)
    return optimal_shifts(Schedule([c] * t, visited.tolist(), noise.tolist())).mu


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.9, 0.5]))
def test_no_other_shape_of_the_same_variance_costs_less(seed: int, c: float) -> None:
    """Theorem C1, pattern by pattern: variances between 1 and 9, any arrangement of them."""
    rng = np.random.default_rng(seed)
    t = int(rng.integers(2, 9))
    block = int(rng.integers(0, t + 1))
    best = np.square(sdp.cooldown(t, 1.0, last=block, factor=3))
    # any profile of the same sum between the two levels: averages of rearrangements of the best
    shares = rng.dirichlet(np.ones(3))
    other = sum(share * rng.permutation(best) for share in shares)
    visited = (rng.random(t) < 0.5) * rng.uniform(0.1, 2.0, t)
    assert mu(visited, c, np.sqrt(best)) <= mu(visited, c, np.sqrt(other)) * (1 + 1e-9)


@pytest.mark.parametrize("order", ["fixed", "reshuffled"])
def test_a_run_takes_it(order: Any) -> None:
    """Less than without it, and less than what the same variance costs when spread evenly."""
    geometry = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=20)
    shape: dict[str, Any] = {"n": 400, "batch_size": 20, "epochs": 3, "learning_rate": 1.0}

    def epsilon(noise: Any) -> float:
        run = sdp.NoisyCGD(**shape, noise=noise, order=order)
        return sdp.certify(run, geometry).epsilon(1e-5)

    cooled = sdp.cooldown(60, 1.0, last=5, factor=3)
    even = float(np.sqrt(np.mean(np.square(cooled))))
    assert epsilon(cooled) < epsilon(even) < epsilon(1.0)


def test_a_schedule_that_no_memory_holds_is_refused() -> None:
    with pytest.raises(InvalidInput, match="steps=9007199254740992 is more steps than"):
        sdp.cooldown(2**53, 1.0, last=3, factor=2.0)
