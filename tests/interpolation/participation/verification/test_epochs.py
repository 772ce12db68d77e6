"""Starts and epochs of the verifier against all patterns, and against those of the engine."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shiftdp.interpolation.participation.ages import ages_of_steps
from shiftdp.interpolation.participation.allocation import Allocation, allocation_path
from shiftdp.interpolation.participation.path import Resolution
from shiftdp.interpolation.participation.start import start_law
from shiftdp.interpolation.participation.verification.classes import (
    steps_of_equal,
    steps_of_schedule,
)
from shiftdp.interpolation.participation.verification.epochs import (
    allocated_classes,
    classes_with_start,
    start_of,
)


@pytest.mark.parametrize("c", [1.0, 0.9, 0.3, 0.0])
@pytest.mark.parametrize("diameter", [0.5, 2.2, 50.0])
def test_distances_dominate_all_patterns(c: float, diameter: float) -> None:
    start = start_of(0.4, c, 1.0, diameter, 7)
    exact = []
    for v in itertools.product([0, 1], repeat=7):
        z = 0.0
        for x in v:
            z = min(diameter, c * z + x)
        exact.append((z, 0.4 ** sum(v) * 0.6 ** (7 - sum(v))))
    for place, _ in exact:
        tail = math.fsum(q for z, q in exact if z >= place)
        assert start.chances[start.values >= place * (1.0 - 1e-14)].sum() >= tail - 1e-12


@pytest.mark.parametrize(
    ("p", "c", "steps"), [(0.1, 0.95, 1000), (0.02, 1.0, 3000), (0.1, 1.0, 1e9)]
)
def test_distances_are_those_of_the_engine(p: float, c: float, steps: float) -> None:
    mine, theirs = start_of(p, c, 1.0, 8.0, steps), start_law(p, c, 1.0, 8.0, steps)
    np.testing.assert_allclose(mine.values, theirs.values, rtol=1e-8)
    np.testing.assert_allclose(mine.chances, theirs.probabilities, rtol=1e-9, atol=1e-300)


def test_a_start_is_one_more_class_at_the_last_clock() -> None:
    steps = steps_of_equal(0.1, 0.9, 1.0, 1.0, 10)
    start = start_of(0.1, 0.9, 1.0, 3.0, 50)
    found = classes_with_start(steps, start, (0, 4), 0.05, 1e-3, 30)
    assert len(found.tables) == 3
    assert found.ticks[-1] == math.floor(steps.clock[-1] / 1e-3 * (1.0 - 1e-9))
    mean = float(found.tables[-1].values @ found.tables[-1].probabilities) * 0.05
    assert start.values @ start.chances <= mean
    with pytest.raises(ValueError, match="too fine"):
        classes_with_start(steps, start, (0, 4), 1e-9, 1e-3, 30)


@pytest.mark.parametrize("c", [1.0, 0.97])
def test_epochs_are_those_of_the_engine(c: float) -> None:
    ones = np.ones(15 * 40)
    run = Allocation(ages_of_steps(ones, c * ones, ones, ones), 15)
    path = allocation_path(run, Resolution(1.1, 500, 1))
    steps = steps_of_schedule(ones, c * ones, ones, ones)
    found = allocated_classes(steps, 15, path.starts, path.unit, path.tick)
    assert found.ticks == path.clock.tolist()
    assert found.opens == path.opens.tolist()[1:]
    for table, law in zip(found.tables, path.laws, strict=True):
        np.testing.assert_array_equal(table.values, law.values)
        np.testing.assert_allclose(table.probabilities, law.probabilities, atol=1e-15)


@pytest.mark.parametrize("starts", [(1,), (0, 4), (0, 2, 2), (0, 9, 6), (0, 99), (0, 6)])
def test_classes_across_epochs_are_refused(starts: tuple[int, ...]) -> None:
    ones = np.ones(12)
    steps = steps_of_schedule(ones, ones, ones, ones)
    if starts == (0, 6):  # epochs 1 and 3 are not neighbours
        allocated_classes(steps, 3, (0,), 1.0, 0.01)
    with pytest.raises(ValueError, match=r"epoch|overlap"):
        allocated_classes(steps, 3, starts, 1.0, 0.01)
