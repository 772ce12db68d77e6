"""What a coordinate keeps of each step, against the recursion itself."""

import numpy as np
import pytest

from shiftdp._checks import Array
from shiftdp.interpolation.instances.age_classes import (
    AgeClasses,
    classes_of_steps,
    equal_classes,
)


def kept(slopes: Array, each: Array) -> Array:
    """What the last iterate keeps of something added in each step, the oldest first."""
    found = np.zeros(each.size)
    for k in range(each.size):
        found[: k + 1] *= slopes[k]
        found[k] = each[k]
    return found


def slopes_of_block(c: Array, floor: Array, end: int) -> Array:
    """The least slopes up to the step of age `end`, the largest ones after it."""
    return np.where(np.arange(c.size) <= c.size - end, floor, c)


def assert_leaks_less(classes: AgeClasses, c: Array, floor: Array, s: Array, sd: Array) -> None:
    assert int(np.sum(classes.count)) == int(classes.end[-1])
    for i, end in enumerate(classes.end.astype(int)):
        slopes = slopes_of_block(c, floor, end)
        variance = float(np.sum(kept(slopes, sd) ** 2))
        claimed = float(classes.clock[i] + classes.remnant[i])
        assert variance <= claimed <= variance * (1 + 1e-9)
        own = kept(slopes, s)[::-1][end - int(classes.count[i]) : end]
        assert float(classes.jump[i]) <= own.min() <= float(classes.jump[i]) * (1 + 1e-9)


@pytest.mark.parametrize("c", [1.0, 0.97, 0.6, 1.02])
@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_equal_steps(c: float, floor: float) -> None:
    steps = 70
    classes = equal_classes(c, floor, s=0.7, sd=1.3, steps=steps)
    assert_leaks_less(classes, *(np.full(steps, x) for x in (c, floor, 0.7, 1.3)))


def test_unequal_steps() -> None:
    draw = np.random.default_rng(0)
    c, floor = draw.uniform(0.8, 1.05, 80), draw.uniform(0.0, 0.5, 80)
    s, sd = draw.uniform(0.5, 2.0, 80), draw.uniform(0.5, 2.0, 80)
    assert_leaks_less(classes_of_steps(c, floor, s, sd), c, floor, s, sd)


def test_slopes_of_zero_forget_everything() -> None:
    equal = equal_classes(0.0, 0.0, s=1.0, sd=2.0, steps=10**12)
    assert equal.end.tolist() == [1]
    assert equal.clock[0] + equal.remnant[0] == pytest.approx(4.0)
    listed = classes_of_steps(np.zeros(5), np.zeros(5), np.ones(5), np.full(5, 2.0))
    assert listed.clock[0] + listed.remnant[0] == pytest.approx(4.0)


def test_long_runs_have_few_classes() -> None:
    for c in (1.0, 0.9999, 1.0 - 1e-7):
        classes = equal_classes(c, c, s=1.0, sd=1.0, steps=10**9)
        assert classes.size < 3000
        fixed = classes.clock[-1] + classes.remnant[-1]  # slopes c throughout
        exact = 10**9 if c == 1.0 else -np.expm1(2e9 * np.log(c)) / -np.expm1(2 * np.log(c))
        assert fixed == pytest.approx(exact, rel=1e-6)
