"""Full batches: rates that fall, and noise that leaves least for its cost."""

from dataclasses import replace

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyGD
from shiftdp._checks import Array
from shiftdp.training.planning.kinds import full_batches
from shiftdp.training.planning.problem import Overrides
from shiftdp.training.planning.setting import Listed, Setting, clips
from shiftdp.training.planning.utility import Segments
from tests.training.planning.test_planner import CANCER, MNIST


def listed(setting: Setting) -> list[Listed]:
    clip = clips(setting.problem, setting.chosen)[0]
    found = list(full_batches(setting, clip))
    assert None not in found
    return [one for one in found if one is not None]


def test_the_noises_of_a_run_cost_what_the_budget_is_worth() -> None:
    setting = Setting(CANCER, Overrides(), smoothness=3.3125)
    clip = clips(CANCER, Overrides())[0]
    (found,) = listed(setting)
    for k in (0, 20, len(found.segments.l2) - 1):
        run = found.run(k)
        assert isinstance(run, NoisyGD)
        steps = clip.sensitivity / (CANCER.n * np.array(run.noise))
        assert np.sqrt(np.sum(steps**2)) == pytest.approx(setting.mu)


def test_no_other_noises_of_the_same_cost_leave_less() -> None:
    setting = Setting(CANCER, Overrides(), smoothness=3.3125)
    (found,) = listed(setting)
    reference = clips(CANCER, Overrides())[0].reference
    (best,) = reference.predict(one_row(found, 30, found.segments.deviation[30]))
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = found.segments.deviation[30] * np.exp(0.3 * rng.standard_normal(200))
        noise *= np.sqrt(np.sum(noise**-2.0) / np.sum(found.segments.deviation[30] ** -2.0))
        (other,) = reference.predict(one_row(found, 30, noise))
        assert other.noise > best.noise


def one_row(found: Listed, k: int, noise: Array) -> Segments:
    part = found.segments
    return replace(
        part,
        rates=part.rates[k : k + 1],
        deviation=noise[None],
        placed=part.placed[k : k + 1],
        l2=part.l2[:1],
        drawn=part.drawn[:1],
    )


def test_shorter_runs_are_listed_where_long_ones_take_their_time() -> None:
    small = listed(Setting(CANCER, Overrides(), smoothness=3.3125))
    assert [one.passes for one in small] == [200]
    large = listed(Setting(MNIST, Overrides(), smoothness=32.5))
    assert [one.passes for one in large] == [106, 100, 50, 25]
    assert [one.passes for one in listed(Setting(MNIST, Overrides(epochs=7), 32.5))] == [7]


def test_a_batch_that_is_not_full_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no full batch"):
        listed(Setting(CANCER, Overrides(batch_size=10), smoothness=3.3125))


def test_runs_that_are_too_long_are_not_made() -> None:
    setting = Setting(CANCER, Overrides(epochs=2e6), smoothness=3.3125)
    assert list(full_batches(setting, clips(CANCER, Overrides())[0])) == [None]
