"""The projection on bounded slopes: every face of its cone, and its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp._checks import Array
from shiftdp.interpolation.bounded_slopes import unconstrained_ends, walk_back
from tests.interpolation.brute_force import Cone, face_of, isotonic_mu, quotient

unit = st.floats(0.0, 1.0, allow_subnormal=False)
Step = tuple[float, float, float, float]
steps = st.lists(st.tuples(unit, unit, unit, unit), min_size=1, max_size=12)


def best(c: Array, f: Array, s: Array, sd: Array) -> tuple[float, Array]:
    ends = unconstrained_ends(f.tolist(), c.tolist(), s.tolist(), (sd * sd).tolist())
    slopes = np.array(walk_back(ends, f.tolist(), c.tolist()))
    assert np.all((slopes >= f) & (slopes <= c))
    return quotient(slopes, s, sd), slopes


def random_problem(rng: np.random.Generator, t: int, top: float) -> tuple[Array, ...]:
    c = rng.uniform(0.05, top, t)
    f = c * rng.uniform(0, 1, t) * (rng.random(t) < rng.random())
    s = rng.uniform(0, 1, t) * (rng.random(t) < rng.uniform(0.2, 1))
    s[-1] += 0.01
    return c, f, s, rng.uniform(0.5, 2, t)


def test_it_is_the_projection_on_the_cone() -> None:
    """Found by trying every face, in rational arithmetic."""
    rng = np.random.default_rng(5)
    for _ in range(150):
        problem = random_problem(rng, int(rng.integers(1, 6)), float(rng.choice([1.0, 1.5])))
        rounded = [np.round(numbers * 64) / 64 for numbers in problem]  # ties, and short fractions
        for c, f, s, sd in (problem, rounded):
            c, sd = np.maximum(c, 1 / 64), np.maximum(sd, 1 / 64)
            assert best(c, f, s, sd)[0] == pytest.approx(Cone(c, f, s, sd).longest_fit(), rel=1e-13)


def test_it_meets_the_optimality_conditions_exactly() -> None:
    """The slopes say which bounds are met; with these, nothing but the projection is optimal."""
    rng = np.random.default_rng(5)
    for _ in range(1000):
        problem = random_problem(rng, int(rng.integers(1, 15)), float(rng.choice([1.0, 1.5])))
        value, slopes = best(*problem)
        cone, face = Cone(*problem), face_of(slopes, *problem[:2])
        assert cone.is_optimal(face)
        assert value == pytest.approx(cone.norm(cone.fit(face)), rel=1e-13)


def test_without_floors_it_is_the_isotonic_fit() -> None:
    rng = np.random.default_rng(6)
    for _ in range(300):
        c, f, s, sd = random_problem(rng, int(rng.integers(2, 60)), 1.3)
        found, _ = best(c, 0 * f, s, sd)
        assert found == pytest.approx(isotonic_mu(c, s, sd), rel=1e-12)


@given(steps)
def test_floors_matter_only_where_the_isotonic_fit_breaks_them(rows: list[Step]) -> None:
    c = np.array([0.3 + 0.7 * row[0] for row in rows])
    f = c * np.array([row[1] for row in rows])
    s = np.array([row[2] if row[2] > 0.5 else 0.0 for row in rows])
    s[0] += 0.1
    sd = np.array([0.5 + row[3] for row in rows])
    found, _ = best(c, f, s, sd)
    upper = isotonic_mu(c, s, sd)
    assert quotient(c, s, sd) * (1 - 1e-12) <= found <= upper * (1 + 1e-12)
    _, free = best(c, 0 * f, s, sd)
    if np.all(free[1:] >= f[1:]):
        assert found == pytest.approx(upper, rel=1e-12)


def test_no_single_slope_can_be_improved() -> None:
    rng = np.random.default_rng(7)
    c, f, s, sd = random_problem(rng, 400, 1.0)
    value, slopes = best(c, f, s, sd)
    for k in rng.integers(1, 400, 60):
        for part in (0.0, 0.3, 0.9, 1.0):
            other = slopes.copy()
            other[k] = f[k] + part * (c[k] - f[k])
            assert quotient(other, s, sd) <= value * (1 + 1e-13)


def test_floors_next_to_zero_are_floors_of_zero() -> None:
    """Two of them in a row, whose product is below every float."""
    c, s, sd = np.full(6, 0.3), np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), np.full(6, 0.5)
    f = np.array([0.0, 0.0, 0.0, 0.0, 1e-38, 1e-285])
    (value, slopes), (free, others) = best(c, f, s, sd), best(c, 0 * f, s, sd)
    assert value == free
    np.testing.assert_array_equal(slopes, others)


def test_long_products_neither_overflow_nor_underflow() -> None:
    t = 5000
    for c, f in ((0.5, 0.4), (0.5, 0.0), (1.0, 0.99), (1.7, 1.0), (1.7, 0.3)):
        s = np.where(np.arange(t) % 7 == 6, 1.0, 0.0)
        ends = np.array(unconstrained_ends([f] * t, [c] * t, s.tolist(), [1.0] * t))
        assert np.all(np.isfinite(ends))
        assert np.all(ends >= 0)
        # The fit to the last steps does not depend on how long ago the first one was, if c < 1.
        if c < 1:
            np.testing.assert_allclose(ends[-7:], ends[-707:-700], rtol=1e-12)
