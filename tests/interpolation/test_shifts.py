"""Theorem B1 against ways that know nothing of isotonic regression, and against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import optimal_shifts
from shiftdp.interpolation.verification import verify
from tests.interpolation.brute_force import exact_mu, hull_energy
from tests.interpolation.random_schedules import random_schedule, with_silent_steps

Array = NDArray[np.float64]
EXACT = 2e-12  # the stated mu is at most this much above the optimum


def every_start_mu(schedule: Schedule) -> float:
    """min over tau by the definition of the minorant, for c > 0."""
    c, s, sd = schedule.window(0, schedule.steps)
    w = np.append(np.cumprod(c[:0:-1])[::-1], 1.0)
    best, free = math.inf, 0.0
    for tau in range(schedule.steps):
        p = (w * s)[tau:]
        p[0] += w[tau] * c[tau] * min(schedule.diameter, free)
        best = min(best, hull_energy(p, (w[tau:] * sd[tau:]) ** 2))
        free = c[tau] * free + s[tau]
    return math.sqrt(best)


@given(st.integers(0, 2**32), st.integers(1, 9))
@settings(max_examples=300)
def test_it_is_what_trying_everything_finds(seed: int, steps: int) -> None:
    schedule = random_schedule(np.random.default_rng(seed), steps)
    mu = optimal_shifts(schedule).mu
    assert mu == pytest.approx(exact_mu(schedule), rel=EXACT)


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=1000)
def test_the_minorant_of_every_start(seed: int, steps: int) -> None:
    schedule = random_schedule(np.random.default_rng(seed), steps, c_max=1.2)
    assume(schedule.contraction.min() > 0.02)
    mu, best = optimal_shifts(schedule).mu, every_start_mu(schedule)
    assert best * (1.0 - 1e-13) <= mu <= best * (1.0 + EXACT) + 1e-13


@pytest.mark.parametrize("c_max", [1.02, 1.001])
def test_long_arbitrary_schedules(c_max: float) -> None:
    rng = np.random.default_rng(5)
    for D in (3.0, 30.0, 300.0, math.inf):
        t = 1500
        s = rng.uniform(0.0, 1.0, t) * (rng.random(t) < 0.3)
        c, sd = rng.uniform(2.0 - c_max - 1e-3, c_max, t), rng.uniform(0.5, 2.0, t)
        schedule = Schedule(c, s, sd, D)
        assert optimal_shifts(schedule).mu == pytest.approx(every_start_mu(schedule), rel=EXACT)


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=300)
def test_narrow_and_wide_weights_take_the_same_decision(seed: int, steps: int) -> None:
    # An idle prefix with c > 1 moves the weights out of the range of floats, and nothing else.
    schedule = random_schedule(np.random.default_rng(seed), steps)
    idle = 3000
    longer = Schedule(
        np.append(np.full(idle, 1.4), schedule.contraction),
        np.append(np.zeros(idle), schedule.sensitivity),
        np.append(np.ones(idle), schedule.noise),
        schedule.diameter,
    )
    mu, again = optimal_shifts(schedule).mu, optimal_shifts(longer).mu
    assert again <= mu * (1.0 + EXACT) + 1e-150
    if math.isinf(schedule.diameter):
        assert again == pytest.approx(mu, rel=EXACT, abs=1e-150)


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=300)
def test_never_below_the_law_of_the_linear_recursion(seed: int, steps: int) -> None:
    # x -> c x + s + noise has this exact mu, without a projection.
    schedule = random_schedule(np.random.default_rng(seed), steps)
    c, s, sd = schedule.window(0, steps)
    w = np.append(np.cumprod(c[:0:-1])[::-1], 1.0)
    exact = float(np.sum(w * s) / np.sqrt(np.sum((w * sd) ** 2)))
    assert optimal_shifts(Schedule(c, s, sd)).mu >= exact * (1.0 - 1e-14)


@given(st.integers(0, 2**32), st.integers(1, 25))
@settings(max_examples=300)
def test_monotone_in_every_parameter(seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    schedule = random_schedule(rng, steps)
    c, s, sd = schedule.window(0, steps)
    mu, D = optimal_shifts(schedule).mu, schedule.diameter
    more = rng.uniform(1.0, 2.0, steps) ** (rng.random(steps) < 0.3)
    for worse in (
        Schedule(c * more, s, sd, D),
        Schedule(c, s * more, sd, D),
        Schedule(c, s, sd / more, D),
        Schedule(c, s, sd, D * 1.3),
    ):
        assert optimal_shifts(worse).mu >= mu * (1.0 - EXACT)
    # In other units the same run leaks the same.
    assert optimal_shifts(Schedule(c, 3e7 * s, 3e7 * sd, 3e7 * D)).mu == pytest.approx(
        mu, rel=EXACT, abs=1e-150
    )


class TestStepsWithoutNoise:
    """A distance is carried through them to the next step that has noise."""

    @given(st.integers(0, 2**32), st.integers(1, 9))
    @settings(max_examples=400)
    def test_it_is_what_trying_everything_finds(self, seed: int, steps: int) -> None:
        rng = np.random.default_rng(seed)
        schedule = with_silent_steps(rng, random_schedule(rng, steps))
        exact = exact_mu(schedule)
        if math.isinf(exact):
            with pytest.raises(UnmetHypothesis, match="give noise to the last step"):
                optimal_shifts(schedule)
            return
        shifts = optimal_shifts(schedule)
        assert shifts.mu == pytest.approx(exact, rel=EXACT, abs=1e-150)
        verify(schedule, shifts)
        a = shifts.expand(schedule).a
        silent = schedule.noise[shifts.tau :] == 0.0
        assert not np.any(a[silent])

    @given(st.integers(0, 2**32), st.integers(1, 60))
    @settings(max_examples=500)
    def test_it_is_the_limit_of_little_noise(self, seed: int, steps: int) -> None:
        rng = np.random.default_rng(seed)
        schedule = with_silent_steps(rng, random_schedule(rng, steps, c_max=1.0))
        c, s, sd = schedule.window(0, steps)
        sd = np.append(sd[:-1], 1.0)
        little = np.where(sd > 0.0, sd, 1e-6)
        mu = optimal_shifts(Schedule(c, s, sd, schedule.diameter)).mu
        nearby = optimal_shifts(Schedule(c, s, little, schedule.diameter)).mu
        assert nearby * (1.0 - EXACT) <= mu <= nearby * (1.0 + 1e-9)

    @given(st.integers(0, 2**32), st.integers(1, 40))
    @settings(max_examples=200)
    def test_weights_out_of_range_change_nothing(self, seed: int, steps: int) -> None:
        rng = np.random.default_rng(seed)
        schedule = with_silent_steps(rng, random_schedule(rng, steps))
        c, s, sd = schedule.window(0, steps)
        sd = np.append(sd[:-1], 1.0)
        schedule = Schedule(c, s, sd, schedule.diameter)
        idle = 3000
        longer = Schedule(
            np.append(np.full(idle, 1.4), c),
            np.append(np.zeros(idle), s),
            np.append(np.ones(idle), sd),
            schedule.diameter,
        )
        mu, again = optimal_shifts(schedule).mu, optimal_shifts(longer).mu
        assert again <= mu * (1.0 + EXACT) + 1e-150
        if math.isinf(schedule.diameter):
            assert again == pytest.approx(mu, rel=EXACT, abs=1e-150)

    def test_noise_in_the_last_step_alone_meets_the_sum_of_what_is_left(self) -> None:
        t = 5000
        c, s = np.full(t, 0.999), np.full(t, 2.0)
        sd = np.zeros(t)
        sd[-1] = 7.0
        left = 2.0 * (1.0 - 0.999**t) / (1.0 - 0.999)
        assert optimal_shifts(Schedule(c, s, sd)).mu == pytest.approx(left / 7.0, rel=1e-11)
        # a bounded set stops the distance on its way, also between steps without noise
        assert optimal_shifts(Schedule(c, s, sd, 100.0)).mu == pytest.approx(
            (0.999 * 100.0 + 2.0) / 7.0, rel=1e-11
        )

    def test_a_distance_that_no_float_can_hold_is_no_privacy(self) -> None:
        t = 4000
        sd = np.zeros(t)
        sd[-1] = 1.0
        grows = Schedule(np.full(t, 2.0), np.ones(t), sd)
        assert optimal_shifts(grows).mu == math.inf

    def test_what_a_step_without_slope_forgets_needs_no_noise(self) -> None:
        forgets = Schedule([1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0])
        shifts = optimal_shifts(forgets)
        assert shifts.mu == 0.0
        verify(forgets, shifts)

    def test_idle_steps_after_the_last_noise_are_free(self) -> None:
        idle = Schedule([1.0, 0.5, 2.0], [3.0, 0.0, 0.0], [1.5, 0.0, 0.0])
        shifts = optimal_shifts(idle)
        assert shifts.mu == pytest.approx(2.0, rel=EXACT)
        verify(idle, shifts)


class TestClosedForms:
    """[BSA24]: Lemmas gd-sc-opt, gd-proj-opt, mgd-sc-opt and mgd-proj-opt, on long runs."""

    @pytest.mark.parametrize("c", [0.3, 0.9, 0.999, 0.99999])
    @pytest.mark.parametrize("t", [1, 2, 100, 20_000])
    def test_gd_sc(self, c: float, t: int) -> None:
        ones = np.ones(t)
        exact = math.sqrt((1 - c**t) / (1 + c**t) * (1 + c) / (1 - c)) * 1.7 / 0.6
        schedule = Schedule(c * ones, 1.7 * ones, 0.6 * ones)
        assert optimal_shifts(schedule).mu == pytest.approx(exact, rel=1e-11)

    @pytest.mark.parametrize("ratio", [1, 7, 100, 4000])
    def test_gd_proj(self, ratio: int) -> None:
        # t - tau = D/s is whole, so the ceiling costs nothing.
        ones, s = np.ones(20_000), 0.25
        schedule = Schedule(ones, s * ones, 2.0 * ones, diameter=ratio * s)
        shifts = optimal_shifts(schedule)
        assert schedule.steps - shifts.tau == ratio
        assert shifts.mu == pytest.approx(math.sqrt(4.0 * s * s * ratio) / 2.0, rel=EXACT)

    @pytest.mark.parametrize("c", [0.9, 0.9999])
    @pytest.mark.parametrize(("period", "epochs"), [(2, 1), (2, 500), (40, 100), (7, 3)])
    def test_mgd_sc(self, c: float, period: int, epochs: int) -> None:
        steps = period * epochs
        schedule = PeriodicSchedule(c, 2.0 / 3.0, 1.0, period, period, steps).expand()
        far = c ** (period * (epochs - 1))
        rest = c ** (2 * period - 2) * (1 - c * c) / (1 - c**period) ** 2 * (1 - far) / (1 + far)
        exact = math.sqrt(1.0 + rest) * 2.0 / 3.0
        assert optimal_shifts(schedule).mu == pytest.approx(exact, rel=1e-11)

    def test_mgd_proj_is_never_better(self) -> None:
        period, epochs, s, D = 10, 60, 0.4, 8.0
        for j in range(1, period + 1):
            schedule = PeriodicSchedule(1.0, s, 1.0, period, j, period * epochs, D).expand()
            mu = optimal_shifts(schedule).mu
            for used in range(1, epochs):
                paper = math.sqrt(s * s + (D + s * used) ** 2 / (period * used))
                assert mu <= paper * (1.0 + EXACT)


class TestEdges:
    def test_idle_runs_leak_nothing(self) -> None:
        shifts = optimal_shifts(Schedule([1.0, 2.0], [0.0, 0.0], [1.0, 1.0], 3.0))
        assert shifts.mu == 0.0

    def test_zero_contraction_forgets(self) -> None:
        rng = np.random.default_rng(0)
        c, s, sd = rng.uniform(0.5, 1.2, 50), rng.uniform(0, 1, 50), rng.uniform(0.5, 2, 50)
        c[30] = 0.0
        s[:30] *= 1e200
        end = Schedule(c[30:], s[30:], sd[30:])
        assert optimal_shifts(Schedule(c, s, sd)).mu == pytest.approx(optimal_shifts(end).mu, 1e-12)

    @pytest.mark.parametrize("D", [math.inf, 5.0])
    def test_weights_far_below_underflow(self, D: float) -> None:
        t = 300_000
        ones = np.ones(t)
        long, short = (Schedule(0.9 * ones[:k], ones[:k], ones[:k], D) for k in (t, 2000))
        shifts = optimal_shifts(long)
        assert shifts.mu == pytest.approx(optimal_shifts(short).mu, rel=EXACT)
        if math.isinf(D):
            assert shifts.mu == pytest.approx(math.sqrt(19.0), rel=EXACT)

    @pytest.mark.parametrize(("c", "t"), [(1.38, 10_000), (1.001, 100_000)])
    def test_weights_far_above_overflow(self, c: float, t: int) -> None:
        ones = np.ones(t)
        # y increases, so every step is a block of its own: composition.
        assert optimal_shifts(Schedule(c * ones, ones, ones)).mu == pytest.approx(math.sqrt(t))
        bounded = optimal_shifts(Schedule(c * ones, ones, ones, 10.0)).mu
        closed = optimal_shifts_periodic(PeriodicSchedule(c, 1.0, 1.0, 1, 1, t, 10.0))
        assert bounded == pytest.approx(closed.mu, rel=EXACT)

    def test_one_visit_and_then_expansion(self) -> None:
        # One block over weights from 1 to 1.38^-5000: sum a_k c^-k = s, a_k falling like c^-k.
        c, t = 1.38, 5000
        s = np.zeros(t)
        s[0] = 1.0
        shifts = optimal_shifts(Schedule(np.full(t, c), s, np.ones(t)))
        assert shifts.mu == pytest.approx(math.sqrt(1.0 - c**-2.0), rel=EXACT)

    @pytest.mark.parametrize("depth", [10, 300, 600, 900])
    def test_weights_that_dip_between_two_heavy_ends(self, depth: int) -> None:
        # w is 1 at the end, 1/2 at the start and 2^-depth between: one block that spans the dip.
        c = np.append(np.full(depth, 2.0), np.full(depth, 0.5))
        s = np.zeros(2 * depth)
        s[0] = 1.0
        mu = optimal_shifts(Schedule(c, s, np.ones(2 * depth))).mu
        assert mu == pytest.approx(0.5 / math.sqrt(5.0 / 3.0 - 4.0**-depth * 5 / 3), rel=EXACT)

    def test_distances_beyond_floats_fall_back_to_composition(self) -> None:
        c = np.append(np.full(2000, 2.0), np.full(2000, 0.5))
        s = np.zeros(4000)
        s[[0, 3000]] = 3.0, 4.0
        assert optimal_shifts(Schedule(c, s, np.ones(4000))).mu == pytest.approx(5.0, rel=EXACT)

    def test_tiny_and_huge_units(self) -> None:
        for unit in (1e-120, 1e120):
            schedule = Schedule([0.9] * 5, [unit] * 5, [unit] * 5, 2.0 * unit)
            same = Schedule([0.9] * 5, [1.0] * 5, [1.0] * 5, 2.0)
            mu = optimal_shifts(same).mu
            assert optimal_shifts(schedule).mu == pytest.approx(mu, rel=EXACT)


def test_noise_at_the_end_of_the_floats_has_shifts() -> None:
    """Found by fuzzing: the power of two above it is no float."""
    found = optimal_shifts(Schedule([0.5, 0.5], [1.0, 1.0], [1.7e308, 1.7e308], math.inf))
    assert 1e-308 < found.mu < 1e-100  # rounded up
