"""Drifting instances: the best figures known, and never more than an exact law says."""

import itertools

import numpy as np
import pytest

from shiftdp.fdp import HiddenZeroOut
from shiftdp.interpolation.instances.age_classes import equal_classes
from shiftdp.interpolation.instances.drifting import drifting_epsilon, whole_epsilon

DELTA = 1e-5


@pytest.mark.parametrize(
    ("p", "s", "c", "steps", "known"),
    [
        (0.3, 0.5, 0.95, 60, 4.33),
        (0.05, 2.0, 0.8, 30, 5.62),
        (0.05, 1.0, 0.9, 100, 1.25),
        (0.01, 1.0, 0.95, 400, 0.275),
        (0.01, 2.0, 1.0, 1000, 3.59),
        (0.01, 1.0, 1.0, 10_000, 4.47),
        (0.01, 4.0, 1.0, 1000, 16.6),
        (0.001, 8.0, 1.0, 10_000, 43.2),
    ],
)
def test_figures(p: float, s: float, c: float, steps: int, known: float) -> None:
    classes = equal_classes(c, 0.0, s=s, sd=1.0, steps=steps)
    assert known <= drifting_epsilon(classes, p, DELTA) <= 1.02 * known


@pytest.mark.parametrize(("p", "s", "c"), [(0.3, 1.0, 0.8), (0.05, 3.0, 1.0), (0.6, 0.4, 0.95)])
def test_one_coordinate_against_its_exact_law(p: float, s: float, c: float) -> None:
    t = 8
    weight = s * c ** np.arange(t) / np.sqrt(np.sum(c ** (2.0 * np.arange(t))))
    patterns = np.array([*itertools.product((0, 1), repeat=t)])
    chance = np.prod(np.where(patterns == 1, p, 1.0 - p), axis=1)
    value, where = np.unique((patterns @ weight).round(12), return_inverse=True)
    f = HiddenZeroOut(tuple(value), tuple(np.bincount(where, chance) / chance.sum()))
    exact = max(f.epsilon(DELTA), f.inverse().epsilon(DELTA))
    found = whole_epsilon(equal_classes(c, c, s=s, sd=1.0, steps=t), p, DELTA)
    assert found <= exact <= 1.01 * found


def test_less_is_leaked_where_less_can_be_forgotten() -> None:
    free, held = (
        drifting_epsilon(equal_classes(1.0, floor, s=4.0, sd=1.0, steps=1000), 0.01, DELTA)
        for floor in (0.0, 0.3)
    )
    whole = whole_epsilon(equal_classes(1.0, 1.0, s=4.0, sd=1.0, steps=1000), 0.01, DELTA)
    assert whole < held < free
