"""What all kinds of candidates have in common."""

import math
from dataclasses import replace

import numpy as np
import pytest

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.fdp import GaussianTradeoff
from shiftdp.training.planning.problem import Overrides
from shiftdp.training.planning.setting import Setting, clips
from tests.training.planning.test_planner import CANCER, DIGITS

SETTING = Setting(CANCER, Overrides(), smoothness=3.3125)


def test_the_budget_is_worth_a_gaussian_guarantee() -> None:
    assert GaussianTradeoff(SETTING.mu).epsilon(CANCER.delta) == pytest.approx(CANCER.epsilon)


def test_rates_that_fall_end_at_nearly_0_and_add_up_to_every_reach() -> None:
    (clip, *_) = clips(CANCER, Overrides())
    falling, equal = SETTING.falling_rates(clip, 100), SETTING.equal_rates(clip, 100)
    assert falling is not None
    assert (np.diff(falling, axis=1) < 0).all()
    assert falling[:, -1] == pytest.approx(falling[:, 0] / 100)
    common = min(len(falling), len(equal))
    assert falling.sum(axis=1)[:common] == pytest.approx(100 * equal[:common])
    staged = SETTING.falling_rates(clip, 100, stages=20)
    assert staged is not None
    assert staged.shape[1] == 20
    assert 5 * staged.sum(axis=1)[:common] == pytest.approx(100 * equal[:common])


def test_steps_that_never_settle_are_not_listed() -> None:
    (clip, *_) = clips(CANCER, Overrides())
    for steps in (1, 10, 1_000):
        strides = SETTING.equal_rates(clip, steps) * clip.reference.slope * CANCER.norm_bound**2
        assert strides.max() <= max(24.0, strides.min()) * (1 + 1e-12)
    several = Setting(DIGITS, Overrides(), smoothness=6.625)
    one, ten = (
        setting.falling_rates(clips(setting.problem, Overrides())[-1], 50)
        for setting in (SETTING, several)
    )
    assert one is not None
    assert ten is not None
    assert len(ten) > len(one)


def test_what_is_given_is_taken() -> None:
    (clip, *_) = clips(CANCER, Overrides())
    given = replace(SETTING, chosen=Overrides(learning_rate=0.5, epochs=7.0, noise=1.0))
    assert given.falling_rates(clip, 10) is None
    assert given.equal_rates(clip, 10).tolist() == [0.5]
    assert given.epochs == given.at_most(3.0) == 7.0
    assert (given.noise(1.9), given.noise(2.1)) == (1.0, None)
    assert (SETTING.epochs, SETTING.at_most(3.0), SETTING.noise(2.1)) == (200, 3.0, 2.1)


def test_composition_where_no_other_theorem_is_tighter_or_applies() -> None:
    full = NoisyGD(n=455, steps=3, learning_rate=0.1, noise=1.0)
    cyclic = NoisyCGD(n=455, batch_size=5, epochs=3, learning_rate=0.1, noise=1.0)
    random = NoisySGD(n=455, batch_size=5, steps=3, learning_rate=0.1, noise=1.0)
    assert SETTING.bounds(full, 0.0) == "composition"
    assert SETTING.bounds(full, 0.1) == SETTING.bounds(cyclic, 0.0) == "best"
    assert SETTING.bounds(replace(cyclic, learning_rate=0.7), 0.0) == "composition"
    assert SETTING.bounds(random, 0.0) == "composition"
    assert replace(SETTING, chosen=Overrides(bounds="best")).bounds(random, 0.0) == "best"


def test_passes_are_quick_up_to_a_number_of_multiplications() -> None:
    most = math.floor(5e9 / CANCER.work)
    assert SETTING.is_quick(most)
    assert not SETTING.is_quick(most + 1)
