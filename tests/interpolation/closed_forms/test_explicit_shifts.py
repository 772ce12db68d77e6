"""Explicit shifts: weights between 0 and 1, also where nothing is left to shift."""

import numpy as np

from shiftdp.interpolation.closed_forms.cyclic_descent import mgd_sc_shifts
from shiftdp.interpolation.closed_forms.explicit_shifts import ExplicitShifts


def test_nothing_over_nothing_is_no_shift() -> None:
    shifts = ExplicitShifts(0, np.array([0.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    assert shifts.lam.tolist() == [0.0, 0.5]


def test_the_energy_is_the_sum_of_squares() -> None:
    shifts = ExplicitShifts(0, np.array([3.0, 4.0]), np.zeros(3))
    assert shifts.energy() == 25.0


def test_the_last_weight_is_1() -> None:
    shifts = mgd_sc_shifts(0.9, 1.0, batches=3, epochs=4, position=3)
    assert ((shifts.lam >= 0.0) & (shifts.lam <= 1.0)).all()
    assert shifts.lam[-1] == 1.0
    assert shifts.z[-1] == 0.0
