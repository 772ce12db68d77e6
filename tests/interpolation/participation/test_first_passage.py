"""First passages against all paths of a small lattice."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shiftdp.interpolation.participation.first_passage import (
    SHIFT,
    Reaches,
    line_heights,
    overshoots,
)
from shiftdp.interpolation.participation.jumps import JumpLaw
from shiftdp.interpolation.participation.path import JumpPath


def small_path(rng: np.random.Generator, classes: int, *, epochs: bool) -> JumpPath:
    laws = []
    for _ in range(classes):
        values = np.append(0, np.sort(rng.choice(np.arange(1, 7), 2, replace=False)))
        weights = rng.dirichlet(np.ones(3))
        laws.append(JumpLaw(values, weights))
    opens = np.ones(classes + 1, dtype=np.bool_)
    if epochs:
        opens[2:] = rng.uniform(size=classes - 1) < 0.5
    clock = np.append(0, np.cumsum(rng.integers(1, 9, classes)))
    return JumpPath(clock, tuple(laws), opens, 6 * classes, 1.0, 0.0)


def by_enumeration(path: JumpPath, g: float, s: int, i: int, x: int) -> float:
    """P(from s: at most g (L - L_s) before i, and floor of it + x at i, by a jump)."""
    total = 0.0
    laws = [
        list(zip(path.laws[k - 1].values, path.laws[k - 1].probabilities, strict=True))
        for k in range(s + 1, i + 1)
    ]
    for jumps in itertools.product(*laws):
        chance, height, used, below = 1.0, 0, True, True  # a vertex has used up its epoch
        for k, (value, probability) in enumerate(jumps, start=s + 1):
            used = used and not bool(path.opens[k])
            chance *= (1.0 if value == 0 else 0.0) if used else float(probability)
            used = used or value > 0
            height += int(value)
            line = g * (path.clock[k] - path.clock[s])
            if k < i:
                below = below and height <= line
            elif height != math.floor(line) + x or value == 0:
                below = False
        total += chance if below else 0.0
    return total


@pytest.mark.parametrize("seed", range(6))
def test_overshoots_are_those_of_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = small_path(rng, 5, epochs=seed % 2 == 1)
    slope = int(rng.uniform(0.1, 1.0) * 2**SHIFT)
    heights = line_heights(path, slope)
    everywhere = np.full(6, 5)
    found = overshoots(path, heights, 4, 0, 5, everywhere)
    for s, i, x in itertools.product(range(5), range(1, 6), range(1, 5)):
        exact = by_enumeration(path, slope / 2**SHIFT, s, i, x) if s < i else 0.0
        assert found[s, i, x - 1] == pytest.approx(exact, abs=1e-15)


def test_lines_are_found_in_exact_arithmetic() -> None:
    law = JumpLaw(np.array([0, 1]), np.array([0.5, 0.5]))
    clock = np.array([0, 1, 3, 2**49 + 1, 2**50])
    path = JumpPath(clock, (law,) * 4, np.ones(5, dtype=np.bool_), (1 << 14) - 2, 1.0, 0.0)
    for slope in (0, 1, 3, 2**SHIFT // 3, 2**SHIFT, 5 * 2**58):
        heights = line_heights(path, slope)
        for j, i in itertools.product(range(5), repeat=2):
            exact = min(path.cap, slope * (int(clock[i]) - int(clock[j])) >> SHIFT)
            assert heights[j, i] == (exact if i > j else -1)


def test_classes_of_one_clock_have_no_line_between_them() -> None:
    law = JumpLaw(np.array([0, 1]), np.array([0.5, 0.5]))
    path = JumpPath(np.array([0, 2, 2]), (law, law), np.ones(3, dtype=np.bool_), 2, 1.0, 0.0)
    assert line_heights(path, 2**SHIFT)[1, 2] == -1


@pytest.mark.parametrize("seed", range(8))
def test_what_is_out_of_reach_is_negligible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = small_path(rng, 6, epochs=seed % 2 == 1)
    rare = tuple(JumpLaw(law.values, np.array([1.0 - 1.1e-3, 1e-3, 1e-4])) for law in path.laws)
    path = JumpPath(path.clock, rare, path.opens, path.cap, 1.0, 0.0)
    slope = int(rng.uniform(0.2, 1.0) * 2**SHIFT)
    heights = line_heights(path, slope)
    reach = Reaches(path, 1e-6)(slope)
    found = overshoots(path, heights, 36, 0, 6, np.full(7, 6))
    some_out = False
    for s, i in itertools.product(range(6), range(1, 7)):
        if i > reach[s] and i > s:
            some_out = True
            assert found[s, i].sum() <= 1e-6
    assert some_out or reach[:6].min() == 6


def test_a_single_large_and_rare_jump_is_in_reach() -> None:
    """An exponent that is cut off would hide it."""
    law = JumpLaw(np.array([0, 1, 2000]), np.array([0.9, 0.1 - 1e-4, 1e-4]))
    path = JumpPath(np.array([0, 100, 4000]), (law, law), np.ones(3, bool), 4000, 1.0, 0.0)
    slope = int(0.4 * 2**SHIFT)
    assert Reaches(path, 1e-12)(slope)[0] == 2
