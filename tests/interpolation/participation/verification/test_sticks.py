"""The check of laws by broken sticks: honest ones pass, and all others are refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import Geometry, NoisySGD, VerificationFailed
from shiftdp.interpolation.participation.law import ParticipationLaw
from shiftdp.interpolation.participation.sticks import Sticks
from shiftdp.interpolation.participation.verification.claims import verify_sticks
from shiftdp.interpolation.participation.verification.sticks import proved_sticks
from shiftdp.last_iterate.schedules.participation import participation_law
from shiftdp.last_iterate.theorems.sampled.shifts import StepArrays
from tests.interpolation.participation.patterns import all_patterns


def claim(p: float, t: int, delta: float) -> tuple[ParticipationLaw, Sticks]:
    """As it stands in a certificate: in few values, with room for other roundings."""
    steps = StepArrays(p, 1.0, 1.0, 1.0, 1.0, math.inf, t)
    run = NoisySGD(n=10**6, batch_size=round(10**6 * p), steps=t, learning_rate=1.0, noise=1.0)
    law, sticks = participation_law(
        run, Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0), steps,
        contracting=True, followed=t, delta=delta,
    )  # fmt: skip
    assert isinstance(sticks, Sticks)
    return law, sticks


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-12])
@pytest.mark.parametrize(("p", "t"), [(0.3, 16), (0.001, 60), (0.05, 257), (0.8, 40)])
def test_what_the_engine_finds_is_proved(p: float, t: int, delta: float) -> None:
    law, sticks = claim(p, t, delta)
    verify_sticks(p, t, law=law, sticks=sticks, delta=delta, scale=1.0)


@pytest.mark.parametrize(
    ("p", "t", "delta"),
    [
        (1 / 32, 18, 9.6e-5), (1 / 12, 18, 2.1e-3),  # rises that an engine leaves out wrap around
        (1.0, 20, 1e-5), (1.0 - 1e-6, 30, 1e-5),
        (0.001, 60, 1e-150), (2e-6, 39, 1e-200), (0.3, 16, 1e-290),
    ],
)  # fmt: skip
def test_corners_of_the_range_are_proved(p: float, t: int, delta: float) -> None:
    law, sticks = claim(p, t, delta)
    verify_sticks(p, t, law=law, sticks=sticks, delta=delta, scale=1.0)


@settings(max_examples=25)
@given(
    p=st.floats(1e-3, 0.95),
    t=st.integers(1, 8),
    mesh=st.floats(1e-4, 0.3),
    tilt=st.floats(0.01, 4.0),
    last=st.floats(0.01, 6.0),
)
def test_whatever_lattice_is_given_no_pattern_is_above_what_is_proved(
    p: float, t: int, mesh: float, tilt: float, last: float
) -> None:
    sticks = Sticks(mesh, 256, min(tilt, 500.0 / (256 * mesh)), min(last, 500.0 / (256 * mesh)))
    at, proved = proved_sticks(p, t, sticks, 1e-5)
    ones = np.ones(t)
    mu, chance = all_patterns(p * ones, ones, ones, ones)
    for value in mu:
        place = int(np.searchsorted(at, value * (1.0 - 1e-13), side="left"))
        assert math.fsum(chance[mu >= value * (1.0 - 1e-12)]) <= proved[place] * (1.0 + 1e-12)


def test_a_thousand_steps_are_proved() -> None:
    law, sticks = claim(0.02, 1000, 1e-5)
    verify_sticks(0.02, 1000, law=law, sticks=sticks, delta=1e-5, scale=1.0)


def test_laws_that_claim_less_are_refused() -> None:
    law, sticks = claim(0.02, 300, 1e-5)
    smaller = ParticipationLaw(tuple(mu * 0.99 for mu in law.mu), law.weight)
    lower = np.array(law.weight)
    lower[-100:] *= 0.98
    lower[0] += 1.0 - lower.sum()
    for forged in (smaller, ParticipationLaw(law.mu, tuple(lower.tolist()))):
        with pytest.raises(VerificationFailed, match="the steps only prove"):
            verify_sticks(0.02, 300, law=forged, sticks=sticks, delta=1e-5, scale=1.0)
    with pytest.raises(VerificationFailed, match="the steps only prove"):
        verify_sticks(0.021, 300, law=law, sticks=sticks, delta=1e-5, scale=1.0)
    with pytest.raises(VerificationFailed, match="the steps only prove"):
        verify_sticks(0.02, 306, law=law, sticks=sticks, delta=1e-5, scale=1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"mesh": 0.0}, {"mesh": math.nan}, {"mesh": 10.0}, {"mesh": 1e-9}, {"cells": 1},
        {"cells": 1 << 20}, {"tilt": -1.0}, {"tilt": 1e9}, {"last": math.inf}, {"last": 1e-9},
        {"cells": 5001}, {"tilt": 30.0}, {"tilt": 1e-200, "mesh": 1e-200}, {"mesh": 1e300},
    ],
)  # fmt: skip
def test_lattices_that_prove_nothing_are_refused(change: dict[str, Any]) -> None:
    law, sticks = claim(0.02, 300, 1e-5)
    with pytest.raises(VerificationFailed):
        verify_sticks(0.02, 300, law=law, sticks=replace(sticks, **change), delta=1e-5)


def test_too_many_participations_are_refused_before_any_work() -> None:
    sticks = Sticks(0.1, 1024, 0.1, 0.2)
    with pytest.raises(ValueError, match="too many participations"):
        proved_sticks(0.6, 4000, sticks, 1e-5)


@pytest.mark.parametrize(
    "sticks",
    [
        Sticks(4.0, 2, 2.4, 10.8), Sticks(0.011, 256, 0.024, 171.0), Sticks(0.09, 16, 0.32, 49.0),
        Sticks(1.2, 256, 1.9, 0.5), Sticks(0.3, 1024, 1.9, 0.5),
    ],
)  # fmt: skip
def test_where_numbers_overflow_nothing_is_proved(sticks: Sticks) -> None:
    """A law of a record that is hardly ever drawn, for one that almost always is."""
    forged = ParticipationLaw((0.0, 18.0), (0.999, 0.001))
    with pytest.raises(VerificationFailed):
        verify_sticks(0.999, 300, law=forged, sticks=sticks, delta=1e-5, scale=1.0)


def test_tables_that_need_much_memory_are_refused_before_any_work() -> None:
    with pytest.raises(ValueError, match="too many steps or cells"):
        proved_sticks(0.01, 4096, Sticks(0.01, 1 << 13, 0.1, 0.2), 1e-5)
