"""The checker: rigorous against exact arithmetic, tight, and not to be fooled."""

import contextlib
import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.shifts import Shifts, frozen_shifts, optimal_shifts
from shiftdp.interpolation.verification import _shift_above, proved_mu, verify
from tests.interpolation.brute_force import exact_mu
from tests.interpolation.random_schedules import with_silent_steps


def random_schedule(rng: np.random.Generator, steps: int) -> Schedule:
    c = rng.uniform(0.0, 1.5, steps)
    if rng.random() < 0.5:
        c = np.minimum(c, 1.0)
    s = rng.uniform(0.0, 1.0, steps) * (rng.random(steps) < 0.7)
    D = math.inf if rng.random() < 0.4 else float(rng.uniform(0.1, 4.0))
    return Schedule(c, s, rng.uniform(0.2, 2.0, steps), D)


def random_shifts(rng: np.random.Generator, schedule: Schedule) -> Shifts:
    """Valid, and far from optimal."""
    t = schedule.steps
    tau = int(rng.integers(0, t)) if schedule.diameter < math.inf else 0
    ends = np.flatnonzero(rng.random(t - tau) < 0.4) + tau + 1
    last = np.union1d(ends, [t])
    first = np.append(tau + 1, last[:-1] + 1)
    peak = rng.integers(first, last + 1)
    amount = rng.uniform(0.0, 2.0, last.size) * (rng.random(last.size) < 0.8)
    start = schedule.diameter if tau else 0.0
    return frozen_shifts(tau, start, (first, last, peak), amount, math.inf)


def exact_optimum_squared(schedule: Schedule, tau: int, start: float) -> Fraction:
    """The least mu^2 of one start, in rational arithmetic: the minorant by its definition."""
    c, s, sd = ([Fraction(x) for x in xs.tolist()] for xs in schedule.window(tau, schedule.steps))
    s[0] += c[0] * Fraction(start)
    w = [Fraction(1)] * len(c)
    for k in range(len(c) - 1, 0, -1):
        w[k - 1] = w[k] * c[k]
    p, v = (
        [x * y for x, y in zip(w, s, strict=True)],
        [(x * y) ** 2 for x, y in zip(w, sd, strict=True)],
    )
    k, energy = 0, Fraction(0)
    while k < len(c):
        sums = [(Fraction(sum(p[k:j])), Fraction(sum(v[k:j])), j) for j in range(k + 1, len(c) + 1)]
        rise, clock, k = min((x for x in sums if x[1] > 0), key=lambda x: x[0] / x[1])
        energy += rise**2 / clock
    return energy


