"""The steps that Theorem B6 sees: units, what is refused, and where a search begins."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.last_iterate.schedules.prefix_steps import (
    EqualPrefix,
    PrefixSteps,
    ScheduledPrefix,
    prefix_steps,
)
from tests.last_iterate.theorems.test_hidden import setting


def listed(noise: list[float], c: float = 0.9, **more: Any) -> PrefixSteps:
    run, geometry = setting(0.05, 1.0, c, len(noise), noise=noise)
    return prefix_steps(run, replace(geometry, **more), None)


def test_distances_are_in_units_of_the_noise_of_the_last_step() -> None:
    steps = listed([1.0] * 20 + [4.0] * 5, diameter=2.0)
    assert isinstance(steps, ScheduledPrefix)
    assert steps.sd.tolist() == pytest.approx([0.25] * 20 + [1.0] * 5)
    assert steps.apart.tolist() == pytest.approx([0.25] * 25)
    assert steps.listed.diameter == pytest.approx(2.0 / (0.1 * 4.0))
    assert steps.listed.sensitivity.tolist() == pytest.approx([1.0] * 20 + [0.25] * 5)


def test_the_unit_does_not_matter() -> None:
    one, other = listed([1.0] * 20 + [2.0] * 5), listed([1e-9] * 20 + [2e-9] * 5)
    for (a, n), (b, m) in zip(one.shifts(8, 3), other.shifts(8, 3), strict=True):
        assert n == m
        assert a == pytest.approx(b, rel=1e-12)


def test_equal_steps_are_the_same_in_either_form() -> None:
    one, other = prefix_steps(*setting(0.05, 1.0, 0.9, 50), None), listed([1.0] * 50)
    assert isinstance(one, EqualPrefix)
    (K,) = one.usual()
    assert abs(K - other.usual()[0]) <= 1
    assert other.unit(K) == pytest.approx(one.unit(K), rel=0.1)
    assert other.bucket(K, 0.01).payments == pytest.approx(one.bucket(K, 0.01).payments, rel=1e-9)
    squares = [sum(n * a * a for a, n in steps.shifts(K, 6)) for steps in (one, other)]
    assert squares[1] == pytest.approx(squares[0], rel=0.02)


def test_shifts_lead_together_what_is_one_apart() -> None:
    noise = np.linspace(1.0, 3.0, 30).tolist()
    steps = listed(noise)
    assert isinstance(steps, ScheduledPrefix)
    for last in (1, 7, 29):
        groups = steps.shifts(last, 3)
        each = np.repeat([a for a, _ in groups], [n for _, n in groups])
        z = 1.0
        for c, sd, a in zip(steps.c[-last:], steps.sd[-last:], each, strict=True):
            z = float(c * z - a * sd)
        assert -1e-6 < z <= 0.0


def test_a_search_begins_at_the_cool_down_too() -> None:
    assert 6 in listed([1.0] * 94 + [2.0] * 6).usual()
    assert len(listed([1.0] * 100).usual()) == 1
    assert listed([1.0] * 100, c=1.0).usual() == (50,)


def test_what_forgets_too_little_is_refused() -> None:
    long = (1.0, *(2.0,) * 50_000)
    run, geometry = setting(0.05, 1.0, 1.0, len(long), noise=long)
    with pytest.raises(sdp.UnmetHypothesis, match="participations"):
        prefix_steps(run, geometry, None)
    with pytest.raises(sdp.UnmetHypothesis, match="decades"):
        listed([1e-35, 1.0, 1e35])
    poisson, sums = setting(0.05, 1.0, 0.9, 3, "poisson", adjacency="zero_out")
    steep = replace(sums, smoothness=2.0 / 0.1, strong_convexity=0.0)
    with pytest.raises(sdp.UnmetHypothesis, match="contraction"):
        prefix_steps(replace(poisson, noise=(1.0, 2.0, 3.0)), steep, 200)
    assert math.isfinite(prefix_steps(replace(poisson, noise=(1.0, 2.0, 3.0)), sums, 200).unit(1))


@pytest.mark.parametrize(
    ("p", "c", "t", "rival", "diameter", "crowded"),
    [
        (0.025, 0.9999, 20_000, 13.0, math.inf, True),  # 216 participations are felt
        (0.025, 0.9999, 20_000, 1.0, math.inf, False),  # Theorem B6 may better that
        (0.025, 0.9999, 20_000, 13.0, 1.0, False),  # distances are bounded
        (0.025, 0.99995, 10_000, 13.0, math.inf, False),  # hardly anything is forgotten
        (0.0025, 0.9999, 20_000, 13.0, math.inf, False),  # 22 participations
    ],
)
def test_where_very_many_participations_are_felt_theorem_b7_is_the_better(
    p: float, c: float, t: int, rival: float, diameter: float, crowded: bool
) -> None:
    run, geometry = setting(p, 1.0, c, t)
    steps = prefix_steps(run, replace(geometry, diameter=diameter), None)
    assert steps.crowded(rival) == crowded
    assert not listed([1.0] * 20 + [4.0] * 5).crowded(rival)
