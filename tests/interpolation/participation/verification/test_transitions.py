"""What transitions are made of, against exact arithmetic and all paths."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shiftdp.interpolation.participation.verification.classes import Classes, JumpTable
from shiftdp.interpolation.participation.verification.transitions import (
    SHIFT,
    lines_of,
    log_moments,
    reach_of,
    transitions,
)

TABLE = JumpTable(np.array([0, 1, 3]), np.array([0.7, 0.2, 0.1]))
CLASSES = Classes([0, 3, 5, 5, 11], [TABLE] * 4, [True] * 4, 0.0)
CAP = 100


@pytest.mark.parametrize("slope", [0, 1, (1 << SHIFT) // 3, (1 << SHIFT) + 12345, 7 << SHIFT])
def test_heights_of_lines_are_whole_parts_of_exact_numbers(slope: int) -> None:
    found = lines_of(CLASSES.ticks, slope, CAP)
    steep = Fraction(slope, 1 << SHIFT)
    for (i, a), (j, b) in itertools.product(enumerate(CLASSES.ticks), repeat=2):
        height = min(math.floor(steep * (b - a)), CAP) if b > a else -1
        assert found.heights[i, j] == height
        if b > a:
            less = math.floor(steep * b) - math.floor(steep * a) - math.floor(steep * (b - a))
            assert found.short[i, j] == less


def all_jumps() -> list[tuple[tuple[int, ...], float]]:
    rows = [list(zip(t.values.tolist(), t.probabilities, strict=True)) for t in CLASSES.tables]
    return [
        (tuple(value for value, _ in jumps), math.prod(chance for _, chance in jumps))
        for jumps in itertools.product(*rows)
    ]


def test_a_path_is_above_a_line_beyond_its_reach_as_rarely_as_is_said() -> None:
    """Chernoff's bound: for each start, and each class beyond what `reach_of` answers."""
    moments = log_moments(CLASSES)
    for each, slope in itertools.product((0.3, 0.05, 1e-3), (1 << 44, 1 << 46, 3 << 46)):
        reach = reach_of(CLASSES, moments, slope, each)
        for start, end in itertools.combinations(range(5), 2):
            line = Fraction(slope, 1 << SHIFT) * (CLASSES.ticks[end] - CLASSES.ticks[start])
            above = math.fsum(
                chance for jumps, chance in all_jumps() if sum(jumps[start:end]) > line
            )
            assert end <= reach[start] or above <= each


def test_the_first_moves_are_those_of_all_paths() -> None:
    """From the start: the class at which a path is first above the lower line."""
    upper, lower = (lines_of(CLASSES.ticks, slope, CAP) for slope in (4 << SHIFT, 1 << 45))
    reach, weight = np.full(5, 4), np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    found = transitions(CLASSES, upper, lower, reach, weight, 0.0)
    assert found is not None
    assert found.starts.tolist() == [0]
    expected: dict[tuple[int, int], float] = {}
    for jumps, chance in all_jumps():
        heights = np.cumsum((0, *jumps))
        passed = [i for i in range(1, 5) if heights[i] > lower.heights[0, i]]
        if passed:
            place = passed[0], int(heights[passed[0]])
            expected[place] = expected.get(place, 0.0) + chance
    for (end, rise), chance in expected.items():
        (at,) = np.flatnonzero(found.ends == end)
        (by,) = np.flatnonzero(found.rises[0, at] == rise)
        assert rise <= upper.heights[0, end]
        assert found.direct[0, at, by] == pytest.approx(chance, rel=1e-12)
    assert found.direct.sum() == pytest.approx(sum(expected.values()), rel=1e-12)


def test_lines_that_whole_numbers_cannot_follow_are_refused() -> None:
    with pytest.raises(ValueError, match="steeper than whole numbers"):
        lines_of([0, 1 << 40], 1 << 70, CAP)
