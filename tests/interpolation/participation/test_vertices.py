"""Theorem C5 against all paths of a small lattice."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from shiftdp.interpolation.participation.ages import equal_ages
from shiftdp.interpolation.participation.first_passage import SHIFT
from shiftdp.interpolation.participation.jumps import JumpLaw
from shiftdp.interpolation.participation.path import JumpPath, Resolution, path_of
from shiftdp.interpolation.participation.vertices import ladder, vertex_law
from tests.interpolation.participation.patterns import all_paths
from tests.interpolation.participation.test_first_passage import small_path


def exact_tail(path: JumpPath, above: float) -> float:
    energy, chance = all_paths(path)
    return math.fsum(chance[np.sqrt(energy) > above])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rung", [1.02, 1.3, 3.0])
def test_the_mass_is_one_and_the_law_is_above_all_paths(seed: int, rung: float) -> None:
    path = small_path(np.random.default_rng(seed), 5, epochs=seed % 3 == 1)
    slopes = ladder(path, rung)
    energy, chance = all_paths(path)
    top = math.sqrt(energy.max()) * 1.01
    tail = vertex_law(path, slopes, 400, top, 1e-12)
    assert math.fsum(chance) == pytest.approx(1.0, abs=1e-12)
    assert tail.above[0] == pytest.approx(1.0, abs=3e-9)
    assert tail.lost < 1e-12
    root = np.sqrt(energy)
    for n in range(401):
        exact = math.fsum(chance[root > n * tail.cell * (1.0 + 1e-9)])
        assert exact <= tail.above[n + 1] * (1.0 + 1e-12) + tail.lost


@pytest.mark.parametrize("seed", range(6))
def test_a_fine_ladder_and_fine_cells_give_the_law_itself(seed: int) -> None:
    path = small_path(np.random.default_rng(seed), 4, epochs=seed % 2 == 1)
    energy, chance = all_paths(path)
    tail = vertex_law(path, ladder(path, 1.01), 1500, math.sqrt(energy.max()) * 1.01, 1e-12)
    weight = tail.above - np.append(tail.above[1:], 0.0)
    mean = float(weight @ np.arange(len(weight))) * tail.cell
    assert mean == pytest.approx(math.fsum(np.sqrt(energy) * chance), rel=6e-3)
    assert mean >= math.fsum(np.sqrt(energy) * chance)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rung", [1.05, 1.5, 6.0])
def test_the_law_is_above_all_paths_if_classes_share_a_clock(seed: int, rung: float) -> None:
    rng = np.random.default_rng(seed)
    path = small_path(rng, 6, epochs=False)
    clock = np.append(0, np.cumsum(rng.integers(0, 2, 6) * rng.integers(1, 9, 6)) + 1)
    path = replace(path, clock=clock)
    energy, chance = all_paths(path)
    tail = vertex_law(path, ladder(path, rung), 300, math.sqrt(energy.max()) * 1.01, 1e-12)
    assert tail.above[0] == pytest.approx(1.0, abs=3e-9)
    assert tail.lost < 1e-12  # nothing is missing that would have to be added
    root = np.sqrt(energy)
    for n in range(301):
        exact = math.fsum(chance[root > n * tail.cell * (1.0 + 1e-9)])
        assert exact <= tail.above[n + 1] * (1.0 + 1e-12) + tail.lost


def test_rungs_are_wider_far_below_the_mean_slope() -> None:
    path = path_of(equal_ages(0.01, 1.0, 1.0, 1.0, 1000), Resolution(1.2, 600, 60), 1e-9)
    slopes = np.array(ladder(path, 1.15)[:-1], dtype=np.float64)
    mean = 10.0 / float(path.clock[-1]) * 2.0**SHIFT
    ratio = slopes[:-1] / slopes[1:]
    assert ratio[slopes[:-1] > mean] == pytest.approx(1.15)
    assert ratio[slopes[:-1] < 0.4 * mean] == pytest.approx(1.15**4)


def test_classes_of_one_clock_are_one_jump() -> None:
    law = JumpLaw(np.array([0, 2]), np.array([0.5, 0.5]))
    opens = np.ones(4, dtype=np.bool_)
    path = JumpPath(np.array([0, 3, 3, 5]), (law, law, law), opens, 6, 1.0, 0.0)
    tail = vertex_law(path, ladder(path, 1.1), 200, 3.0, 1e-12)
    assert tail.above[0] == pytest.approx(1.0, abs=3e-9)
    for x in (0.1, 1.0, 1.3, 2.0, 2.5):
        assert exact_tail(path, x) <= tail.above[math.floor(x / tail.cell) + 1] + 1e-15


def test_what_is_dropped_is_counted() -> None:
    path = small_path(np.random.default_rng(1), 5, epochs=False)
    top = math.sqrt(all_paths(path)[0].max()) * 1.01
    coarse = vertex_law(path, ladder(path, 1.2), 300, top, 0.01)
    assert coarse.above[0] + coarse.lost >= 1.0
    fine = vertex_law(path, ladder(path, 1.2), 300, top, 1e-12)
    assert np.all(coarse.above + coarse.lost >= fine.above * (1.0 - 1e-8))


def test_what_is_above_the_top_is_in_the_last_entry() -> None:
    path = small_path(np.random.default_rng(2), 4, epochs=False)
    energy, _ = all_paths(path)
    top = math.sqrt(float(np.median(energy)))
    tail = vertex_law(path, ladder(path, 1.1), 100, top, 1e-12)
    assert tail.above[-1] >= exact_tail(path, top * (1.0 + 1e-6))
    assert tail.above[-1] < 0.9


def test_slopes_fall_from_above_every_path_to_zero() -> None:
    path = small_path(np.random.default_rng(3), 5, epochs=False)
    slopes = ladder(path, 1.15)
    assert slopes[-1] == 0
    assert all(a > b for a, b in pairwise(slopes))
    highest = np.cumsum([law.values[-1] for law in path.laws])
    assert slopes[0] / 2**SHIFT > np.max(highest / path.clock[1:])


def test_a_ladder_has_no_more_slopes_than_are_checked() -> None:
    """Slopes from a thousand to 1e-12: with rungs of 1.1 there would be more than 300."""
    law = JumpLaw(np.array([0, 1, 1000]), np.array([0.9, 0.1 - 1e-9, 1e-9]))
    clock, opens = np.array([0, 1, 10**12]), np.ones(3, dtype=np.bool_)
    slopes = ladder(JumpPath(clock, (law, law), opens, 3000, 1.0, 0.0), 1.1)
    assert 250 < len(slopes) <= 300
    assert slopes[0] > 1000 << SHIFT
    assert slopes[-1] == 0
