"""Langevin Monte Carlo is noisy gradient descent on one record."""

from __future__ import annotations

import math

import pytest

from shiftdp.last_iterate import ExponentialMechanism, LangevinMC, NoisyGD


def test_langevin_is_noisy_gradient_descent() -> None:
    run = LangevinMC(steps=50, learning_rate=0.08)
    assert run.learning_rate * run.noise == pytest.approx(math.sqrt(2 * 0.08), rel=1e-15)
    assert run.as_descent(7) == NoisyGD(n=1, steps=7, learning_rate=0.08, noise=5.0)
    assert LangevinMC(steps=math.inf, learning_rate=0.1).steps == math.inf
    assert isinstance(LangevinMC(steps=5.0, learning_rate=0.1).steps, int)


def test_neither_needs_a_stand_in() -> None:
    for run in (LangevinMC(steps=math.inf, learning_rate=0.1), ExponentialMechanism()):
        assert not run.endless
        assert not run.in_epochs
