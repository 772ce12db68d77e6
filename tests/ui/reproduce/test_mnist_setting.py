"""The setting of the paper's experiment, from the numbers that it states."""

from dataclasses import replace

import pytest

from shiftdp.ui.reproduce.mnist_setting import PAPER


def test_the_setting_is_that_of_the_paper() -> None:
    """60,000 images in batches of 1,500; L = 10, sigma = 0.01; pixels clipped to norm 8."""
    assert (PAPER.n, PAPER.batch_size, PAPER.batches) == (60_000, 1_500, 40)
    assert PAPER.effective == pytest.approx(2 / 3, rel=1e-12)
    geometry = PAPER.geometry(0.002)
    assert geometry.strong_convexity == 0.002
    assert geometry.smoothness == pytest.approx((64 + 1) / 2 + 0.002, rel=1e-12)
    assert geometry.sensitivity == 10.0


def test_both_algorithms_see_as_many_records() -> None:
    for epochs in PAPER.epochs:
        cyclic, sampled = PAPER.cyclic(epochs), PAPER.sampled(epochs)
        assert cyclic.epochs == epochs
        assert sampled.steps == cyclic.steps == 40 * epochs
        assert (cyclic.noise, sampled.noise) == (0.01, 0.01)
    assert PAPER.cyclic(1, "reshuffled").order == "reshuffled"


def test_batches_twice_as_large_are_half_as_many_and_half_as_telling() -> None:
    larger = replace(PAPER, batch_size=3_000)
    assert 2 * larger.batches == PAPER.batches
    assert larger.effective == pytest.approx(PAPER.effective / 2, rel=1e-12)
