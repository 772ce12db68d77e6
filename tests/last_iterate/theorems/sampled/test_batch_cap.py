"""How likely a Poisson batch is too large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.last_iterate.theorems.sampled.batch_cap import (
    affordable_cap,
    cap_failure,
    choose_cap,
    tail_probability,
)
from shiftdp.last_iterate.theorems.sampled.shifts import step_arrays


@pytest.mark.parametrize(
    ("n", "p", "at_least"),
    [(100, 0.1, 25), (9999, 0.01, 175), (10**6, 1e-3, 1300), (50, 0.3, 40), (50, 0.3, 50)],
)
def test_the_tail_is_that_of_the_binomial_law(n: int, p: float, at_least: int) -> None:
    from scipy.stats import binom

    exact = float(binom.sf(at_least - 1, n, p))
    assert exact <= tail_probability(n, p, at_least) <= exact * (1 + 1e-3)


def test_the_ends_are_certain() -> None:
    assert tail_probability(10, 0.5, 11) == 0.0
    assert tail_probability(10, 0.5, 4) == 1.0
    assert tail_probability(10, 1.0, 10) == 1.0
    assert cap_failure(100, 0.1, 100, 10**6) == 0.0
    assert cap_failure(100, 0.1, 5, 10) == 1.0


def test_the_least_cap_is_chosen() -> None:
    cap = choose_cap(10_000, 0.01, 1000, 1e-8)
    assert cap_failure(10_000, 0.01, cap, 1000) <= 1e-8
    assert cap_failure(10_000, 0.01, cap - 1, 1000) > 1e-8


def test_probabilities_of_steps_that_depend_on_each_other_are_added_up() -> None:
    """Two records in two batches, at most one of them in each: it fails unless they part."""
    one = tail_probability(2, 0.5, 2)
    assert cap_failure(3, 0.5, 2, 2) == pytest.approx(1 - (1 - one) ** 2)
    assert 0.5 <= cap_failure(3, 0.5, 2, 2, independent=False) <= 1.0
    rare = cap_failure(10_000, 0.01, 175, 1000, independent=False)
    assert cap_failure(10_000, 0.01, 175, 1000) <= rare
    cap = choose_cap(10_000, 0.01, 1000, 1e-8, independent=False)
    assert cap_failure(10_000, 0.01, cap, 1000, independent=False) <= 1e-8


# --- caps that cost nothing ---

SHAPE: dict[str, Any] = {
    "n": 2000,
    "batch_size": 100,
    "steps": 300,
    "noise": 0.1,
    "sampling": "poisson",
}
RIDGE = sdp.Geometry(strong_convexity=0.1, smoothness=1.1, sensitivity=1, adjacency="zero_out")


def cap_of(rate: Any, geometry: sdp.Geometry = RIDGE, **more: Any) -> tuple[int, float]:
    run = sdp.NoisySGD(**{**SHAPE, "learning_rate": rate, **more})
    return affordable_cap(run, geometry, 1e-5)


@pytest.mark.parametrize("rate", [0.5, 0.79, 0.9, [0.2] * 150 + [0.79] * 150])
def test_a_cap_is_raised_as_long_as_no_step_contracts_less(rate: Any) -> None:
    """eta (2m + B M_l/b) <= 2, here with M_l = 1: B <= 100 (2/eta - 0.2)."""
    cap, failure = cap_of(rate)
    largest = rate if isinstance(rate, float) else max(rate)
    never = choose_cap(2000, 0.05, 300, 1e-60)
    assert cap == min(int(100 * (2 / largest - 0.2) + 1e-9), never)
    assert failure < 1e-9
    run = sdp.NoisySGD(**{**SHAPE, "learning_rate": rate})
    slopes = np.broadcast_to(step_arrays(run, RIDGE, cap).c, 300)
    assert slopes == pytest.approx(1 - 0.1 * np.broadcast_to(rate, 300), rel=1e-14)


def test_a_cap_that_all_records_keep_to_never_fails() -> None:
    assert cap_of(0.05) == (2000, 0.0)


def test_a_cap_beyond_which_steps_contract_less_is_the_least() -> None:
    least = choose_cap(2000, 0.05, 300, 1e-8)
    assert cap_of(1.5)[0] == least
    assert cap_of(0.5, batch_cap=200)[0] == 200


def test_a_certificate_for_one_delta_is_as_good_at_a_smaller_one() -> None:
    """(With a cap for 1e-5, composition was all that was left at 1e-9: .469 and not .181.)"""
    run = sdp.NoisySGD(**{**SHAPE, "learning_rate": 0.5})
    here = sdp.certify(run, RIDGE, delta=1e-5)
    there = sdp.certify(run, RIDGE, delta=1e-9)
    assert here.epsilon(1e-9) <= 1.1 * there.epsilon(1e-9)
    here.verify()


@pytest.mark.parametrize("rate", [0.05, 0.79, 1.5])
@pytest.mark.parametrize("delta", [1e-58, 1e-70, 1e-250])
def test_a_cap_is_never_below_the_least_however_small_delta_is(rate: float, delta: float) -> None:
    """Below 1e-57 a cap that is passed once in 1e60 runs is passed too often."""
    run = sdp.NoisySGD(**{**SHAPE, "learning_rate": rate})
    cap, failure = affordable_cap(run, RIDGE, delta)
    assert cap >= choose_cap(2000, 0.05, 300, 1e-3 * delta)
    assert failure <= 1e-3 * delta
