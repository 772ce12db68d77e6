"""The greatest convex minorant, against its definition, in one unit and in many."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.interpolation.convex_minorant import Minorant, blocks_of, units_of
from tests.interpolation.brute_force import hull_energy


@given(st.integers(0, 2**32), st.integers(1, 80), st.floats(-3.0, 3.0), st.booleans())
@settings(max_examples=500)
def test_a_jump_absorbs_the_right_blocks(seed: int, n: int, size: float, units: bool) -> None:
    # Slopes that grow make many blocks; units change what is stored, not what is meant.
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.5, 2.0, n)
    p = v * np.sort(rng.uniform(0.0, 10.0, n)) * rng.uniform(0.9, 1.1, n)
    unit = np.sort(rng.integers(-3, 4, n)) if units else np.zeros(n, dtype=np.int64)
    hull = Minorant()
    for k in range(n - 1, -1, -1):
        hull.prepend(k, p[k] / 2.0 ** unit[k], v[k] / 4.0 ** unit[k], int(unit[k]))
    assert hull.energy[-1] == pytest.approx(hull_energy(p, v), rel=1e-12)
    jump = 10.0**size
    energy = hull.touch(jump / 2.0 ** unit[0], int(unit[0]))
    p[0] += jump
    assert energy == pytest.approx(hull_energy(p, v), rel=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=200)
def test_blocks_do_not_depend_on_the_units(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p, v = rng.uniform(0.0, 1.0, n), rng.uniform(0.5, 2.0, n)
    unit = np.sort(rng.integers(-3, 4, n))
    plain = blocks_of(p, v, None)
    scaled = blocks_of(p / 2.0**unit, v / 4.0**unit, unit.tolist())
    energies = [
        float(np.sum(np.add.reduceat(p, first) ** 2 / np.add.reduceat(v, first)))
        for first in (plain, scaled)
    ]
    assert energies == pytest.approx([hull_energy(p, v)] * 2, rel=1e-12)


def test_a_unit_is_kept_until_the_weight_has_left_its_range() -> None:
    units = units_of(np.linspace(-1000.0, 0.0, 2001).tolist())
    assert units[-1] == 0
    assert 5 <= len(set(units)) <= 11
    assert all(
        abs(x - unit) <= 101 for x, unit in zip(np.linspace(-1000, 0, 2001), units, strict=True)
    )
