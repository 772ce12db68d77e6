"""The walk between two walls, against another way to compute its law."""

import numpy as np
import pytest
from scipy.special import ndtr

from shiftdp.interpolation.instances.age_classes import equal_classes
from shiftdp.interpolation.instances.clipped_walk import Phase, best_walk, walk_epsilon
from shiftdp.interpolation.instances.drifting import whole_epsilon

DELTA = 1e-5


def by_brute_force(
    p: float, s: float, slope: float, pull: float, D: float, steps: int, bins: int = 1500
) -> float:
    """The law on a fine partition, each cell at its middle."""
    edges = np.linspace(0.0, D, bins + 1)
    points = np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2, [D]])

    def step(shift: float) -> np.ndarray:
        mean = slope * points - pull + shift
        inner = np.diff(ndtr(edges[:, None] - mean[None, :]), axis=0)
        return np.vstack([ndtr(-mean), inner, ndtr(mean - D)])

    stay = step(0.0)
    both = (1 - p) * stay + p * step(s)
    one, other = (np.eye(1, points.size)[0] for _ in range(2))
    for _ in range(steps):
        one, other = both @ one, stay @ other
    x, y = np.cumsum(one[::-1])[:-1], np.cumsum(other[::-1])[:-1]
    useful = x > DELTA
    return float(np.max(np.log((x[useful] - DELTA) / y[useful])))


@pytest.mark.parametrize(
    ("p", "s", "slope", "pull", "D", "steps"),
    [(0.1, 2.0, 1.0, 0.5, 5.0, 6), (0.3, 1.0, 0.7, 0.0, 3.0, 4), (0.02, 3.0, 0.5, 2.0, 12.0, 12)],
)
def test_against_brute_force(
    p: float, s: float, slope: float, pull: float, D: float, steps: int
) -> None:
    phase = Phase(steps, rate=1.0, shift=s, noise=1.0)
    found = walk_epsilon([phase], p, D, DELTA, curvature=1.0 - slope, pull=pull)
    assert found == pytest.approx(by_brute_force(p, s, slope, pull, D, steps), rel=5e-3)


def test_walls_that_are_far_do_not_matter() -> None:
    phase = Phase(5, rate=1.0, shift=1.5, noise=1.0)
    # led away from the lower wall
    held = walk_epsilon([phase], 0.2, 40.0, DELTA, curvature=0.0, pull=-4.0)
    free = whole_epsilon(equal_classes(1.0, 1.0, s=1.5, sd=1.0, steps=5), 0.2, DELTA)
    assert held == pytest.approx(free, rel=2e-3)


def test_the_last_steps_of_a_long_run_leak_less() -> None:
    phase = Phase(400, rate=1.0, shift=2.0, noise=1.0)
    args = ([phase], 0.05, 8.0, DELTA)
    whole = walk_epsilon(*args, curvature=0.05, pull=1.0)
    parts = [walk_epsilon(*args, curvature=0.05, pull=1.0, most_steps=n) for n in (5, 40, 200)]
    assert parts[0] < parts[1] <= parts[2] * (1 + 1e-9) <= whole * (1 + 2e-9)
    assert parts[-1] == pytest.approx(whole, rel=1e-3)


def test_phases_are_steps_one_after_the_other() -> None:
    whole = [Phase(7, rate=0.5, shift=1.0, noise=0.5)]
    cut = [Phase(3, rate=0.5, shift=1.0, noise=0.5), Phase(4, rate=0.5, shift=1.0, noise=0.5)]
    found = [walk_epsilon(x, 0.1, 3.0, DELTA, curvature=0.4, pull=0.3) for x in (whole, cut)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_figures() -> None:
    """Those of the table of Theorem B7 were 9.79 and 5.51, of the last step alone."""
    phase = Phase(2000, rate=1.0, shift=3.0, noise=1.0)
    assert best_walk([phase], 0.02, 20.0, DELTA, curvatures=(0, 1), pulled=True) > 10.2
    phase = Phase(1000, rate=1.0, shift=2.0, noise=1.0)
    assert best_walk([phase], 0.05, 10.0, DELTA, curvatures=(0.05, 1), pulled=True) > 5.88
