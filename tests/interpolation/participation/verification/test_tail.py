"""The tail that the verifier proves, against all paths of a small lattice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftdp.interpolation.participation.path import JumpPath
from shiftdp.interpolation.participation.verification.classes import Classes, JumpTable
from shiftdp.interpolation.participation.verification.tail import proved_tail
from shiftdp.interpolation.participation.vertices import ladder, vertex_law
from tests.interpolation.participation.patterns import all_paths
from tests.interpolation.participation.test_first_passage import small_path


def afresh(path: JumpPath) -> Classes:
    tables = [JumpTable(law.values, law.probabilities) for law in path.laws]
    return Classes(path.clock.tolist(), tables, path.opens.tolist()[1:], 0.0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rung", [1.03, 1.5])
def test_no_path_is_above_the_tail_which_is_below_that_of_the_engine(
    seed: int, rung: float
) -> None:
    path = small_path(np.random.default_rng(seed + 50), 5, epochs=seed % 2 == 1)
    energy, chance = all_paths(path)
    slopes, cells = ladder(path, rung), 300
    engine = vertex_law(path, slopes, cells, math.sqrt(energy.max()) * 1.01, 1e-12)
    square = (1.0 + 1e-10) / engine.cell**2
    tail, lost = proved_tail(
        afresh(path), tuple(slopes), path.cap, square, cells, rare=1e-15, small=1e-13
    )
    assert lost < 1e-12
    assert tail[0] == pytest.approx(1.0, abs=3e-8)
    root = np.sqrt(energy)
    for n in range(cells + 1):
        exact = math.fsum(chance[root > n * engine.cell * (1.0 + 1e-9)])
        assert exact <= tail[n + 1] + lost
    assert np.all(tail <= engine.above * (1.0 + 2e-8) + 1e-12)


def test_sums_above_the_cap_are_lost() -> None:
    path = small_path(np.random.default_rng(0), 4, epochs=False)
    energy, chance = all_paths(path)
    slopes = tuple(ladder(path, 1.2))
    cap = path.cap // 3
    tail, lost = proved_tail(afresh(path), slopes, cap, 100.0, 100, rare=1e-15, small=1e-13)
    assert lost > 0.01
    for x in (0.5, 1.0, 2.0):
        exact = math.fsum(chance[np.sqrt(energy * 100.0) > x])
        assert exact <= tail[int(x) + 1] + lost + 1e-12


@pytest.mark.parametrize("slopes", [(1 << 60, 5), (5, 0), (1 << 60, 7, 7, 0), (1 << 60, 5, 9, 0)])
def test_slopes_that_do_not_fall_to_zero_are_refused(slopes: tuple[int, ...]) -> None:
    path = small_path(np.random.default_rng(1), 4, epochs=False)
    with pytest.raises(ValueError, match="slopes"):
        proved_tail(afresh(path), slopes, path.cap, 1.0, 50, rare=1e-12, small=1e-9)


def test_a_grid_that_would_take_long_is_refused() -> None:
    path = small_path(np.random.default_rng(1), 4, epochs=False)
    slopes = tuple(ladder(path, 1.2))
    with pytest.raises(ValueError, match="too fine"):
        proved_tail(afresh(path), slopes, path.cap, 1.0, 10**5, rare=1e-12, small=1e-9)
    falling = Classes([0, 5, 3, 7, 9], afresh(path).tables, [True] * 4, 0.0)
    with pytest.raises(ValueError, match="clocks fall"):
        proved_tail(falling, (1 << 60, 0), path.cap, 1.0, 50, rare=1e-12, small=1e-9)
