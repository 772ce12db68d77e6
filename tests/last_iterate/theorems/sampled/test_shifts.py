"""Shifts of Theorem B3: they lead the runs together, at little cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.last_iterate.theorems.sampled.shifts import (
    charged_steps,
    grouped_shifts,
    last_shift,
    refuse_adjacency,
    step_arrays,
    steps_of,
)

ALONE = sdp.Geometry(
    strong_convexity=0.3, smoothness=1.3, sensitivity=0.7, diameter=2, adjacency="zero_out"
)
PAIR = sdp.Geometry(strong_convexity=0.3, smoothness=1.3, sensitivity=0.7, gradient_bound=0.6)


def sampled(sampling: Any, **changes: Any) -> sdp.NoisySGD:
    given: dict[str, Any] = {"n": 30, "batch_size": 10, "steps": 6}
    given |= {"learning_rate": 0.1, "noise": 3.0, "sampling": sampling}
    return sdp.NoisySGD(**{**given, **changes})


RATES, NOISES = (0.1, 0.2, 0.2, 0.3, 0.7, 0.1), (1.0, 3.0, 1.1, 0.7, 0.2, 9.0)


@pytest.mark.parametrize("c", [0.0, 1e-3, 0.5, 0.99, 1 - 1e-9, 1.0, 1.001, 1.3])
@pytest.mark.parametrize("count", [1, 2, 7, 400])
@pytest.mark.parametrize("most", [1, 3, 8])
def test_shifts_lead_the_runs_together(c: float, count: int, most: int) -> None:
    """sum c^{t-k} a_k >= c^T z, in exact arithmetic, with little to spare."""
    for groups in (grouped_shifts(c, 2.0, count, most), last_shift(c, 2.0, count)):
        assert sum(n for _, n in groups) == count
        assert all(a >= 0.0 for a, _ in groups)
        z = Fraction(2)
        for a, n in groups:
            for _ in range(n):
                z = Fraction(c) * z - Fraction(a)
                z = z.limit_denominator(10**60)
        need = float(Fraction(c) ** count * 2) if c < 1 else 2.0 * c**count
        assert z <= 1e-50
        assert float(z) >= -1e-10 * max(need, 1e-300) - 1e-40


def test_more_groups_cost_less() -> None:
    def cost(most: int) -> float:
        return sum(n * a * a for a, n in grouped_shifts(0.99, 1.0, 500, most))

    best = 0.99**1000 / sum(0.99 ** (2 * j) for j in range(500))
    assert cost(1) > cost(3) > cost(6) > cost(12) > best
    assert cost(6) < 1.02 * best


@pytest.mark.parametrize(
    ("sampling", "geometry", "moved"),
    [("without_replacement", PAIR, 0.7), ("poisson", PAIR, 0.6), ("poisson", ALONE, 0.7),
     ("random_allocation", ALONE, 0.7)],
)  # fmt: skip
def test_steps_are_rounded_to_the_safe_side(
    sampling: Any, geometry: sdp.Geometry, moved: float
) -> None:
    """Every constant of every step against exact fractions."""
    run = sampled(sampling, learning_rate=RATES, noise=NOISES)
    cap = None if sampling == "without_replacement" else 17
    steps = step_arrays(run, geometry, cap)
    m, M = Fraction(geometry.strong_convexity), Fraction(geometry.smoothness)
    if cap is not None:
        M = m + (M - m) * cap / 10
    assert Fraction(steps.p) >= Fraction(1, 3)
    assert steps.p == pytest.approx(1 / 3)
    assert not steps.equal
    assert steps.diameter == geometry.diameter
    for k, (eta, sigma) in enumerate(zip(map(Fraction, RATES), map(Fraction, NOISES), strict=True)):
        exact = {
            "c": max(abs(1 - eta * m), abs(1 - eta * M)),
            "s": eta * Fraction(moved) / 10,
            "apart": eta * Fraction(geometry.sensitivity) / 10,
            "sd": eta * sigma,
        }
        for name, value in exact.items():
            found = Fraction(float(getattr(steps, name)[k]))
            off = found / value - 1
            assert 0 <= (-off if name == "sd" else off) < 1e-14


@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
def test_equal_steps_are_numbers_and_agree_with_arrays(sampling: Any) -> None:
    run = sampled(sampling)
    one, many = step_arrays(run, PAIR), step_arrays(sampled(sampling, noise=(3.0,) * 6), PAIR)
    assert one.equal
    for name in ("c", "s", "apart", "sd"):
        assert isinstance(getattr(one, name), float)
        assert np.array_equal(getattr(many, name), np.full(6, getattr(one, name)))
    if sampling == "poisson":
        assert step_arrays(run, PAIR, 20).c == steps_of(run, PAIR, 20).c


def test_a_step_is_charged_for_its_own_noise() -> None:
    run = sampled("poisson", learning_rate=RATES, noise=(1.0, 3.0, 1.0, 3.0, 3.0, 9.0))
    found = charged_steps(run, ALONE)
    assert [n for _, n in found] == [1, 3, 2]
    assert [s for s, _ in found] == pytest.approx([0.07 / 9, 0.07 / 3, 0.07])
    assert charged_steps(sampled("poisson"), ALONE) == ((steps_of(sampled("poisson"), ALONE).s, 6),)


def test_random_allocation_is_for_a_record_against_nothing() -> None:
    refuse_adjacency(sampled("random_allocation"), ALONE)
    with pytest.raises(sdp.UnmetHypothesis, match="adjacency='zero_out'"):
        refuse_adjacency(sampled("random_allocation"), PAIR)


def test_theorems_for_equal_steps_refuse_others() -> None:
    for name in ("learning_rate", "noise"):
        run = sampled("poisson", **{name: RATES})
        with pytest.raises(sdp.UnmetHypothesis, match=f"{name}='<6 entries>'.*for equal steps"):
            steps_of(run, ALONE)
