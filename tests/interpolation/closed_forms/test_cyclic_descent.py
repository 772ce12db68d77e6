"""The closed forms of NoisyCGD against mpmath, the isotonic fit and their own lemmas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.interpolation.closed_forms.cyclic_descent import (
    mgd,
    mgd_proj,
    mgd_proj_best,
    mgd_proj_shifts,
    mgd_proj_window,
    mgd_quadratic,
    mgd_sc,
    mgd_sc_shifts,
)
from shiftdp.interpolation.closed_forms.gradient_descent import gd_sc
from tests.interpolation.brute_force import isotonic_mu, precise_mgd_sc, quotient, replay


def visits(batches: int, epochs: int, position: int, s: float) -> Array:
    k = np.arange(1, batches * epochs + 1)
    return np.where((k - position) % batches == 0, s, 0.0)


@pytest.mark.parametrize("c", [1e-200, 0.1, 0.9, 0.9999, 1 - 1e-9, 1 - 2**-53])
@pytest.mark.parametrize("batches", [1, 2, 40, 10**4])
@pytest.mark.parametrize("epochs", [1, 2, 50, 10**6])
def test_mgd_sc_is_accurate_and_above_the_true_value(c: float, batches: int, epochs: int) -> None:
    exact = precise_mgd_sc(c, batches, epochs)
    assert exact <= mgd_sc(c, 1.0, 1.0, batches, epochs) <= exact * (1 + 2e-14)


@pytest.mark.parametrize(("batches", "epochs"), [(2, 1), (2, 7), (5, 4), (40, 3)])
@pytest.mark.parametrize("c", [0.3, 0.9, 0.999, 1.0])
def test_mgd_sc_is_the_isotonic_fit_at_the_last_position(
    c: float, batches: int, epochs: int
) -> None:
    ones = np.ones(batches * epochs)
    found = isotonic_mu(c * ones, visits(batches, epochs, batches, 0.7), 1.3 * ones)
    assert mgd_sc(c, 0.7, 1.3, batches, epochs) == pytest.approx(found, rel=1e-12)


def test_a_single_batch_is_covered_but_not_best() -> None:
    assert mgd_sc(0.9, 1.0, 1.0, 1, 8) > 1.001 * gd_sc(0.9, 1.0, 1.0, 8)
    assert mgd_sc(0.9, 1.0, 1.0, 1, 1) == pytest.approx(gd_sc(0.9, 1.0, 1.0, 1), rel=1e-13)


def test_convex_unconstrained_gains_the_number_of_batches() -> None:
    assert mgd_sc(1.0, 1.0, 1.0, 40, 41) == pytest.approx(math.sqrt(2), rel=1e-13)
    assert mgd_sc(1.0, 1.0, 1.0, 40, 1) == mgd(1.0, 1.0, 1)
    assert mgd_sc(0.0, 1.0, 1.0, 40, 9) == pytest.approx(1.0, rel=1e-13)


@pytest.mark.parametrize("c", [0.0, 0.2, 0.9, 0.9999, 1 - 1e-10, 1.0])
@pytest.mark.parametrize(
    ("batches", "epochs", "position"),
    [(1, 5, 1), (2, 3, 1), (2, 3, 2), (5, 4, 3), (5, 1, 4), (40, 20, 40)],
)
def test_the_shifts_of_mgd_sc_prove_it(c: float, batches: int, epochs: int, position: int) -> None:
    shifts = mgd_sc_shifts(c, 0.7, batches, epochs, position)
    replay(shifts, c, visits(batches, epochs, position, 0.7), 0.0)
    found = math.sqrt(shifts.energy()) / 1.3
    assert found == pytest.approx(mgd_sc(c, 0.7, 1.3, batches, epochs), rel=1e-11)


@pytest.mark.parametrize(
    ("batches", "epochs", "position", "window"),
    [(1, 5, 1, 3), (2, 3, 1, 2), (2, 3, 2, 1), (5, 9, 3, 8), (40, 20, 40, 12)],
)
def test_the_corrected_shifts_of_mgd_proj_prove_it(
    batches: int, epochs: int, position: int, window: int
) -> None:
    shifts = mgd_proj_shifts(0.7, 2.5, batches, epochs, position, window)
    replay(shifts, 1.0, visits(batches, epochs, position, 0.7), 2.5)
    assert shifts.start == position + batches * (epochs - window - 1) - 1
    expected = mgd_proj_window(0.7, 1.3, 2.5, batches, window)
    assert math.sqrt(shifts.energy()) / 1.3 == pytest.approx(expected, rel=1e-12)


def test_the_printed_start_of_mgd_proj_does_not_end_at_zero() -> None:
    """tau* = j* + l(tau-1), as printed, misses a visit and a step: z_t* is a - s, not 0."""
    D, s, batches, epochs, position, window = 2.5, 0.7, 5, 9, 3, 4
    a = (D + s * window) / (batches * window)
    start = position + batches * (epochs - window - 1)
    end = batches * (epochs - 1) + position - 1
    z = D
    for k in range(start + 1, end + 1):
        z += s * ((k - position) % batches == 0) - a
    assert z == pytest.approx(a - s)
    assert abs(z) > 0.3


def test_a_window_of_all_epochs_starts_before_the_run_but_its_bound_holds() -> None:
    with pytest.raises(UnmetHypothesis, match=r"window=3 starts before the run: tau\* = -4"):
        mgd_proj_shifts(0.7, 2.5, batches=5, epochs=3, position=2, window=3)
    for diameter in (1e-6, 0.7, 30.0):
        whole = mgd_proj_window(0.7, 1.3, diameter, batches=5, window=3)
        assert whole > mgd_sc(1.0, 0.7, 1.3, batches=5, epochs=3)


@pytest.mark.parametrize(("diameter", "epochs"), [(2.1, 100), (0.3, 4), (7.0, 3), (1e-3, 1)])
def test_the_best_window_is_the_best(diameter: float, epochs: int) -> None:
    windows = [mgd_proj_window(0.5, 1.5, diameter, 7, k) for k in range(1, epochs + 1)]
    assert mgd_proj_best(0.5, 1.5, diameter, 7, epochs) == pytest.approx(min(windows), rel=1e-14)


def test_the_closed_form_is_the_window_at_a_whole_quotient() -> None:
    expected = mgd_proj_window(0.5, 1.5, 3.0, 7, 6)
    assert mgd_proj(0.5, 1.5, 3.0, 7, 6) == pytest.approx(expected, rel=1e-13)
    assert mgd_proj(0.5, 1.5, 3.0, 7, math.inf) == mgd_proj(0.5, 1.5, 3.0, 7, 6)
    with pytest.raises(UnmetHypothesis, match=r"epochs=5 is below ceil\(D/s\) = 6"):
        mgd_proj(0.5, 1.5, 3.0, 7, 5)


@pytest.mark.parametrize("slope", [1.0, 0.999, 0.4, 0.0, -0.4, -0.95, -1.0])
@pytest.mark.parametrize(("batches", "epochs"), [(1, 2), (1, 5), (3, 3), (4, 5)])
def test_the_quadratic_bound_is_the_law_of_the_recursion(
    slope: float, batches: int, epochs: int
) -> None:
    s, ones = visits(batches, epochs, batches, 0.7), np.ones(batches * epochs)
    exact = quotient(slope * ones, s, 1.3 * ones)
    found = mgd_quadratic(slope, 0.7, 1.3, batches, epochs)
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert found <= exact + 1e-15
    assert found <= mgd_sc(abs(slope), 0.7, 1.3, batches, epochs)


def test_equal_curvatures_escape_gd_sc() -> None:
    """m = M = 1, eta = 1.5, t = 2: the slope is -1/2 for every loss, so the visits cancel."""
    assert mgd_quadratic(-0.5, 1.0, 1.0, batches=1, epochs=2) == pytest.approx(1 / math.sqrt(5))
    assert gd_sc(0.5, 1.0, 1.0, 2) == pytest.approx(math.sqrt(1.8))


def test_bad_positions_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"position=6 lies beyond the epoch; give 1 to 5"):
        mgd_sc_shifts(0.9, 1.0, batches=5, epochs=2, position=6)
