"""Linear recursions: every outcome of a small run listed, Theorem B5 where nothing is random."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from shiftdp import GaussianTradeoff, Geometry, LangevinMC, NoisyCGD, NoisyGD, NoisySGD, Unlearning
from shiftdp.last_iterate.attained import attained_epsilon
from shiftdp.trials.exact.linear import linear_epsilon
from tests.trials.exact.laws import epsilon_of_mixture, kept

DELTA = 1e-3
# m = M: the slope 0.8 and no other
QUADRATIC = Geometry(strong_convexity=0.5, smoothness=0.5, sensitivity=3.0)
SHAPE: dict[str, Any] = {"n": 6, "batch_size": 2, "learning_rate": 0.4, "noise": 1.0}


def near(found: float | None, exact: float) -> None:
    assert found is not None
    assert 0.99 * exact - 1e-3 < found <= exact + 1e-6


@pytest.mark.parametrize("epochs", [1, 2])
def test_reshuffled_batches(epochs: int) -> None:
    run = NoisyCGD(**SHAPE, epochs=epochs, order="reshuffled")
    shifts = [
        kept(0.8, 0.4, 1.0, 1.5, (3 * e + j for e, j in enumerate(places)), 3 * epochs)
        for places in product((1, 2, 3), repeat=epochs)
    ]
    near(linear_epsilon(run, QUADRATIC, DELTA), epsilon_of_mixture(shifts, DELTA))


def test_batches_shuffled_once_with_a_smaller_last_one() -> None:
    run = NoisyCGD(**{**SHAPE, "n": 5}, epochs=2, order="shuffled_once", last_batch="divide_by_b")
    shifts = [
        kept(0.8, 0.4, 1.0, 1.5, (j, 3 + j), 6) for j, size in ((1, 2), (2, 2), (3, 1))
        for _ in range(size)
    ]  # fmt: skip
    near(linear_epsilon(run, QUADRATIC, DELTA), epsilon_of_mixture(shifts, DELTA))


def test_sampled_batches_then_deletion() -> None:
    training = NoisySGD(**{**SHAPE, "n": 4}, steps=4)
    run = Unlearning(training=training, further_steps=2)
    shifts = [
        kept(0.8, 0.4, 1.0, 1.5, (k for k, used in enumerate(pattern, 1) if used), 6)
        for pattern in product((False, True), repeat=4)
    ]
    near(linear_epsilon(run, QUADRATIC, DELTA), epsilon_of_mixture(shifts, DELTA))


def test_poisson_with_two_records_a_person() -> None:
    losses = Geometry(strong_convexity=0.5, smoothness=0.5, sensitivity=1.5, adjacency="zero_out")
    run = NoisySGD(**{**SHAPE, "n": 4}, steps=2, sampling="poisson", records_per_person=2)
    shifts = [
        kept(0.8, 0.4, 1.0, 0.75, (1,) * a + (2,) * b, 2)
        for a, b in product((0, 1, 1, 2), repeat=2)
    ]
    near(linear_epsilon(run, losses, DELTA), epsilon_of_mixture(shifts, DELTA))


def test_releases_at_the_ends_of_epochs_are_independent_pairs() -> None:
    """One epoch of one batch each: two Gaussian releases, whose squares of mu add up."""
    run = NoisyGD(n=2, steps=2, learning_rate=0.4, noise=1.0, releases="all")
    near(linear_epsilon(run, QUADRATIC, DELTA), GaussianTradeoff(1.5 * math.sqrt(2)).epsilon(DELTA))


def test_zero_out_of_full_batches_is_gaussian() -> None:
    losses = Geometry(strong_convexity=0.5, smoothness=4, sensitivity=3.0, adjacency="zero_out")
    run = NoisyGD(n=2, steps=5, learning_rate=0.4, noise=1.0)
    mu = kept(0.8, 0.4, 1.0, 1.5, range(1, 6), 5)
    near(linear_epsilon(run, losses, DELTA), GaussianTradeoff(mu).epsilon(DELTA))


@pytest.mark.parametrize("position", ["gd", "cgd"])
def test_it_is_never_above_theorem_b5_and_may_equal_it(position: str) -> None:
    losses = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)
    run: Any = NoisyGD(n=3, steps=6, learning_rate=0.4, noise=1.0)
    if position == "cgd":
        run = NoisyCGD(**SHAPE, epochs=3)
    best, found = attained_epsilon(run, losses, DELTA), linear_epsilon(run, losses, DELTA)
    assert best is not None
    assert found is not None
    assert found <= best * (1.0 + 1e-9)
    if position == "gd":
        assert found == pytest.approx(best, rel=1e-6)


def test_the_stationary_law_of_the_chain_is_the_limit_of_long_ones() -> None:
    losses = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=1.0)
    endless = linear_epsilon(LangevinMC(steps=math.inf, learning_rate=0.2), losses, DELTA)
    long = linear_epsilon(LangevinMC(steps=400, learning_rate=0.2), losses, DELTA)
    assert endless == pytest.approx(long, rel=1e-6)


@pytest.mark.parametrize(
    ("run", "losses"),
    [
        (NoisyGD(n=2, steps=2, learning_rate=0.4, noise=1.0),
         Geometry(strong_convexity=0, smoothness=1, sensitivity=1, diameter=1)),
        (NoisySGD(**SHAPE, steps=2, sampling="poisson"), QUADRATIC),
        (NoisyGD(n=2, steps=10**6, learning_rate=0.4, noise=1.0), QUADRATIC),
        (NoisyGD(n=2, steps=2, learning_rate=0.4, noise=1.0),
         Geometry(strong_convexity=3, smoothness=4, sensitivity=1)),
    ],
    ids=["walls", "poisson without G", "too long", "negative slopes"],
)  # fmt: skip
def test_none_where_no_instance_is_known(run: Any, losses: Geometry) -> None:
    assert linear_epsilon(run, losses, DELTA) is None


def test_it_never_exceeds_a_certificate_of_random_runs() -> None:
    from shiftdp import certify

    rng = np.random.default_rng(0)
    for _ in range(12):
        order = rng.choice(["fixed", "shuffled_once", "reshuffled"])
        run = NoisyCGD(
            n=int(rng.integers(4, 12)),
            batch_size=int(rng.integers(1, 5)),
            epochs=int(rng.integers(1, 4)),
            learning_rate=float(rng.uniform(0.05, 0.5)),
            noise=float(rng.uniform(0.5, 3.0)),
            order=str(order),  # type: ignore[arg-type]
            last_batch="divide_by_b",
        )
        losses = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=2.0)
        found = linear_epsilon(run, losses, DELTA)
        assert found is not None
        assert found <= certify(run, losses).epsilon(DELTA)
