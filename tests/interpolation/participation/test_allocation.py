"""Random allocation against all positions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shiftdp._errors import UnmetHypothesis
from shiftdp.interpolation.participation import allocation
from shiftdp.interpolation.participation.ages import ages_of_steps
from shiftdp.interpolation.participation.allocation import (
    Allocation,
    allocation_law,
    allocation_path,
)
from shiftdp.interpolation.participation.path import Resolution
from tests.interpolation.participation.patterns import majorant_energy, violation

COARSE = Resolution(1.3, 60, 1, rung=1.3, cells=100)


def all_positions(
    c: np.ndarray, s: np.ndarray, sd: np.ndarray, batches: int
) -> tuple[np.ndarray, np.ndarray]:
    t = len(c)
    w = np.array([math.prod(c[k + 1 :]) for k in range(t)])
    clock = np.cumsum(((w * sd) ** 2)[::-1])
    mu = []
    for places in itertools.product(range(batches), repeat=t // batches):
        v = np.zeros(t)
        v[[e * batches + j for e, j in enumerate(places)]] = 1.0
        mu.append(math.sqrt(majorant_energy(clock, np.cumsum((w * s * v)[::-1]))))
    return np.array(mu), np.full(len(mu), 1.0 / len(mu))


@pytest.mark.parametrize("resolution", [COARSE, None])
@pytest.mark.parametrize("seed", range(8))
def test_no_positions_are_above_the_law(
    seed: int, resolution: Resolution | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    if seed % 2:
        monkeypatch.setattr(allocation, "_MOST_YOUNG", 1)  # so that there are epochs between
    batches, epochs = [(3, 5), (4, 4), (2, 7), (6, 2)][seed % 4]
    t = batches * epochs
    c = np.full(t, rng.choice([1.0, 0.95])) if seed < 4 else rng.uniform(0.7, 1.1, t)
    s = np.ones(t) if seed < 4 else rng.uniform(0.3, 2.0, t)
    sd = np.ones(t) if seed < 4 else rng.uniform(0.5, 2.0, t)
    run = Allocation(ages_of_steps(np.ones(t), c, s, sd), batches)
    law = allocation_law(run, delta=1e-6, resolution=resolution)
    mu, chance = all_positions(c, s, sd, batches)
    assert violation(law, mu, chance) <= 1e-14
    assert mu.max() <= run.ceiling
    if resolution is None and not seed % 2:
        assert law.mean <= 1.03 * float(mu @ chance)


def test_epochs_between_are_two_points_of_a_line() -> None:
    ones = np.ones(40 * 100)
    run = Allocation(ages_of_steps(ones, ones, ones, ones), 40)
    path = allocation_path(run, Resolution(1.05, 400, 1))
    sure = [law for law in path.laws if law.none == 0.0 and law.values[1] > 1]
    assert len(sure) == 1  # all but the first of them at the last
    assert path.cap == 100
    assert path.lost == 0.0
    # every path has exactly one jump in each epoch
    assert path.nothing_after()[0] == 0.0


def test_part_of_an_epoch_is_refused() -> None:
    ones = np.ones(7)
    with pytest.raises(UnmetHypothesis, match="whole epochs"):
        Allocation(ages_of_steps(ones, ones, ones, ones), 3)
