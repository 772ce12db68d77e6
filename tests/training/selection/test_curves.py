"""AUC, calibration and means from noisy sums."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from shiftdp.privacy.noisy_sums import SECOND
from shiftdp.training.selection.curves import auc, mean_interval, variance_interval


def test_without_noise_the_auc_is_that_of_the_cells() -> None:
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 6, size=400)
    labels = (rng.random(400) < (cells + 1) / 8).astype(int)
    counts = np.zeros((2, 6))
    np.add.at(counts, (labels, cells), 1)
    found, tied = auc(counts, 0.0, 1.96)
    assert found.value == pytest.approx(roc_auc_score(labels, cells))
    assert found.low < found.value < found.high
    assert 0.0 < tied < 0.15


def test_too_few_records_say_nothing() -> None:
    found, tied = auc(np.full((2, 5), 2.0), 10.0, 1.96)
    assert (found.low, found.high, tied) == (0.0, 1.0, 0.5)


def test_noise_widens_an_interval() -> None:
    sharp, noisy = mean_interval(0.8, 1000, 0.0, 1.96), mean_interval(0.8, 1000, 50.0, 1.96)
    assert noisy.low < sharp.low < 0.8 < sharp.high < noisy.high
    assert mean_interval(1.3, 10, 1.0, 1.96).value == 1.0
    assert str(sharp) == "0.8000 [0.7741, 0.8236]"


@pytest.mark.parametrize("n", [1, 20, 100, 1000])
@pytest.mark.parametrize("rare", [0.01, 0.5])
@pytest.mark.parametrize("noise", [1e-3, 3.0])
def test_intervals_of_a_variance_cover_where_rare_numbers_were_missed(
    n: int, rare: float, noise: float
) -> None:
    rng = np.random.default_rng(8)
    exact, covered = 4.0 * rare * (1.0 - rare), 0
    for _ in range(200):
        t = np.where(rng.random(n) < rare, 1.0, -1.0)
        total, squares = np.array([t.sum(), SECOND * n]) + noise * rng.normal(size=2)
        found = variance_interval(total / n, squares / SECOND / n, n, noise, 1.96)
        covered += found.low <= exact <= found.high
    assert covered >= 0.92 * 200
