"""The path on a lattice: classes, ticks, caps."""

from __future__ import annotations

import numpy as np
import pytest

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.participation.ages import ages_of_steps, equal_ages
from shiftdp.interpolation.participation.jumps import JumpLaw
from shiftdp.interpolation.participation.path import (
    JumpPath,
    Resolution,
    class_ends,
    equal_jumps,
    in_ticks,
    many,
    path_of,
    rough_sum,
)

FINE = Resolution(1.05, 400, 60)


def test_classes_cover_all_ages_within_the_ratio() -> None:
    ages = equal_ages(0.001, 0.999, 1.0, 1.0, 5000)
    ends = class_ends(ages, 1.1)
    assert ends[-1] == len(ages.count)
    starts = [0, *ends[:-1]]
    for a, b in zip(starts, ends, strict=True):
        assert b > a
        assert ages.clock[b - 1] <= 1.1 * ages.clock[a]


def test_the_oldest_classes_are_finer_where_many_take_part() -> None:
    ages = equal_ages(0.1, 1.0, 1.0, 1.0, 5000)
    assert many(ages) == 1.0
    assert many(equal_ages(0.001, 1.0, 1.0, 1.0, 1000)) < 0.1
    ends = class_ends(ages, 1.2)
    last = ages.clock[ends[-2]] / ages.clock[ends[-3]]
    assert last < 1.05


def test_ticks_are_below_the_clock_and_rises_above_the_jumps() -> None:
    ages = equal_ages(0.05, 0.9, 2.0, 0.7, 40)
    path = path_of(ages, FINE, 1e-9)
    starts = [0, *class_ends(ages, FINE.ratio)[:-1]]
    # one participation in a class: mu^2 = jump^2 / clock, never less on the lattice
    for i, a in enumerate(starts, start=1):
        law = path.laws[i - 1]
        largest = law.values[-1]
        assert largest**2 * path.scale / path.clock[i] >= ages.jump[a] ** 2 / ages.clock[a]
    assert np.all(np.diff(path.clock) > 0)


def test_equal_jumps_are_on_the_lattice() -> None:
    ages = equal_ages(0.01, 1.0, 3.0, 1.0, 500)
    assert equal_jumps(ages)
    path = path_of(ages, FINE, 1e-9)
    one = path.laws[0].values[1] ** 2 * path.scale / path.clock[1]
    assert 9.0 <= one <= 9.0 * 1.001
    assert not equal_jumps(equal_ages(0.01, 0.9, 3.0, 1.0, 500))


def test_the_cap_is_hardly_ever_exceeded() -> None:
    ages = equal_ages(0.1, 1.0, 1.0, 1.0, 50)
    path = path_of(ages, FINE, 1e-6)
    total = np.ones(1)
    for law in path.laws:
        dense = np.zeros(int(law.values[-1]) + 1)
        dense[law.values] = law.probabilities
        total = np.convolve(total, dense)
    assert total[path.cap + 1 :].sum() <= 1e-6
    assert path.lost >= 1e-6
    assert path.cap < rough_sum(ages)


def test_a_last_step_with_next_to_no_noise_is_refused() -> None:
    ones = np.ones(4)
    ages = ages_of_steps(0.5 * ones, ones, ones, np.array([1.0, 1.0, 1.0, 1e-9]))
    with pytest.raises(UnmetHypothesis, match="cannot hide what it does"):
        path_of(ages, FINE, 1e-9)
    path_of(ages_of_steps(0.5 * ones, ones, ones, np.array([1.0, 1.0, 1.0, 1e-6])), FINE, 1e-9)


def test_too_many_levels_are_refused() -> None:
    with pytest.raises(UnmetHypothesis, match="too many"):
        path_of(equal_ages(0.5, 0.9, 1.0, 1.0, 40), Resolution(1.05, 1 << 16, 60), 1e-9)


def test_nothing_after_counts_epochs() -> None:
    law = JumpLaw(np.array([0, 1]), np.array([0.5, 0.5]))
    path = JumpPath(
        clock=np.array([0, 1, 2, 3]),
        laws=(law, law, law),
        opens=np.array([False, True, False, True]),
        cap=3,
        scale=1.0,
        lost=0.0,
    )
    # classes 1 and 2 are one epoch: after a jump at 1 nothing happens at 2
    assert path.nothing_after().tolist() == [0.125, 0.5, 0.5, 1.0]
    assert path.classes == 3


def test_a_last_step_with_next_to_no_noise_is_refused_with_its_part() -> None:
    with pytest.raises(UnmetHypothesis, match="noise=1e-12 is the part of the last step"):
        in_ticks(np.array([1.0, 1e24]))
