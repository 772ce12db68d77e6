"""Theorem B5: equal to B1 where its slopes are allowed, between the quadratic bound and B1 else."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp._errors import InvalidInput
from shiftdp.interpolation.closed_forms.cyclic_descent import mgd_quadratic, mgd_sc
from shiftdp.interpolation.closed_forms.gradient_descent import gd_sc
from shiftdp.interpolation.lower_bound import (
    lower_mu,
    lower_mu_periodic,
    no_lower_bound,
    slope_floor,
)
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import optimal_shifts
from tests.interpolation.brute_force import isotonic_mu, quotient


def random_schedule(rng: np.random.Generator, t: int) -> Schedule:
    s = rng.uniform(0, 1, t) * (rng.random(t) < rng.uniform(0.1, 1))
    s[int(rng.integers(t))] += 0.1
    return Schedule(rng.uniform(0.3, 1.2, t), s, rng.uniform(0.5, 2, t))


def test_it_equals_b1_where_the_slopes_are_allowed() -> None:
    rng = np.random.default_rng(11)
    for _ in range(300):
        run = random_schedule(rng, int(rng.integers(1, 80)))
        upper = isotonic_mu(run.contraction, run.sensitivity, run.noise)
        bound = lower_mu(run, 0.0)
        assert bound is not None
        assert bound.exact
        assert upper * (1 - 1e-9) <= bound.mu <= upper


def test_the_slopes_are_those_of_the_isotonic_fit() -> None:
    """c'_k = c_k g_{k-1} / g_k, and 0 at the first visit."""
    ones = np.ones(9)
    run = Schedule(0.9 * ones, np.tile([0.0, 0.0, 1.0], 3), ones)
    bound = lower_mu(run, 0.0)
    assert bound is not None
    at_last_visit = 0.9**2 * (1 - 0.81) / ((1 - 0.9**3) * (1 + 0.9**6))
    expected = [0.9, 0.9, 0.0, 0.9, 0.9, 0.9, 0.9, 0.9, at_last_visit]
    np.testing.assert_allclose(bound.slopes[2:], expected[2:], rtol=1e-12)


def test_elsewhere_it_lies_between_the_quadratic_bound_and_b1() -> None:
    rng = np.random.default_rng(12)
    strict = 0
    for _ in range(300):
        run = random_schedule(rng, int(rng.integers(2, 60)))
        c, s, sd = run.contraction, run.sensitivity, run.noise
        floor = np.minimum(c * rng.uniform(0, 1, c.size), 1.0)
        bound = lower_mu(run, floor)
        assert bound is not None
        upper = isotonic_mu(c, s, sd)
        assert quotient(c, s, sd) * (1 - 1e-12) <= bound.mu <= upper
        assert not bound.exact or bound.mu > upper * (1 - 1e-11)
        assert np.all((bound.slopes >= floor) & (bound.slopes <= c))
        assert bound.mu == pytest.approx(quotient(bound.slopes, s, sd), rel=1e-12)
        strict += bound.mu > 1.001 * quotient(c, s, sd)
    assert strict > 100  # the optimisation is worth its while


def test_steps_without_noise_leave_it_equal_to_b1_where_the_slopes_are_allowed() -> None:
    rng = np.random.default_rng(21)
    for _ in range(300):
        run = random_schedule(rng, int(rng.integers(1, 40)))
        c, s, sd = run.window(0, run.steps)
        sd = np.where(rng.random(run.steps) < rng.uniform(), 0.0, sd)
        sd[-1] = 1.0
        run = Schedule(c, s, sd)
        upper = optimal_shifts(run).mu
        bound = lower_mu(run, 0.0)
        assert bound is not None
        assert bound.exact
        assert upper * (1 - 1e-9) <= bound.mu <= upper
        floor = np.minimum(c * rng.uniform(0, 1, c.size), 1.0)
        held = lower_mu(run, floor)
        assert held is not None
        assert quotient(c, s, sd) * (1 - 1e-12) <= held.mu <= upper
        assert not held.exact or held.mu > upper * (1 - 1e-11)
        assert np.all((held.slopes >= floor) & (held.slopes <= c))
        assert held.mu == pytest.approx(quotient(held.slopes, s, sd), rel=1e-12)


@pytest.mark.parametrize(
    ("c", "s", "sd", "mu"),
    [
        ([1.0, 1.0], [1.0, 1.0], [1.0, 0.0], math.inf),
        ([1.0, 1.0], [1.0, 0.0], [0.0, 0.0], math.inf),
        ([1.0, 0.0], [1.0, 0.0], [0.0, 0.0], 0.0),
        ([1.0, 1.0], [1.0, 0.0], [1.0, 0.0], 1.0),
        ([1.0, 1.0], [0.0, 0.0], [0.0, 0.0], 0.0),
    ],
)
def test_what_follows_the_last_noise_is_shown(
    c: list[float], s: list[float], sd: list[float], mu: float
) -> None:
    bound = lower_mu(Schedule(c, s, sd), 0.0)
    assert bound is not None
    assert bound.mu == pytest.approx(mu, rel=1e-12)


