"""Random batches: sizes, lengths and the noise that is nearly enough."""

import pytest

from shiftdp import NoisySGD
from shiftdp.training.planning.kinds import random_batches
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides
from shiftdp.training.planning.setting import Listed, Setting, clips
from tests.training.planning.test_planner import CANCER, DIGITS, MNIST


def test_the_noise_is_near_the_one_that_is_calibrated() -> None:
    chosen = Overrides(algorithm="sgd", batch_size=90, epochs=20, clip=1.0)
    (listed,) = random_batches(Setting(DIGITS, chosen, 6.625), clips(DIGITS, chosen)[0])
    assert listed is not None
    found, exact = listed.run(0), plan_for(DIGITS, chosen).plan.run
    assert isinstance(found, NoisySGD)
    assert isinstance(exact, NoisySGD)
    assert found.noise == pytest.approx(exact.noise, rel=0.05)
    assert found.steps == exact.steps == 319


def test_runs_are_as_long_as_the_passes_allow_but_not_without_end() -> None:
    clip = clips(MNIST, Overrides())[0]
    lengths = [
        one.run(0).steps
        for one in random_batches(Setting(MNIST, Overrides(), 32.5), clip)
        if one is not None
    ]
    assert lengths == [424, 1696, 4000]
    long = Setting(MNIST, Overrides(epochs=1e5), 32.5)
    assert [one is None for one in random_batches(long, clip)] == [False, True, True]


def test_sizes_make_some_numbers_of_batches_or_are_given() -> None:
    def listed(chosen: Overrides) -> list[Listed]:
        setting = Setting(CANCER, chosen, 3.3125)
        return [one for one in random_batches(setting, clips(CANCER, chosen)[0]) if one]

    found = listed(Overrides(epochs=2))
    assert [one.run(0).batch_size for one in found] == [114, 29, 8]  # type: ignore[union-attr]
    assert [one.run(0).batch_size for one in listed(Overrides(batch_size=9))] == [9]  # type: ignore[union-attr]
    # the mean of a batch varies less the larger it is, and not at all where it is everybody
    assert found[0].segments.drawn[0] == pytest.approx((1 - 114 / 455) / 114)
    (full,) = listed(Overrides(batch_size=455, epochs=2))
    assert full.segments.drawn[0] == 0.0
