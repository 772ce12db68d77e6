"""Laws of sums of participations are below the exact ones, and near them."""

import itertools

import numpy as np
import pytest

from shiftdp._checks import Array
from shiftdp.interpolation.instances.jump_law import (
    Accuracy,
    JumpLaw,
    binomial,
    law_of_choices,
    law_of_participations,
)

COARSE = Accuracy(levels=8, lattice=200, atoms=40)


def assert_below(law: JumpLaw, values: Array, weights: Array, near: float) -> None:
    """Stochastically below, and its mean within a part of the exact one."""
    assert float(np.sum(law.weight)) == pytest.approx(1.0, abs=1e-12)
    for x in np.linspace(0.0, values.max() * 1.01, 60):
        exact = float(np.sum(weights[values >= x]))
        assert float(np.sum(law.weight[law.value >= x])) <= exact + 1e-15
    mean = float(np.sum(values * weights))
    assert (1.0 - near) * mean <= float(np.sum(law.value * law.weight)) <= mean


@pytest.mark.parametrize(("accuracy", "near"), [(COARSE, 0.2), (Accuracy(), 0.01)])
@pytest.mark.parametrize("p", [0.02, 0.6])
def test_weighted_participations(accuracy: Accuracy, near: float, p: float) -> None:
    shifts = np.random.default_rng(1).uniform(0.2, 2.0, 9)
    patterns = np.array([*itertools.product((0, 1), repeat=9)])
    weights = np.prod(np.where(patterns == 1, p, 1.0 - p), axis=1)
    law = law_of_participations(shifts, np.ones(9, dtype=int), p, 1e-6, accuracy)
    assert_below(law, patterns @ shifts, weights, near)


def test_equal_shifts_are_exact() -> None:
    law = law_of_participations(np.full(3, 0.5), np.array([2, 5, 3]), 0.3, 1e-9, Accuracy())
    assert law.value == pytest.approx(np.arange(law.value.size) * 0.5)
    assert law.weight == pytest.approx(binomial(10, 0.3)[1][: law.weight.size], rel=1e-6)


@pytest.mark.parametrize(("accuracy", "near"), [(COARSE, 0.2), (Accuracy(), 0.01)])
def test_one_of_each_epoch(accuracy: Accuracy, near: float) -> None:
    epochs = [np.array([1.0, 0.7, 0.4]), np.array([0.3, 0.2, 0.1]), np.array([0.05, 0.05, 0.05])]
    values = np.array([sum(chosen) for chosen in itertools.product(*epochs)])
    law = law_of_choices(epochs, accuracy)
    assert_below(law, values, np.full(values.size, 1 / values.size), near)


@pytest.mark.parametrize(("trials", "p"), [(1, 0.3), (40, 0.01), (10**6, 1e-3), (10**8, 1e-6)])
def test_binomial(trials: int, p: float) -> None:
    from scipy.special import bdtr

    k, chance = binomial(trials, p)
    assert np.cumsum(chance) == pytest.approx(bdtr(k, trials, p), rel=1e-6, abs=1e-20)
    assert float(np.sum(chance)) == pytest.approx(1.0, abs=1e-12)


def test_nothing_moves_where_nobody_takes_part() -> None:
    for shift, p in ((0.0, 0.5), (1.0, 0.0)):
        law = law_of_participations(np.array([shift]), np.array([3]), p, 1e-5, Accuracy())
        assert law.value.tolist() == [0.0]