def test_it_beats_clipping_the_isotonic_slopes() -> None:
    ones = np.ones(40)
    run = Schedule(0.95 * ones, np.tile([0.0, 0.0, 0.0, 1.0], 10), ones)
    free, floor = lower_mu(run, 0.0), 0.7
    bound = lower_mu(run, floor)
    assert free is not None
    assert bound is not None
    clipped = quotient(np.maximum(free.slopes, floor), run.sensitivity, run.noise)
    assert clipped * 1.001 < bound.mu < free.mu
    assert not bound.exact


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.19])
def test_full_batches_are_exact_at_every_learning_rate(eta: float) -> None:
    m, M = 1.0, 10.0
    c = max(abs(1 - eta * m), abs(1 - eta * M))
    run = PeriodicSchedule(c, 0.7, 1.3, period=1, first=1, steps=50)
    bound = lower_mu_periodic(run, float(slope_floor([eta], m, M)[0]))
    assert bound is not None
    assert bound.exact
    assert bound.mu == pytest.approx(gd_sc(c, 0.7, 1.3, 50), rel=1e-12)
    assert bound.mu <= gd_sc(c, 0.7, 1.3, 50)


def test_the_mnist_gap_closes() -> None:
    for epochs, gap in ((50, 1.33), (100, 1.18), (200, 1.09)):
        run = PeriodicSchedule(0.9999, 10 / 1500, 0.01, period=40, first=40, steps=40 * epochs)
        upper = mgd_sc(0.9999, 10 / 1500, 0.01, 40, epochs)
        assert upper / mgd_quadratic(0.9999, 10 / 1500, 0.01, 40, epochs) == pytest.approx(
            gap, abs=0.005
        )
        bound = lower_mu_periodic(run, float(slope_floor([0.05], 0.002, 32.0)[0]))
        assert bound is not None
        assert bound.exact
        assert upper * (1 - 1e-12) <= bound.mu <= upper


def test_equal_steps_and_step_by_step_agree() -> None:
    rng = np.random.default_rng(13)
    for _ in range(400):
        c = float(rng.choice([1.2, 1.0, 0.99, 0.5, rng.uniform(0, 1), 0.0]))
        floor = min(1.0, float(rng.choice([0.0, 0.2 * c, 0.9 * c, c])))
        period = int(rng.integers(1, 7))
        first, t = int(rng.integers(1, period + 1)), int(rng.integers(1, 40))
        run = PeriodicSchedule(c, 0.7, 1.3, period, first, t)
        closed, stepwise = lower_mu_periodic(run, floor), lower_mu(run.expand(), floor)
        assert closed is not None
        assert stepwise is not None
        assert closed.mu == pytest.approx(stepwise.mu, rel=1e-11, abs=1e-300)
        if c > 0:
            assert closed.exact == stepwise.exact


