"""The drifting instance: a member of the class, and as leaky in simulation as B5 says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp._errors import InvalidInput, UnmetHypothesis
from shiftdp.interpolation.closed_forms.cyclic_descent import mgd_quadratic, mgd_sc
from shiftdp.interpolation.closed_forms.gradient_descent import gd_sc
from shiftdp.interpolation.lower_bound import lower_mu, slope_floor
from shiftdp.interpolation.schedule import PeriodicSchedule, Schedule
from shiftdp.interpolation.simulation.drift import (
    DriftingInstance,
    drifting_instance,
    simulate,
)


def built(run: Schedule, eta: float, m: float, M: float) -> DriftingInstance:
    bound = lower_mu(run, slope_floor(np.full(run.steps, eta), m, M))
    assert bound is not None
    assert bound.exact
    instance = drifting_instance(run, eta, m, M, bound.slopes)
    assert instance.mu == pytest.approx(bound.mu, rel=1e-9)
    return instance


def inside(instance: DriftingInstance, m: float, M: float) -> None:
    """Both losses have their curvature in [m, M], by their formula and by difference quotients."""
    low, high = instance.curvature_range()
    assert m - 1e-9 <= low
    assert high <= M + 1e-9
    L = float(np.max(instance.schedule.sensitivity / instance.learning_rates))
    centre = instance.places[:-1, None]
    reach = 3 * (instance.half_width + instance.flank)
    x = np.unique(np.concatenate((centre + np.linspace(-reach, reach, 2001)).reshape(1, -1)))
    for gradient in (instance.gradient(x), instance.gradient(x) + L * instance.sign(x)):
        secant = np.diff(gradient) / np.diff(x)
        assert np.all(secant >= m - 1e-3)
        assert np.all(secant <= M + 1e-3)
    assert np.max(np.abs(instance.sign(x))) <= 1


@pytest.mark.parametrize(
    ("batches", "epochs", "c", "s", "expected"),
    [(3, 3, 0.9, 1.0, 1.2326), (4, 5, 0.95, 0.7, 0.9417)],
)
def test_cyclic_batches(batches: int, epochs: int, c: float, s: float, expected: float) -> None:
    run = PeriodicSchedule(c, s, 1.0, batches, batches, batches * epochs).expand()
    instance = built(run, eta=1.0, m=1 - c, M=1.0)
    inside(instance, 1 - c, 1.0)
    upper = mgd_sc(c, s, 1.0, batches, epochs)
    assert upper == pytest.approx(expected, abs=5e-5)
    found = simulate(instance, 100_000, np.random.default_rng(3)).mean_shift_over_deviation
    assert found == pytest.approx(upper, rel=0.01)
    assert 0.67 < mgd_quadratic(c, s, 1.0, batches, epochs) / upper < 0.91


@pytest.mark.parametrize("m", [1.0, 8.0])
def test_full_batches_with_negative_slopes(m: float) -> None:
    """eta = .19 > 2/(M+m); with m = 8 even eta m > 1, and the path jumps across its minimiser."""
    ones = np.ones(8)
    run = Schedule(0.9 * ones, 0.19 * ones, 0.19 * ones)
    instance = built(run, eta=0.19, m=m, M=10.0)
    inside(instance, m, 10.0)
    np.testing.assert_allclose(instance.slopes[1:], -0.9)
    assert np.all(instance.signs[1:] == -instance.signs[:-1])
    found = simulate(instance, 100_000, np.random.default_rng(4)).mean_shift_over_deviation
    assert gd_sc(0.9, 1.0, 1.0, 8) == pytest.approx(2.7504, abs=5e-5)
    assert found == pytest.approx(gd_sc(0.9, 1.0, 1.0, 8), rel=0.01)


def test_no_run_leaves_its_windows_and_the_law_is_gaussian() -> None:
    run = PeriodicSchedule(0.9, 1.0, 1.0, 3, 3, 9).expand()
    instance = built(run, eta=1.0, m=0.1, M=1.0)
    found = simulate(instance, 200_000, np.random.default_rng(5))
    spread = math.sqrt(2) * float(np.std(found.original))
    for final in (found.original, found.exchanged):
        z = (final - np.mean(final)) / np.std(final)
        assert abs(float(np.mean(z**3))) < 0.02
        assert float(np.mean(z**4)) == pytest.approx(3.0, abs=0.05)
    assert float(np.mean(found.original)) == pytest.approx(instance.places[-1], abs=0.01 * spread)


def test_the_windows_are_apart_and_the_drift_is_representable() -> None:
    run = PeriodicSchedule(0.95, 0.7, 1.0, 4, 4, 20).expand()
    instance = built(run, eta=1.0, m=0.05, M=1.0)
    gaps = np.diff(np.sort(instance.places[:-1]))
    assert np.min(gaps) > 2 * (instance.half_width + instance.flank)
    assert abs(instance.start) * 2**-52 < 1e-4 * float(np.min(run.noise))
    x = instance.places[:-1]
    np.testing.assert_allclose(x - instance.gradient(x), instance.places[1:], rtol=1e-12)


def test_what_cannot_be_built_is_refused() -> None:
    run = Schedule([0.9] * 3, [1.0] * 3, [1.0] * 3)
    with pytest.raises(UnmetHypothesis, match="B5 needs m < M"):
        drifting_instance(run, 1.0, 0.1, 0.1, [0.9] * 3)
    with pytest.raises(InvalidInput, match=r"slopes=0\.2 is not \|1 - eta h\|"):
        drifting_instance(run, 1.0, 0.1, 0.5, [0.9, 0.9, 0.2])
    with pytest.raises(UnmetHypothesis, match="is finite"):
        drifting_instance(Schedule([0.9], [1.0], [1.0], 2.0), 1.0, 0.1, 1.0, [0.9])
    ones = np.ones(400)
    with pytest.raises(UnmetHypothesis, match="outgrows double precision"):
        drifting_instance(Schedule(0.5 * ones, ones, ones), 1.0, 0.5, 1.0, 0.5 * ones)
