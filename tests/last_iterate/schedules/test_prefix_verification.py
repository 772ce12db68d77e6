"""Steps that are claimed to be those of a run: each constant is compared, step by step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.last_iterate.schedules.prefix import prefix_law
from shiftdp.last_iterate.schedules.prefix_steps import ScheduledPrefix, prefix_steps
from shiftdp.last_iterate.schedules.prefix_verification import verify_scheduled_prefix
from shiftdp.last_iterate.theorems.prefix import PrefixProof

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