@pytest.mark.parametrize("floor", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("c", [0.9, 0.999, 1.0])
def test_long_runs_stay_valid_and_tight(c: float, floor: float) -> None:
    run = PeriodicSchedule(c, 0.7, 1.3, period=25, first=20, steps=25 * 4000)
    bound = lower_mu_periodic(run, floor)
    stepwise = lower_mu(run.expand(), floor)
    assert bound is not None
    assert stepwise is not None
    assert bound.mu == pytest.approx(stepwise.mu, rel=2e-4 if floor else 1e-9)
    longer = PeriodicSchedule(c, 0.7, 1.3, period=25, first=20, steps=25 * 10**9)
    later = lower_mu_periodic(longer, floor)
    assert later is not None
    assert later.mu >= bound.mu * (1 - 1e-9)
    assert later.mu <= mgd_sc(c, 0.7, 1.3, 25, 10**9)


def test_a_folded_past_gives_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(14)
    run = Schedule(rng.uniform(0.95, 1, 300), rng.random(300), rng.uniform(0.5, 2, 300))
    whole = lower_mu(run, 0.0)
    monkeypatch.setattr("shiftdp.interpolation.lower_bound._LONGEST", 50)
    folded = lower_mu(run, 0.0)
    assert whole is not None
    assert folded is not None
    assert not folded.exact
    assert folded.slopes.size == 50
    slopes = np.concatenate((run.contraction[:-50], folded.slopes))
    value = quotient(slopes, run.sensitivity, run.noise)
    assert value * (1 - 1e-12) <= folded.mu <= value
    assert 0.9 * whole.mu < folded.mu <= whole.mu


def test_a_long_run_against_floors_is_still_optimised() -> None:
    """Longer than what is optimised step by step: the bound is that of its slopes, and no worse
    than the quadratic one, the raised isotonic slopes, or the optimum of a shorter run.
    """
    rng = np.random.default_rng(15)
    t = 6000
    run = Schedule(np.full(t, 0.9999), rng.random(t) * (rng.random(t) < 0.1), np.ones(t))
    floor = 0.9995
    bound, free = lower_mu(run, floor), lower_mu(run, 0.0)
    assert bound is not None
    assert free is not None
    assert not bound.exact
    value = quotient(bound.slopes, run.sensitivity, run.noise)
    assert value * (1 - 1e-11) <= bound.mu <= value
    for other in (run.contraction, np.maximum(free.slopes, floor)):
        assert bound.mu > quotient(other, run.sensitivity, run.noise)
    assert bound.mu < free.mu


def test_a_forgotten_past_is_cut_off() -> None:
    t = 20_000
    s = np.ones(t)
    bound = lower_mu(Schedule(np.full(t, 0.5), s, s), 0.0)
    assert bound is not None
    assert bound.exact
    assert bound.slopes.size < 1000
    assert bound.mu == pytest.approx(math.sqrt(3), rel=1e-9)


def test_growing_weights_do_not_overflow() -> None:
    """c > 1: composition is optimal, and the slopes 1 attain it."""
    ones = np.ones(3000)
    bound = lower_mu(Schedule(1.5 * ones, ones, ones), 0.0)
    assert bound is not None
    assert bound.exact
    assert bound.mu == pytest.approx(math.sqrt(3000), rel=1e-10)


def test_nothing_is_claimed_outside_its_scope() -> None:
    run = Schedule([0.9], [1.0], [1.0], diameter=3.0)
    assert lower_mu(run, 0.0) is None
    assert lower_mu_periodic(PeriodicSchedule(0.9, 1.0, 1.0, 1, 1, 1, 3.0), 0.0) is None
    assert no_lower_bound(0.0, 1.0, math.inf, "replace_one") is None
    assert "zero_out" in str(no_lower_bound(0.0, 1.0, math.inf, "zero_out"))
    assert "quadratic" in str(no_lower_bound(1.0, 1.0, math.inf, "replace_one"))
    assert "diameter" in str(no_lower_bound(0.0, 1.0, 3.0, "replace_one"))
    assert lower_mu(Schedule([1.9], [1.0], [1.0]), 1.1) is None
    with pytest.raises(InvalidInput, match=r"floor=0\.95 exceeds the contraction 0\.9"):
        lower_mu(Schedule([0.9], [1.0], [1.0]), 0.95)
    with pytest.raises(InvalidInput, match="does not fit 1 steps"):
        lower_mu(Schedule([0.9], [1.0], [1.0]), [0.1, 0.1])


def test_a_run_that_never_meets_the_record_leaks_nothing() -> None:
    bound = lower_mu(Schedule([0.9, 0.9], [0.0, 0.0], [1.0, 1.0]), 0.0)
    assert bound is not None
    assert (bound.mu, bound.exact) == (0.0, True)
    never = lower_mu_periodic(PeriodicSchedule(0.9, 1.0, 1.0, period=5, first=4, steps=3), 0.0)
    assert never is not None
    assert (never.mu, never.exact) == (0.0, True)


@pytest.mark.parametrize(("period", "first", "floor"), [(1, 1, 0.5), (3, 1, 0.9), (3, 2, 0.0)])
def test_long_expanding_runs_attain_what_short_ones_say(
    period: int, first: int, floor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closed form for runs that are too long to list, at a length that can be."""
    schedule = PeriodicSchedule(1.02, 1.0, 1.3, period, first, 300)
    listed = lower_mu_periodic(schedule, floor)
    monkeypatch.setattr("shiftdp.interpolation.lower_bound._LONGEST", 100)
    closed = lower_mu_periodic(schedule, floor)
    assert listed is not None
    assert closed is not None
    assert closed.mu == pytest.approx(listed.mu, rel=1e-10)
    assert closed.mu <= optimal_shifts_periodic(schedule).mu


def test_expanding_runs_of_any_length_have_a_lower_bound() -> None:
    endless = PeriodicSchedule(1.5, 1.0, 1.0, 50, 50, 2**53 // 50 * 50)
    bound = lower_mu_periodic(endless, 0.4)
    assert bound is not None
    assert bound.mu == pytest.approx(math.sqrt(2**53 / 50**2), rel=1e-9)
