"""Projections: nearest points, inside, never apart; and diameters that hold."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shiftdp import InvalidInput
from shiftdp.training import Ball, Box, Projection, Simplex

SETS: list[Projection] = [Ball(1.5), Box(-0.5, 2.0), Simplex(), Simplex(3.0)]


def inside(shape: Projection, v: NDArray[Any], slack: float) -> bool:
    if isinstance(shape, Ball):
        return bool(np.linalg.norm(v) <= shape.radius)
    if isinstance(shape, Box):
        return bool(((v >= shape.low) & (v <= shape.high)).all())
    assert isinstance(shape, Simplex)
    return bool((v >= 0).all() and abs(v.sum() - shape.total) <= slack)


@pytest.mark.parametrize("shape", SETS, ids=repr)
@given(st.lists(st.floats(-50, 50), min_size=2, max_size=12), st.integers(0, 10**6))
def test_the_nearest_point(shape: Projection, entries: list[float], seed: int) -> None:
    v = np.array([entries])
    p = shape.project(v)
    assert inside(shape, p[0], 1e-12)
    rng = np.random.default_rng(seed)
    others = shape.project(rng.normal(size=(50, len(entries))) * 3)
    # <v - p, q - p> <= 0 for all q of the set characterises the projection
    assert ((others - p) @ (v - p)[0]).max() <= 1e-11 * (1 + np.abs(v).max()) ** 2
    apart = np.linalg.norm(others[:, None] - others[None], axis=2).max()
    assert apart <= shape.diameter(len(entries)) * (1 + 1e-12)
    # a point of the set stays where it is, to rounding
    assert np.abs(shape.project(p) - p).max() <= 1e-14 * (1 + np.abs(p).max())


@pytest.mark.parametrize("shape", SETS, ids=repr)
def test_rows_are_projected_one_by_one_and_keep_their_precision(shape: Projection) -> None:
    v = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32) * 4
    together = shape.project(v)
    assert together.dtype == np.float32
    assert (together == np.concatenate([shape.project(row[None]) for row in v])).all()


def test_diameters_are_attained() -> None:
    assert Ball(1.5).diameter() == 3.0
    assert Box(-1.0, 1.0).diameter(4) == pytest.approx(4.0)
    assert Simplex(3.0).diameter() == pytest.approx(3.0 * math.sqrt(2.0))
    assert Box(-1.0, 1.0).diameter(2) >= math.sqrt(8.0)


def test_what_has_no_meaning_is_refused() -> None:
    for call in (
        lambda: Ball(0.0),
        lambda: Ball(math.inf),
        lambda: Box(1.0, 1.0),
        lambda: Box(-math.inf, 1.0),
        lambda: Simplex(-1.0),
        lambda: Box(0.0, 1.0).diameter(None),
    ):
        with pytest.raises(InvalidInput):
            call()
