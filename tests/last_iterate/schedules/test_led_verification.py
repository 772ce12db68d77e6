"""The check of payments, against exact arithmetic and against payments that fall short."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftdp as sdp
from shiftdp.last_iterate.schedules.led_together import grouped_payments
from shiftdp.last_iterate.schedules.led_verification import meeting_starts, verify_scheduled_prefix
from shiftdp.last_iterate.schedules.prefix import prefix_law
from shiftdp.last_iterate.schedules.prefix_steps import ScheduledPrefix, prefix_steps
from shiftdp.last_iterate.theorems.prefix import PrefixProof
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


RUN = sdp.NoisySGD(
    n=200,
    batch_size=10,
    steps=12,
    learning_rate=[0.3, 0.25, 0.2] * 4,
    noise=[1.0] * 9 + [2.0] * 3,
)
GEOMETRY = sdp.Geometry(strong_convexity=0.5, smoothness=2.0, sensitivity=10.0, diameter=3.0)
STEPS = cast(ScheduledPrefix, prefix_steps(RUN, GEOMETRY, None))
LAW = prefix_law(STEPS, 4, 0.01, 1e-5, most=5)
PROOF = PrefixProof(8, 0.01, LAW.values, LAW.weights, LAW.grid, STEPS.shifts(4, 2), 1e-2)


def test_the_steps_of_the_run_pass() -> None:
    verify_scheduled_prefix(RUN, GEOMETRY, STEPS, PROOF)


@pytest.mark.parametrize(
    ("name", "factor", "problem"),
    [("c", 1 - 1e-9, "contract"), ("apart", 1 - 1e-9, "moves more"), ("sd", 1 + 1e-9, "noise")],
)
@pytest.mark.parametrize("step", [0, 5, 11])
def test_no_constant_of_a_step_may_be_better(
    name: str, factor: float, problem: str, step: int
) -> None:
    part = np.array(getattr(STEPS, name))
    part[step] *= factor
    change: dict[str, Any] = {name: part}
    with pytest.raises(sdp.VerificationFailed, match=problem):
        verify_scheduled_prefix(RUN, GEOMETRY, replace(STEPS, **change), PROOF)


def test_the_set_may_not_be_smaller() -> None:
    smaller = replace(STEPS, listed=replace(STEPS.listed, diameter=0.999 * STEPS.listed.diameter))
    with pytest.raises(sdp.VerificationFailed, match="larger"):
        verify_scheduled_prefix(RUN, GEOMETRY, smaller, PROOF)
    with pytest.raises(sdp.VerificationFailed, match="bounded"):
        verify_scheduled_prefix(RUN, replace(GEOMETRY, diameter=math.inf), STEPS, PROOF)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tau": 0}, "tau"),
        ({"tau": 12}, "tau"),
        ({"tau": 7}, "groups"),
        ({"groups": ()}, "no shifts"),
        ({"groups": ((1.0, 4), (1.0, 0))}, "empty"),
        ({"groups": ((-1.0, 4),)}, "negative"),
        ({"groups": ((math.inf, 4),)}, "infinite"),
        ({"groups": tuple((a * (1 - 1e-9), n) for a, n in PROOF.groups)}, "together"),
        ({"cap": 20}, "batch cap"),
        ({"values": tuple(0.9 * z for z in PROOF.values)}, "tail|more than"),
    ],
)
def test_a_claim_that_does_not_hold_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(sdp.VerificationFailed, match=problem):
        verify_scheduled_prefix(RUN, GEOMETRY, STEPS, replace(PROOF, **change))


def test_batches_of_random_size_need_convex_losses_and_a_cap() -> None:
    poisson = replace(RUN, sampling="poisson")
    with pytest.raises(sdp.VerificationFailed, match="batch cap"):
        verify_scheduled_prefix(poisson, GEOMETRY, STEPS, PROOF)
    hollow = replace(GEOMETRY, strong_convexity=-0.5)
    with pytest.raises(sdp.VerificationFailed, match="convex"):
        verify_scheduled_prefix(poisson, hollow, STEPS, replace(PROOF, cap=20))


def test_a_rate_of_two_over_the_smoothness_counts_as_that() -> None:
    run = replace(RUN, learning_rate=(1.0,) * 12)  # 2/M in floats
    steps = prefix_steps(run, GEOMETRY, None)
    assert isinstance(steps, ScheduledPrefix)
    law = prefix_law(steps, 4, 0.0, 1e-5, most=5)
    proof = PrefixProof(8, 0.0, law.values, law.weights, law.grid, steps.shifts(4, 2), 1e-2)
    verify_scheduled_prefix(run, GEOMETRY, steps, proof)
