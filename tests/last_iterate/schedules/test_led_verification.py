"""The check of payments, against exact arithmetic and against payments that fall short."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp.last_iterate.schedules.led_together import grouped_payments
from shiftdp.last_iterate.schedules.led_verification import meeting_starts
from shiftdp.last_iterate.theorems.sampled.shifts import unequal_steps


def setting(seed: int, diameter: float, sampling: Any) -> tuple[sdp.NoisySGD, sdp.Geometry]:
    rng = np.random.default_rng(seed)
    t = int(rng.integers(3, 30))
    run = sdp.NoisySGD(
        n=100,
        batch_size=10,
        steps=t,
        learning_rate=rng.uniform(0.01, 1.0, t).tolist(),
        noise=rng.uniform(0.5, 3.0, t).tolist(),
        sampling=sampling,
    )
    m = float(rng.choice([0.0, 0.3, 1.0]))
    return run, sdp.Geometry(
        strong_convexity=m,
        smoothness=2.0,
        sensitivity=4.0,
        diameter=diameter,
        adjacency="zero_out" if sampling == "poisson" else "replace_one",
    )


@given(
    st.integers(0, 10**6),
    st.sampled_from([math.inf, 0.3, 5.0]),
    st.sampled_from(["without_replacement", "poisson"]),
)
def test_what_is_paid_in_full_is_accepted_and_what_is_not_is_refused(
    seed: int, diameter: float, sampling: Any
) -> None:
    run, geometry = setting(seed, diameter, sampling)
    cap = 25 if sampling == "poisson" else None
    steps = unequal_steps(run, geometry, cap)
    assert steps is not None
    count = max(1, run.steps // 2)
    tau = run.steps - count
    groups = grouped_payments(steps, count, 4)
    found = meeting_starts(run, geometry, tau, groups, cap)
    assert found
    from_diameter = steps.starts_from_diameter(tau)
    assert (count if from_diameter else run.steps) in found
    less = tuple((a * (1 - 1e-9), n) for a, n in groups)
    if any(a > 0.0 for a, _ in groups):
        assert not meeting_starts(run, geometry, tau, less, cap)


def test_the_distance_is_that_of_exact_arithmetic() -> None:
    """Payments just at, and just below, what fractions ask for in one step."""
    run = sdp.NoisySGD(n=10, batch_size=5, steps=3, learning_rate=[0.5, 0.25, 0.125],
                       noise=[1.0, 2.0, 4.0])  # fmt: skip
    geometry = sdp.Geometry(strong_convexity=1.0, smoothness=2.0, sensitivity=3.0)
    eta = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)]
    c = [max(abs(1 - e), abs(1 - 2 * e)) for e in eta]
    z = Fraction(0)
    for k in range(2):
        z = c[k] * z + eta[k] * Fraction(3, 5)
    exact = float(c[2] * z / Fraction(1, 2))
    for factor, meets in ((1 + 1e-13, True), (1 - 1e-13, False)):
        assert bool(meeting_starts(run, geometry, 2, ((exact * factor, 1),), None)) is meets


@pytest.mark.parametrize("rate", [1.0, 1.0 + 1e-16])
def test_a_learning_rate_of_two_over_smoothness_neither_contracts_nor_expands(rate: float) -> None:
    run = sdp.NoisySGD(n=10, batch_size=5, steps=2, learning_rate=[rate, rate], noise=1.0)
    geometry = sdp.Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=5.0)
    assert meeting_starts(run, geometry, 1, ((1.0 + 1e-13, 1),), None)
    assert not meeting_starts(run, geometry, 1, ((1.0 - 1e-13, 1),), None)
