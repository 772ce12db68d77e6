"""Shifts on equal steps, checked in closed form: what is followed step by step says the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.periodic import optimal_shifts_periodic
from shiftdp.interpolation.reshuffled import ReshuffledSchedule, optimal_shifts_reshuffled
from shiftdp.interpolation.schedule import PeriodicSchedule
from shiftdp.interpolation.shifts import Shifts, frozen_shifts
from shiftdp.interpolation.verification import proved_mu, verify
from shiftdp.interpolation.verification_equal_steps import _Stretch, proved_mu_of_equal_steps
from tests.interpolation.test_verification import exact_optimum_squared

Equal = PeriodicSchedule | ReshuffledSchedule
CONTRACTIONS = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5]),
    st.floats(0.05, 1.0),
    st.floats(1.0, 16.0).map(lambda x: 1.0 - 10.0**-x),
)


@st.composite
def equal_steps(draw: st.DrawFn, contractions: st.SearchStrategy[float]) -> Equal:
    c, ell = draw(contractions), draw(st.integers(1, 6))
    s, sd = draw(st.floats(1e-3, 1e3)), draw(st.floats(1e-3, 1e3))
    D = draw(st.one_of(st.just(math.inf), st.floats(0.01, 30.0))) * s
    if draw(st.booleans()) or c > 1.0:
        first, steps = draw(st.integers(1, ell)), draw(st.integers(1, 30))
        return PeriodicSchedule(c, s, sd, period=ell, first=first, steps=steps, diameter=D)
    rest = draw(st.integers(1, ell))
    position, epochs = draw(st.integers(0, rest)), draw(st.integers(0, 5))
    return ReshuffledSchedule(c, s, s * 0.9, sd, ell, epochs, rest, position, D)


def best(schedule: Equal) -> Shifts:
    if isinstance(schedule, PeriodicSchedule):
        return optimal_shifts_periodic(schedule)
    return optimal_shifts_reshuffled(schedule)


@given(equal_steps(CONTRACTIONS))
@settings(max_examples=150)
def test_it_agrees_with_the_check_step_by_step_and_with_the_exact_optimum(schedule: Equal) -> None:
    shifts = best(schedule)
    proved, excess = proved_mu_of_equal_steps(schedule, shifts)
    assert proved <= shifts.mu
    assert excess <= 1e-9 * proved
    assert proved == pytest.approx(proved_mu(schedule.expand(), shifts), rel=1e-13, abs=1e-140)
    exact = exact_optimum_squared(schedule.expand(), shifts.tau, shifts.start)
    assert Fraction(proved) ** 2 >= exact


@given(equal_steps(st.floats(1.0001, 2.0)))
@settings(max_examples=60)
def test_so_do_expanding_steps(schedule: Equal) -> None:
    shifts = best(schedule)
    proved, _ = proved_mu_of_equal_steps(schedule, shifts)
    followed = proved_mu(schedule.expand(), shifts)
    assert proved == pytest.approx(followed, rel=1e-9, abs=1e-140)
    assert Fraction(proved) ** 2 >= exact_optimum_squared(
        schedule.expand(), shifts.tau, shifts.start
    )


@given(equal_steps(CONTRACTIONS), st.integers(0, 2**32))
@settings(max_examples=150)
def test_any_shifts_prove_at_least_the_exact_optimum(schedule: Equal, seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = schedule.steps
    tau = int(rng.integers(0, t)) if schedule.diameter < math.inf else 0
    last = np.union1d(np.flatnonzero(rng.random(t - tau) < 0.3) + tau + 1, [t])
    first = np.append(tau + 1, last[:-1] + 1)
    amount = rng.uniform(0.0, 2.0, last.size) * (rng.random(last.size) < 0.8)
    start = schedule.diameter if tau else 0.0
    shifts = frozen_shifts(tau, start, (first, last, last), amount, math.inf)
    proved, _ = proved_mu_of_equal_steps(schedule, shifts)
    assert Fraction(proved) ** 2 >= exact_optimum_squared(schedule.expand(), tau, start)


@pytest.mark.parametrize("c", [0.0, 0.5, 1 - 1e-9, 1 - 1e-15, 1.0])
@pytest.mark.parametrize("period", [1, 40])
def test_the_longest_runs_are_checked_at_once(c: float, period: int) -> None:
    steps = 2**53 // period * period
    schedule = PeriodicSchedule(c, 1.0, 1.0, period, period, steps, diameter=1e5)
    shifts = optimal_shifts_periodic(schedule)
    proved = verify(schedule, shifts)
    assert shifts.mu * (1 - 2e-12) <= proved <= shifts.mu
    for lower in (math.nextafter(proved, 0.0), proved * (1 - 1e-9)):
        with pytest.raises(VerificationFailed):
            verify(schedule, replace(shifts, mu=lower))


def test_a_start_below_the_diameter_needs_a_proof() -> None:
    schedule = PeriodicSchedule(0.5, 1.0, 1.0, period=1, first=1, steps=4, diameter=10.0)
    shifts = frozen_shifts(2, 1.5 * (1.0 + 1e-14), ([3], [4], [4]), [1.0], math.inf)
    proved_mu(schedule, shifts)
    with pytest.raises(VerificationFailed, match="start"):
        proved_mu(schedule, replace(shifts, start=1.5 * (1.0 - 1e-14)))


def test_long_expanding_runs_are_checked_by_their_visits() -> None:
    schedule = PeriodicSchedule(1.001, 1.0, 1.0, period=10**7, first=10**7, steps=10**9)
    shifts = optimal_shifts_periodic(schedule)
    assert verify(schedule, shifts) <= shifts.mu
    with pytest.raises(VerificationFailed):
        verify(schedule, replace(shifts, mu=shifts.mu * (1 - 1e-10)))
    one = frozen_shifts(0, 0.0, ([1], [10**9], [1]), [1.0], 1.0)
    with pytest.raises(VerificationFailed, match="mu=inf"):
        verify(replace(schedule, period=1, first=1), one)


@pytest.mark.parametrize("c", [1.0 + 2.0**-52, 1.0 + 1e-12, 1.0 + 1e-9, 1.001])
def test_blocks_of_any_number_of_visits_are_checked(c: float) -> None:
    """Up to 10^8 visits in one block, looked at by bisection."""
    schedule = PeriodicSchedule(c, 1.0, 1.0, period=3, first=2, steps=2**53, diameter=1e8)
    shifts = optimal_shifts_periodic(schedule)
    assert verify(schedule, shifts) <= shifts.mu
    with pytest.raises(VerificationFailed):
        verify(schedule, replace(shifts, mu=shifts.mu * (1 - 1e-11)))
    with pytest.raises(VerificationFailed):
        verify(replace(schedule, sensitivity=1.001), shifts)


def test_weights_of_58000_digits_round_to_nothing() -> None:
    schedule = PeriodicSchedule(3.8347, 1e-6, 2.0, period=10**4, first=10**4, steps=10**5)
    shifts = optimal_shifts_periodic(schedule)
    assert verify(schedule, shifts) <= shifts.mu


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_bisection_finds_the_visit_that_every_visit_would_show(seed: int) -> None:
    """Any blocks and amounts, of which few are any good."""
    rng = np.random.default_rng(seed)
    period, epochs = int(rng.integers(1, 4)), int(rng.integers(1, 12))
    rest = int(rng.integers(1, period + 1))
    schedule = ReshuffledSchedule(
        1.0 + 10.0 ** rng.uniform(-6, 0), 1.0, 0.7, 1.0, period, epochs, rest, rest, 3.0
    )
    t = schedule.steps
    tau = int(rng.integers(0, t))
    cuts = sorted({tau, t, *rng.integers(tau, t + 1, int(rng.integers(0, 4))).tolist()})
    first, last = np.array(cuts[:-1]) + 1, np.array(cuts[1:])
    amount = rng.uniform(0.0, 2.0, first.size)
    shifts = frozen_shifts(tau, 3.0, (first, last, first), amount, math.inf)
    found = proved_mu_of_equal_steps(schedule, shifts)

    def all_of_them(self: _Stretch, of: Callable[[Decimal, Decimal], Decimal]) -> Any:
        return max((self.at(k) for k in range(len(self.visits))), key=lambda pair: of(*pair))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Stretch, "highest", all_of_them)
        assert proved_mu_of_equal_steps(schedule, shifts) == found
