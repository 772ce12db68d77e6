"""Projected walks: Gaussians where the walls are far, less where they are near, never too much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import GaussianTradeoff, Geometry, NoisyCGD, NoisyGD, Unlearning, certify
from shiftdp.trials.exact.walled import walled_epsilon
from tests.trials.exact.laws import kept

DELTA = 1e-4
TURNS: dict[str, Any] = {"n": 6, "batch_size": 2, "learning_rate": 0.5, "noise": 1.0}


def losses(diameter: float) -> Geometry:
    return Geometry(strong_convexity=0.0, smoothness=0.0, sensitivity=4.0, diameter=diameter)


@pytest.mark.parametrize("further", [0, 2])
def test_far_walls_hide_nothing(further: int) -> None:
    """Visits at steps 3 and 6. A walk that begins at a wall has lost some of its early noise to it,
    so that it shows the visits better than one without walls; the certificate knows."""
    run: Any = NoisyCGD(**TURNS, epochs=2)
    if further:
        run = Unlearning(training=run, further_steps=further)
    mu = kept(1.0, 0.5, 1.0, 2.0, (3, 6), 6 + further)
    found = walled_epsilon(run, losses(15.0), DELTA)
    assert found is not None
    assert GaussianTradeoff(mu).epsilon(DELTA) < found <= certify(run, losses(15.0)).epsilon(DELTA)


def test_near_walls_hide() -> None:
    run = NoisyGD(n=2, steps=40, learning_rate=0.5, noise=1.0)
    near, far = (walled_epsilon(run, losses(D), DELTA) for D in (1.0, 6.0))
    assert near is not None
    assert far is not None
    assert 0.0 < near < far


def test_it_never_exceeds_a_certificate() -> None:
    rng = np.random.default_rng(1)
    for _ in range(6):
        run = NoisyCGD(
            n=6,
            batch_size=int(rng.integers(1, 7)),
            epochs=int(rng.integers(1, 8)),
            learning_rate=float(rng.uniform(0.1, 0.5)),
            noise=float(rng.uniform(0.5, 2.0)),
        )
        geometry = Geometry(
            strong_convexity=float(rng.choice([0.0, 0.3])),
            smoothness=2.0,
            sensitivity=2.0,
            diameter=float(rng.uniform(0.3, 3.0)),
        )
        found = walled_epsilon(run, geometry, DELTA)
        assert found is not None
        assert found <= certify(run, geometry).epsilon(DELTA)


def test_none_where_order_is_random_or_nothing_bounds_the_set() -> None:
    shuffled = NoisyCGD(**TURNS, epochs=2, order="reshuffled")
    assert walled_epsilon(shuffled, losses(1.0), DELTA) is None
    unbounded = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0)
    assert walled_epsilon(NoisyCGD(**TURNS, epochs=2), unbounded, DELTA) is None
