"""Batches in turn with equal noise: sizes, ridges, and what each costs."""

import pytest

from shiftdp import NoisyCGD
from shiftdp.training.planning.kinds import cyclic_batches
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides
from shiftdp.training.planning.setting import Setting, clips
from tests.training.planning.test_planner import CANCER


def test_sizes_ridges_and_rates_are_tried_together() -> None:
    setting = Setting(CANCER, Overrides(), smoothness=3.3125)
    found = [one for one in cyclic_batches(setting, clips(CANCER, Overrides())[0]) if one]
    assert len(found) == 3 * 4 * 4
    assert {one.segments.l2[0] / 3.3125 for one in found} == {0.0, 1e-4, 1e-3, 1e-2}
    for one in found:
        run = one.run(0)
        assert isinstance(run, NoisyCGD)
        assert run.order == "reshuffled"
        assert run.learning_rate * (3.3125 + 2.0 * one.segments.l2[0]) <= 2.0 * (1 + 1e-12)


def test_the_noise_is_the_one_that_is_calibrated() -> None:
    chosen = Overrides(order="fixed", batch_size=91, epochs=9, learning_rate=0.1, l2=0.01, clip=1.0)
    setting = Setting(CANCER, chosen, smoothness=0.25 * CANCER.norm_bound**2)
    (listed,) = cyclic_batches(setting, clips(CANCER, chosen)[0])
    assert listed is not None
    # no order is taken into account, and rounding is not either
    assert listed.run(0).noise == pytest.approx(plan_for(CANCER, chosen).plan.run.noise, rel=1e-6)


def test_what_a_run_costs_is_found_once_for_all_clips() -> None:
    setting = Setting(CANCER, Overrides(), smoothness=3.3125)
    first, *_, last = clips(CANCER, Overrides())
    noises = [next(cyclic_batches(setting, clip)).run(0).noise for clip in (first, last)]  # type: ignore[union-attr]
    assert noises[1] / noises[0] == pytest.approx(last.sensitivity / first.sensitivity)  # type: ignore[operator]
    list(cyclic_batches(setting, first))
    assert len(setting.costs) == 48
    list(cyclic_batches(setting, last))
    assert len(setting.costs) == 48


def test_runs_that_are_too_long_are_not_made() -> None:
    setting = Setting(CANCER, Overrides(epochs=1e5), smoothness=3.3125)
    found = list(cyclic_batches(setting, clips(CANCER, Overrides(epochs=1e5))[0]))
    assert found.count(None) == 2