@given(st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=300)
def test_any_shifts_prove_at_least_the_exact_optimum(seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    schedule = random_schedule(rng, steps)
    shifts = random_shifts(rng, schedule)
    mu = proved_mu(schedule, shifts)
    assert Fraction(mu) ** 2 >= exact_optimum_squared(schedule, shifts.tau, shifts.start)


@given(st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=300)
def test_optimal_shifts_prove_hardly_more_than_the_exact_optimum(seed: int, steps: int) -> None:
    schedule = random_schedule(np.random.default_rng(seed), steps)
    shifts = optimal_shifts(schedule)
    exact = exact_optimum_squared(schedule, shifts.tau, shifts.start)
    proved = proved_mu(schedule, shifts)
    assert exact <= Fraction(proved) ** 2 <= Fraction(shifts.mu) ** 2
    assert proved**2 <= float(exact) * (1.0 + 1e-14) + 1e-29


@given(
    *(st.floats(0.0, 1e3) for _ in range(3)),
    st.one_of(st.none(), st.floats(0.0, 1e3)),
)
@example(1e-162, 1e-162, 0.0, None)  # whose product is below every float
@settings(max_examples=1000)
def test_one_step_is_rounded_up_and_barely(
    c: float, z: float, s: float, other: float | None
) -> None:
    after = c * z + s if other is None else other  # cancellation to the last bit
    above = Fraction(float(_shift_above(*(np.array([x]) for x in (c, s, z, after)))[0]))
    exact = max(Fraction(0), Fraction(c) * Fraction(z) + Fraction(s) - Fraction(after))
    size = Fraction(c) * Fraction(z) + Fraction(s) + Fraction(after)
    assert exact <= above <= exact * (1 + Fraction(2) ** -50) + size / 2**98 + Fraction(2) ** -1060


def exact_recursion_squared(schedule: Schedule, shifts: Shifts) -> Fraction:
    """mu^2 of c <= 1 blocks that peak at their end: run in rationals, close each block at 0."""
    c, s, sd = ([Fraction(x) for x in xs.tolist()] for xs in schedule.window(0, schedule.steps))
    z, energy = Fraction(shifts.start), Fraction(0)
    for first, last, amount in zip(shifts.first, shifts.last, shifts.amount, strict=True):
        a = [Fraction(float(amount))]
        for k in range(int(last) - 1, int(first) - 1, -1):
            a.append(a[-1] * c[k] * (sd[k - 1] / sd[k]) ** 2)
        for k, wish in zip(range(int(first) - 1, int(last)), reversed(a), strict=True):
            reach = c[k] * z + s[k]
            closes = (k == last - 1 and amount > 0) or k == schedule.steps - 1
            used = reach if closes else min(wish, reach)
            z = reach - used
            energy += (used / sd[k]) ** 2
    return energy


@given(st.integers(0, 2**32), st.integers(1, 10))
@settings(max_examples=200)
def test_the_number_is_that_of_the_recursion(seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    schedule = random_schedule(rng, steps)
    assume(schedule.contraction.min() > 0.05)
    shifts = random_shifts(rng, schedule)
    shifts = dataclasses.replace(shifts, peak=shifts.last)
    exact = math.sqrt(exact_recursion_squared(schedule, shifts))
    assert proved_mu(schedule, shifts) == pytest.approx(exact, rel=1e-11, abs=1e-13)


CASES = [
    Schedule(np.full(300, 0.99), np.tile([0.7, 0.0, 1.0], 100), np.full(300, 1.3)),
    Schedule(np.full(300, 1.0), np.tile([0.0, 0.5, 0.0], 100), np.full(300, 1.3), 4.0),
    Schedule(np.full(90, 1.1), np.tile([0.0, 0.5, 0.2], 30), np.linspace(1.0, 2.0, 90), 6.0),
]


@pytest.mark.parametrize("schedule", CASES)
def test_corrupted_certificates_are_refused(schedule: Schedule) -> None:
    good = optimal_shifts(schedule)
    assert verify(schedule, good) <= good.mu
    end = schedule.steps
    corrupted = {
        "mu a little low": {"mu": good.mu * (1.0 - 1e-6)},
        "mu barely low": {"mu": good.mu * (1.0 - 1e-11)},
        "mu not a number": {"mu": math.nan},
        "amounts too small": {"amount": good.amount * 0.99},
        "amounts too large": {"amount": good.amount * 1.01},
        "no amounts": {"amount": good.amount * 0.0},
        "last amount altered": {"amount": np.append(good.amount[:-1], good.amount[-1] * 1.001)},
        "negative amount": {"amount": -good.amount},
        "infinite amount": {"amount": good.amount + math.inf},
        "tau moved": {"tau": good.tau + 1},
        "tau and block moved": {
            "tau": good.tau + 1,
            "first": good.first + (good.first == good.tau + 1),
        },
        "tau beyond the end": {"tau": end},
        "tau negative": {"tau": -1},
        "blocks do not reach the end": {"last": good.last - (good.last == end)},
        "peak outside": {"peak": good.peak + end},
        "a block missing": {"amount": good.amount[:-1]},
        "start not a number": {"start": math.nan},
        "start negative": {"start": -1e-9},
    }
    if good.tau:
        corrupted["start lowered"] = {"start": good.start * (1.0 - 1e-12)}
        corrupted["start 0"] = {"start": 0.0}
    for change in corrupted.values():
        with pytest.raises(VerificationFailed):
            verify(schedule, dataclasses.replace(good, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", [0.0, 0.999, 1.001, 2.0])
def test_a_shift_that_the_run_overrules_is_refused(factor: float) -> None:
    # Each step is a block, closed at distance 0 whatever its amount: mu stands, the record not.
    schedule = Schedule(np.ones(20), np.linspace(1.0, 2.0, 20), np.ones(20))
    good = optimal_shifts(schedule)
    assert good.first.size == 20
    amount = good.amount.copy()
    amount[7] *= factor
    with pytest.raises(VerificationFailed):
        verify(schedule, dataclasses.replace(good, amount=amount))


@pytest.mark.parametrize("schedule", CASES)
def test_certificates_of_an_easier_run_are_refused(schedule: Schedule) -> None:
    shifts = optimal_shifts(schedule)
    c, s, sd = schedule.window(0, schedule.steps)
    D = schedule.diameter
    for harder in (
        Schedule(c * (1.0 + 1e-6), s, sd, D),
        Schedule(c, s * (1.0 + 1e-6), sd, D),
        Schedule(c, s, sd * (1.0 - 1e-6), D),
    ):
        with pytest.raises(VerificationFailed):
            verify(harder, shifts)
    if shifts.tau:
        with pytest.raises(VerificationFailed, match="start"):
            verify(Schedule(c, s, sd, D * (1.0 + 1e-9)), shifts)


def test_a_start_below_the_diameter_needs_the_free_recursion() -> None:
    schedule = Schedule([0.5] * 4, [1.0] * 4, [1.0] * 4, 10.0)
    blocks = ([3], [4], [4])
    free = 1.5  # after two steps
    shifts = frozen_shifts(2, free * (1.0 + 1e-14), blocks, [1.0], math.inf)
    proved_mu(schedule, shifts)
    with pytest.raises(VerificationFailed, match="start"):
        proved_mu(schedule, dataclasses.replace(shifts, start=free * (1.0 - 1e-14)))


def test_what_overflows_proves_nothing() -> None:
    schedule = Schedule([1e200] * 4, [1e200] * 4, [1.0] * 4)
    assert proved_mu(schedule, frozen_shifts(0, 0.0, ([1], [4], [4]), [0.0], 0.0)) == math.inf


def test_what_underflows_is_not_zero() -> None:
    schedule = PeriodicSchedule(0.5, 1.0, 1.0, period=2000, first=1, steps=1040)
    shifts = optimal_shifts_periodic(schedule)
    assert 0.0 < verify(schedule, shifts) <= shifts.mu < 1e-140


@pytest.mark.parametrize(
    "schedule",
    [
        PeriodicSchedule(0.9, 1.0, 1.0, period=40, first=40, steps=100_000),
        PeriodicSchedule(1.0, 1 / 3, 1.0, period=40, first=13, steps=100_003, diameter=200.0),
        PeriodicSchedule(1.0, 1 / 3, 0.7, period=1, first=1, steps=100_000, diameter=30_000.1),
        PeriodicSchedule(0.9999, 1.0, 0.7, period=40, first=13, steps=100_000, diameter=100.0),
        PeriodicSchedule(0.999, 1.0, 1.0, period=90_000, first=1, steps=90_000),
        PeriodicSchedule(1.001, 1.0, 1.0, period=40, first=13, steps=50_000),
        PeriodicSchedule(1.38, 1.0, 1.0, period=7000, first=1, steps=40_000),
        PeriodicSchedule(0.0, 1.0, 1.0, period=3, first=1, steps=40_000),
    ],
)
def test_long_runs_lose_nothing_to_rounding(schedule: PeriodicSchedule) -> None:
    # Windows, backward distances and faint shifts: the proof is as tight as the closed form.
    shifts = optimal_shifts_periodic(schedule)
    proved = verify(schedule, shifts)
    assert proved >= shifts.mu * (1.0 - 1.2e-12 - schedule.period * 2.0**-50) - 1e-150
    # step by step, distances that no shift touches are rounded up in each step
    followed = proved_mu(schedule.expand(), shifts)
    assert proved == pytest.approx(followed, rel=4e-15 + schedule.period * 2.0**-50, abs=1e-150)


class TestStepsWithoutNoise:
    """Nothing can be paid for in them, whatever a certificate says."""

    schedule = Schedule([1.0, 1.0, 0.5, 1.0], [1.0, 1.0, 0.0, 1.0], [2.0, 0.0, 0.0, 3.0])

    def test_honest_shifts_pass(self) -> None:
        mu = verify(self.schedule, optimal_shifts(self.schedule))
        assert mu == pytest.approx(exact_mu(self.schedule), rel=1e-12)

    @pytest.mark.parametrize(
        ("first", "last", "peak", "problem"),
        [
            ([1, 4], [3, 4], [1, 4], "step 3 has no noise, and a distance of"),
            ([1, 3], [2, 4], [1, 4], "step 2 has no noise, and a distance of"),
            ([1, 2], [1, 4], [1, 3], "an amount stands at step 3, which has no noise"),
        ],
    )
    def test_a_payment_in_one_is_refused(
        self, first: list[int], last: list[int], peak: list[int], problem: str
    ) -> None:
        forged = frozen_shifts(0, 0.0, (first, last, peak), [1.0, 1.0], 0.5)
        with pytest.raises(VerificationFailed, match=problem):
            verify(self.schedule, forged)

    def test_a_run_that_ends_without_noise_after_a_visit_is_refused(self) -> None:
        bare = Schedule([1.0, 1.0], [1.0, 1.0], [1.0, 0.0])
        for amount in ([1.0, 0.0], [2.0, 0.0]):
            forged = frozen_shifts(0, 0.0, ([1, 2], [1, 2], [1, 2]), amount, 2.0)
            with pytest.raises(VerificationFailed, match="step 2 has no noise"):
                verify(bare, forged)

    @given(st.integers(0, 2**32), st.integers(1, 30))
    @settings(max_examples=200)
    def test_what_is_proved_is_never_below_the_exact_law(self, seed: int, steps: int) -> None:
        """A linear recursion with the shifts of another noise, forged or not."""
        rng = np.random.default_rng(seed)
        schedule = with_silent_steps(rng, random_schedule(rng, steps))
        c, s, sd = schedule.window(0, steps)
        sd = np.append(sd[:-1], 1.0)
        run = Schedule(c, s, sd)
        w = np.append(np.cumprod(c[:0:-1])[::-1], 1.0)
        exact = float(np.sum(w * s) / np.sqrt(np.sum((w * sd) ** 2)))
        mu = proved_mu(run, optimal_shifts(run))
        assert mu >= exact * (1.0 - 1e-14)
        louder = Schedule(c, s, np.where(sd > 0.0, sd, 1.0))
        with contextlib.suppress(VerificationFailed):
            assert proved_mu(run, optimal_shifts(louder)) >= mu * (1.0 - 1e-12)
